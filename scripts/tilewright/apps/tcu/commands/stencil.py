"""``tilewright run stencil``: many sweeps of a linear stencil at once on a tensor unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ..options import TcuOptions, choose_tcu

__all__ = ["stencil"]

_WORDS = ("fp32", "fp64", "complex64", "complex", "int64")
_BOUNDARIES = ("periodic", "open")


def stencil(
    grid: Annotated[
        Path, typer.Argument(metavar="GRID", help=f"Cells of the grid, {ARRAY_NAMES}.")
    ],
    weights: Annotated[
        Path,
        typer.Option(help=f"Weights of a cell and its neighbours, 3 x 3, {ARRAY_NAMES}."),
    ],
    steps: Annotated[
        int,
        typer.Option(parser=whole("--steps", 1, 10**6), metavar="K", help="Number of sweeps."),
    ],
    boundary: Annotated[
        str,
        typer.Option(
            help="periodic: the grid repeats; open: an infinite plane, zero outside at first."
        ),
    ] = "periodic",
    words: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(_WORDS)} (exactly); default: fp64, or complex for complex files."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Write the result, {ARRAY_NAMES}.")
    ] = None,
    *,
    options: TcuOptions,
) -> None:
    """Sweep a linear stencil over a grid many times at once, by transforms on a tensor unit.

    A sweep makes each cell the weighted sum of itself and its eight neighbours. The result is
    checked against sweeps one by one.
    """
    choice = choose_tcu(options)
    if words is not None and words not in _WORDS:
        raise UserError(not_one_of("--words", _WORDS, words))
    if boundary not in _BOUNDARIES:
        raise UserError(
            f"--boundary must be {' or '.join(_BOUNDARIES)}, not {boundary!r}: sweeps with other "
            "borders are not convolutions"
        )
    if choice.side < 2:
        raise UserError("--m must be 4 or more for transforms, not 1")
    if output:
        check_output(output)
    for file in (grid, weights):
        check_first_lines(file)
    from ..stencils import sweep_grid

    sweep_grid(choice, grid, weights, steps, boundary, words, output)
