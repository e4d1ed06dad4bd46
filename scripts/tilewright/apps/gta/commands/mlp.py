"""``tilewright run mlp``: a network of full layers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_output, check_readable, kind_of
from ...common.first_lines import check_first_lines
from ...common.units.gta import ScheduleOptions
from ..choice import FLOATS, GtaOptions, choose_gta

__all__ = ["mlp"]

_LAYERS, _WIDTH, _SAMPLES = 8, 256, 1024


def mlp(
    weights: Annotated[
        Path | None,
        typer.Argument(
            metavar="WEIGHTS", help="Weights w0, b0, w1, b1, ..., .npz; default: random, of NeRF's "
                                    "shape."
        ),
    ] = None,
    points: Annotated[
        Path | None,
        typer.Argument(metavar="SAMPLES", help=f"Samples, one per row, {ARRAY_NAMES}; default: "
                                               "random."),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            parser=whole("--layers", 1, 64), metavar="N", help="Number of random layers; default 8."
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            parser=whole("--width", 1, 4096), metavar="N",
            help="Width of random layers; default 256."
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            parser=whole("--samples", 1, 1 << 20), metavar="N",
            help="Number of random samples; default 1024."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(parser=whole("--seed", 0), metavar="N",
        help="Seed of random weights and samples.")
    ] = 0,
    mode: Annotated[
        str, typer.Option(help=f"Format: {', '.join(FLOATS[:-1])} or {FLOATS[-1]}.")
    ] = "fp32",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output",
                     help=f"Write the outputs, one row per sample, {ARRAY_NAMES}."),
    ] = None,
    *,
    how: ScheduleOptions,
    options: GtaOptions,
) -> None:  # fmt: skip
    """Pass samples through a network of full layers on GTA.

    Between layers values below 0 become 0. The result is checked against NumPy in float64, within
    what roundings explain.
    """
    choice = choose_gta(options, mode, FLOATS, how=how)
    if output:
        check_output(output)
    for name, given in (("layers", layers), ("width", width)):
        if weights is not None and given is not None:
            raise UserError(f"--{name} and {weights} exclude each other")
    if points is not None and samples is not None:
        raise UserError(f"--samples and {points} exclude each other")
    if weights is not None:
        if kind_of(weights) != ".npz":
            raise UserError(f"{weights}: must be a .npz file, not {kind_of(weights)!r}")
        check_readable(weights)
    if points is not None:
        check_first_lines(points)
    from ..mlp import Drawn, run_network

    drawn = Drawn(
        layers=layers or _LAYERS, width=width or _WIDTH, samples=samples or _SAMPLES, seed=seed
    )
    run_network(choice, weights, points, drawn, output)
