"""``tilewright run lu``: LU decomposition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ...common.options import BACKENDS
from ...common.units.gta import ScheduleOptions
from ..choice import GtaOptions, choose_gta

__all__ = ["lu"]

_MODES = ("int32", "fp64")


def lu(
    matrix: Annotated[Path, typer.Argument(metavar="A", help=f"A square matrix, {ARRAY_NAMES}.")],
    mode: Annotated[
        str,
        typer.Option(help="int32: modulo 2^32, with odd pivots; fp64: with the largest pivots."),
    ] = "fp64",
    block: Annotated[
        int,
        typer.Option(
            parser=whole("--block", 1, 512), metavar="N", help="Number of columns of a block."
        ),
    ] = 64,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help=f"Write L below the diagonal, U on and above it, {ARRAY_NAMES}."
        ),
    ] = None,
    *,
    how: ScheduleOptions,
    options: GtaOptions,
) -> None:
    """Decompose a matrix into L and U on GTA, in blocks, with row exchanges.

    Checked by recomposition: modulo 2^32 exactly, in fp64 as LAPACK's tests do. On a tensor unit,
    without row exchanges, and to solve equations: tilewright run eliminate.
    """
    if options.backend not in BACKENDS:
        raise UserError(
            not_one_of("backend", BACKENDS, options.backend)
            + "; of tensor units see `tilewright run eliminate`"
        )
    choice = choose_gta(options, mode, _MODES, how=how)
    if output:
        check_output(output)
    shape = check_first_lines(matrix)
    if shape and shape[0] != shape[1]:
        raise UserError(f"{matrix}: must be square, not {shape[0]} x {shape[1]}")
    from ..linear_algebra import decompose_file

    decompose_file(choice, matrix, block, output)
