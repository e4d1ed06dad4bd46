"""``tilewright run eliminate``: L and U of a matrix, and systems of equations, on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, check_squares, choose_tcu, modulus_given

__all__ = ["eliminate"]

_WORDS = ("fp32", "fp64", "complex64", "complex", "modular")


def eliminate(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"A square matrix, {ARRAY_NAMES}.")],
    solve: Annotated[
        Path | None,
        typer.Option(metavar="B", help=f"Right sides of A x = b, one per column, {ARRAY_NAMES}."),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(_WORDS)}; default: fp64, or complex for complex files."),
    ] = None,
    modulus: Annotated[
        str | None,
        typer.Option(metavar="P", help="A prime: integers modulo it, words of modular, exactly."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"Write L and U in one matrix, or with --solve the solutions, {ARRAY_NAMES}.",
        ),
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Eliminate a matrix into L and U on a tensor unit, without pivoting; solve equations by them.

    For matrices that are diagonally dominant, or symmetric and positive definite. Others may need
    `run lu`, which exchanges rows. The result is checked by products and residuals.
    """
    choice = choose_tcu(options)
    if words is not None and words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    number = modulus_given(words, modulus)
    if output:
        check_output(output)
    check_squares([(a, check_first_lines(a))])
    if solve:
        check_first_lines(solve)
    from ..elimination import eliminate_file

    eliminate_file(choice, words, number, a, solve, output)
