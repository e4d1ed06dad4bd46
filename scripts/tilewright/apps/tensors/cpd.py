"""``tilewright run cpd``: the CP decomposition of a tensor, its MTTKRP on Tensaurus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ...numbers_given import real, whole
from .factorise import cp_als
from .iterated import check_archive, fit_row, start_factorising, write_archive
from .options import TensorOptions
from .report import finish_tensors

__all__ = ["cpd"]


def cpd(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tensor, .tns or .npy.")],
    rank: Annotated[
        int, typer.Option(parser=whole("--rank", 1, 4096), metavar="R", help="Terms.")
    ] = 8,
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
    mask: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="0 where a value is missing, else 1: of the tensor's "
                     "shape, .npy. NaN are missing without it, too."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Weights and factors by mode, .npz."),
    ] = None,
    *,
    options: TensorOptions,
) -> None:  # fmt: skip
    """Factorise a tensor into a sum of outer products (CP-ALS): MTTKRP on the unit, small solves on
    the host in float64.

    The same iterations in float64 from the same start stand beside it. What is missing is put in
    anew after each iteration, as the terms have it.
    """
    check_archive(output)
    made = start_factorising(file, "cpd", options, mask=mask, may_miss=True)
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
        arrays = {f"mode_{mode}": factor for mode, factor in enumerate(found.factors)}
        write_archive(output, {"weights": found.weights, **arrays})
        rows.append(("written", str(output)))
    details = {
        "tensor": made.in_json(file),
        "rank": rank, "seed": seed, "fit": found.fits[-1], "fits": found.fits,
        "iterations": count, "weights": found.weights.tolist(),
        "reference": {"source": "NumPy in float64", "fit": expected.fits[-1],
                      "relative_difference": apart},
    }  # fmt: skip
    finish_tensors("cpd", f"CP decomposition of {file.name}", rows, made.choice,
                   made.products.tally, details, wrong=wrong)  # fmt: skip
