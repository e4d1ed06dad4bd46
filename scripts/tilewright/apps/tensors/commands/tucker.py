"""``tilewright run tucker``: the Tucker decomposition of a tensor."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import real, whole
from ...common.files import check_output
from ..options import TensorOptions
from .factorised import read_factorised

__all__ = ["tucker"]


def tucker(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tensor, .tns or .npy.")],
    ranks: Annotated[
        str, typer.Option(metavar="A,B,C", help="Sizes of the core, one for each mode.")
    ],
    iterations: Annotated[
        int, typer.Option(parser=whole("--iterations", 1, 1000), metavar="N", help="At most.")
    ] = 50,
    tolerance: Annotated[
        float,
        typer.Option(parser=real("--tolerance", 0, 1), metavar="T",
                     help="It ends when the fit changes by less."),
    ] = 1e-4,
    seed: Annotated[
        int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Of the start.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Core and factors by mode, .npz.")
    ] = None,
    *,
    options: TensorOptions,
) -> None:  # fmt: skip
    """Factorise a tensor into a core and a matrix in each mode (Tucker, by HOOI): TTMc on the unit,
    singular vectors on the host in float64.

    The same iterations in float64 from the same start stand beside it.
    """
    if output:
        check_output(output, (".npz",))
    read = whole("--ranks", 1, 4096)
    sizes = [read(word.strip()) for word in ranks.split(",")]
    tensor, choice = read_factorised(file, "tucker", options)
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
    for mode, (rank, size) in enumerate(zip(sizes, shape, strict=True)):
        columns = prod(sizes) // rank
        if rank > min(size, columns):
            raise UserError(
                f"--ranks of mode {mode} must be at most {min(size, columns)}, as it has {size} "
                f"indices and the other modes {columns} columns, not {rank}"
            )
