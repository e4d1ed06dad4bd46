"""``tilewright run tucker``: the Tucker decomposition of a tensor, its TTMc on Tensaurus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ...errors import UserError
from ...numbers_given import real, whole
from .factorise import hooi
from .iterated import check_archive, fit_row, start_factorising, write_archive
from .options import TensorOptions
from .report import finish_tensors

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
    check_archive(output)
    read = whole("--ranks", 1, 4096)
    sizes = [read(word.strip()) for word in ranks.split(",")]
    made = start_factorising(file, "tucker", options)
    shape = made.tensor.shape
    if len(sizes) != len(shape):
        raise UserError(f"--ranks must be {len(shape)} numbers, as {file} has modes, "
                        f"not {len(sizes)}")  # fmt: skip
    for mode, (rank, size) in enumerate(zip(sizes, shape, strict=True)):
        columns = int(np.prod(sizes)) // rank
        if rank > min(size, columns):
            raise UserError(
                f"--ranks of mode {mode} must be at most {min(size, columns)}, as it has {size} "
                f"indices and the other modes {columns} columns, not {rank}"
            )
    rng = np.random.default_rng(seed)
    start = [np.linalg.qr(rng.standard_normal((size, rank)))[0]
             for size, rank in zip(shape, sizes, strict=True)]  # fmt: skip
    with made.products:
        found = hooi(made.on_unit, start, made.norm, iterations=iterations, tolerance=tolerance)
    count = len(found.fits)
    expected = hooi(made.in_float64, start, made.norm, iterations=count, tolerance=0.0)
    fits, wrong, apart = fit_row(found.fits, expected.fits, made.choice.config.value)
    rows = [
        ("tensor", made.in_words()),
        ("core", " x ".join(map(str, found.core.shape))),
        *fits,
    ]
    if output:
        arrays = {f"mode_{mode}": factor for mode, factor in enumerate(found.factors)}
        write_archive(output, {"core": found.core, **arrays})
        rows.append(("written", str(output)))
    details = {
        "tensor": made.in_json(file),
        "ranks": sizes, "seed": seed, "fit": found.fits[-1], "fits": found.fits,
        "iterations": count,
        "reference": {"source": "NumPy in float64", "fit": expected.fits[-1],
                      "relative_difference": apart},
    }  # fmt: skip
    finish_tensors("tucker", f"Tucker decomposition of {file.name}", rows, made.choice,
                   made.products.tally, details, wrong=wrong)  # fmt: skip
