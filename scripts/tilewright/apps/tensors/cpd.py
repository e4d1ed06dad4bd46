"""The CP decomposition of a tensor, its MTTKRP on the accelerator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ...sim.sparse.tensor import Tensor
from ..common.units.tensaurus import TensorChoice
from ..common.units.tensaurus_products import tensor_report
from .factorise import cp_als
from .iterated import fit_row, start_factorising, write_archive

__all__ = ["decompose"]


def decompose(
    choice: TensorChoice, file: Path, tensor: Tensor, mask: Path | None, rank: int, *,
    iterations: int, tolerance: float, seed: int, output: Path | None,
) -> None:  # fmt: skip
    """Factorise a tensor into so many outer products, write them if that is asked for, and report.

    Raises UserError for values that cannot be factorised.
    """
    made = start_factorising(file, "mttkrp", tensor, choice, mask=mask, may_miss=True)
    beside = replace(made)
    rng = np.random.default_rng(seed)
    start = [rng.random((size, rank)) for size in made.tensor.shape]
    with made.products:
        found = cp_als(made.on_unit, start, made.norm, iterations=iterations, tolerance=tolerance,
                       fill=made.fill if len(made.missing) else None)  # fmt: skip
    count = len(found.fits)
    expected = cp_als(beside.in_float64, start, beside.norm, iterations=count, tolerance=0.0,
                      fill=beside.fill if len(beside.missing) else None)  # fmt: skip
    fits, wrong, apart = fit_row(found.fits, expected.fits, made.choice.config.value)
    rows = [
        ("tensor", made.in_words()),
        ("terms", f"{rank}, of weights {found.weights[0]:.4g} to {found.weights[-1]:.4g}"),
        *fits,
    ]
    if output:
        arrays = {f"mode_{mode}": factor for mode, factor in enumerate(found.factors, 1)}
        write_archive(output, {"weights": found.weights, **arrays})
        rows.append(("written", str(output)))
    details = {
        "tensor": made.in_json(file),
        "rank": rank, "seed": seed, "fit": found.fits[-1], "fits": found.fits,
        "iterations": count, "weights": found.weights.tolist(),
        "reference": {"source": "NumPy in float64", "fit": expected.fits[-1],
                      "relative_difference": apart},
    }  # fmt: skip
    tensor_report("cpd", f"CP decomposition of {file.name}", rows, made.choice,
                   made.products.tally, details, wrong=wrong).finish()  # fmt: skip
