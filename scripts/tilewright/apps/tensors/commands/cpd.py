"""``tilewright run cpd``: the CP decomposition of a tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....numbers_given import whole
from ...common.files import check_output
from ...common.first_lines import check_first_lines
from ...common.units.tensaurus import TensaurusOptions, TensorOptions
from .factorised import Iterations, Seed, TensorFile, Tolerance, read_factorised

__all__ = ["cpd"]


def cpd(
    file: TensorFile,
    rank: Annotated[
        int, typer.Option(parser=whole("--rank", 1, 4096), metavar="R", help="Number of terms.")
    ] = 8,
    iterations: Iterations = 50,
    tolerance: Tolerance = 1e-4,
    seed: Seed = 0,
    mask: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="0 where a value is missing, else 1: of the tensor's "
                     "shape, .npy or .npz. NaN always count as missing."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write weights and factors by mode, .npz."),
    ] = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:  # fmt: skip
    """Factorise a tensor into a sum of outer products (CP-ALS): MTTKRP on the unit, small solves on
    the host in float64.

    The report compares it with the same iterations in float64 from the same start. Missing values
    are replaced by those of the terms after each iteration.
    """
    if output:
        check_output(output, (".npz",))
    if mask:
        check_first_lines(mask)
    tensor, choice = read_factorised(file, "cpd", how, options)
    from ..cpd import decompose

    decompose(
        choice, file, tensor, mask, rank,
        iterations=iterations, tolerance=tolerance, seed=seed, output=output,
    )  # fmt: skip
