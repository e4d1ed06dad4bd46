"""The Tucker decomposition of a tensor, its TTMc on the accelerator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...sim.sparse.tensor import Tensor
from ..common.units.tensaurus import TensorChoice
from ..common.units.tensaurus_products import tensor_report
from .factorise import hooi
from .iterated import fit_row, start_factorising, write_archive

__all__ = ["decompose"]


def decompose(
    choice: TensorChoice, file: Path, tensor: Tensor, sizes: list[int], *,
    iterations: int, tolerance: float, seed: int, output: Path | None,
) -> None:  # fmt: skip
    """Factorise a tensor into a core of these sizes and a matrix in each mode, write them if that
    is asked for, and report.

    Raises UserError for values that cannot be factorised.
    """
    made = start_factorising(file, "ttmc", tensor, choice)
    shape = made.tensor.shape
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
        arrays = {f"mode_{mode}": factor for mode, factor in enumerate(found.factors, 1)}
        write_archive(output, {"core": found.core, **arrays})
        rows.append(("written", str(output)))
    details = {
        "tensor": made.in_json(file),
        "ranks": sizes, "seed": seed, "fit": found.fits[-1], "fits": found.fits,
        "iterations": count,
        "reference": {"source": "NumPy in float64", "fit": expected.fits[-1],
                      "relative_difference": apart},
    }  # fmt: skip
    tensor_report("tucker", f"Tucker decomposition of {file.name}", rows, made.choice,
                   made.products.tally, details, wrong=wrong).finish()  # fmt: skip
