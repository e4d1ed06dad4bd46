"""``tilewright run strassen``: the product of two matrices on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, check_factors, check_squares, choose_tcu, modulus_given

__all__ = ["strassen"]

_METHODS = ("strassen", "standard", "tall", "rectangular")
_WORDS = ("fp32", "fp64", "complex64", "complex", "int16", "int32", "int64", "modular")


def strassen(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"Left matrix, {ARRAY_NAMES}.")],
    b: Annotated[Path, typer.Argument(metavar="B", help=f"Right matrix, {ARRAY_NAMES}.")],
    method: Annotated[
        str,
        typer.Option(
            help="strassen, standard (both recursive), tall (left operands, squares alone) or "
            "rectangular (the same, of any shape)."
        ),
    ] = "strassen",
    words: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(_WORDS)}; default: fp64, or complex for complex files."),
    ] = None,
    modulus: Annotated[
        str | None,
        typer.Option(metavar="P", help="Integers modulo this number, words of modular."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Write the result, {ARRAY_NAMES}.")
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Multiply matrices on a tensor unit by Strassen's algorithm, calls and words counted.

    Sides are padded. Matrices that are not square are cut into squares, except with --method
    rectangular. The result is checked against NumPy.
    """
    choice = choose_tcu(options)
    if method not in _METHODS:
        raise UserError(not_one_of("--method", _METHODS, method))
    if words is not None and words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    number = modulus_given(words, modulus)
    if output:
        check_output(output)
    check_shapes = check_squares if method == "tall" else check_factors
    check_shapes([(file, check_first_lines(file)) for file in (a, b)])
    from ..products import multiply_matrices

    multiply_matrices(choice, method, words, number, a, b, output)
