"""``tilewright run tucker``: the Tucker decomposition of a tensor."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import whole
from ...common.files import check_output
from ...common.units.tensaurus import TensaurusOptions, TensorOptions
from .factorised import Iterations, Seed, TensorFile, Tolerance, read_factorised

__all__ = ["tucker"]


def tucker(
    file: TensorFile,
    ranks: Annotated[
        str, typer.Option(metavar="A,B,C", help="Sizes of the core, one for each mode.")
    ],
    iterations: Iterations = 50,
    tolerance: Tolerance = 1e-4,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write core and factors by mode, .npz.")
    ] = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:  # fmt: skip
    """Factorise a tensor into a core and a matrix in each mode (Tucker, by HOOI): TTMc on the unit,
    singular vectors on the host in float64.

    The report compares it with the same iterations in float64 from the same start.
    """
    if output:
        check_output(output, (".npz",))
    read = whole("--ranks", 1, 4096)
    sizes = [read(word.strip()) for word in ranks.split(",")]
    tensor, choice = read_factorised(file, "tucker", how, options)
    _check_ranks(file, sizes, tensor.shape)
    from ..tucker import decompose

    decompose(
        choice, file, tensor, sizes,
        iterations=iterations, tolerance=tolerance, seed=seed, output=output,
    )  # fmt: skip


def _check_ranks(file: Path, sizes: list[int], shape: tuple[int, ...]) -> None:
    if len(sizes) != len(shape):
        raise UserError(f"--ranks must be {len(shape)} numbers, as {file} has modes, "
                        f"not {len(sizes)}")  # fmt: skip
    for mode, (rank, size) in enumerate(zip(sizes, shape, strict=True), 1):
        columns = prod(sizes) // rank
        if rank > min(size, columns):
            raise UserError(
                f"--ranks of mode {mode} must be at most {min(size, columns)}, as it has {size} "
                f"indices and the other modes {columns} columns, not {rank}"
            )
