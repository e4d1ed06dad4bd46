"""``tilewright run polyval``: a polynomial at many points on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, choose_tcu, modulus_given

__all__ = ["polyval"]

_WORDS = ("fp32", "fp64", "complex64", "complex", "int64", "modular")


def polyval(
    coefficients: Annotated[
        Path,
        typer.Argument(
            metavar="COEFFICIENTS", help=f"Coefficients, that of power 0 first, {ARRAY_NAMES}."
        ),
    ],
    points: Annotated[Path, typer.Argument(metavar="POINTS", help=f"Points, {ARRAY_NAMES}.")],
    words: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(_WORDS)}; default: fp64, or complex for complex files."),
    ] = None,
    modulus: Annotated[
        str | None,
        typer.Option(metavar="P", help="Integers modulo this number, words of modular."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Write the values, {ARRAY_NAMES}.")
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Evaluate a polynomial at many points on a tensor unit, by one product.

    The values are checked against Horner's rule in 60 digits; for floats the report has the bound
    of rounding.
    """
    choice = choose_tcu(options)
    if words is not None and words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    number = modulus_given(words, modulus)
    if output:
        check_output(output)
    for file in (coefficients, points):
        check_first_lines(file)
    from ..polynomials import evaluate

    evaluate(choice, coefficients, points, words, number, output)
