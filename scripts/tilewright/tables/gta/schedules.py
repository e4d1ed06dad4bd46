"""All schedules of a layer of AlexNet on GTA, in three precisions, by the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...hw.spec.host.plots import COLOURS
from ...hw.spec.host.words import not_one_of
from ...synth.tables import Row, Table
from .setting import modelled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...sim.gta.schedule.explain import Ranked

__all__ = ["LAYER", "PRECISIONS", "draw", "gta_schedules"]


def draw(figure: Figure, *, title: str, found: Mapping[str, Sequence[Ranked]]) -> None:
    """Draws the schedules of each format into a figure. The first schedule of a format, the chosen
    one, has a ring. Vector operations are hollow."""
    axes = figure.subplots()
    for (name, ranked), colour in zip(found.items(), COLOURS, strict=False):
        for hollow in (False, True):
            some = [one for one in ranked if (one.evaluated.schedule.dataflow == "simd") is hollow]
            axes.plot(
                [one.cycles for one in some], [one.accesses for one in some], "o",
                color=colour, markerfacecolor="none" if hollow else colour, alpha=0.7,
                markersize=5, label="" if hollow else name,
            )  # fmt: skip
        chosen = ranked[0]
        axes.plot(
            chosen.cycles, chosen.accesses, "o", color=colour, markerfacecolor="none", markersize=12
        )
    grey: dict[str, Any] = {"color": "#555555", "markerfacecolor": "none"}
    axes.plot([], [], "o", markersize=5, label="vector operations", **grey)
    axes.plot([], [], "o", markersize=12, label="chosen", **grey)
    axes.set(
        xscale="log", yscale="log", xlabel="cycles / least cycles",
        ylabel="accesses / least accesses", title=title,
    )  # fmt: skip
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("{x:g}")
    axes.legend()


LAYER = "conv3"
"""Unless another one is asked for."""

PRECISIONS = ("int8", "bf16", "fp32")
"""Inference, and training in two."""


def gta_schedules(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    only: str | None = None,
    settings: Sequence[str] = (),
) -> Table:
    """The space of schedules of a layer, one picture forward (the paper's Figure 9): the chosen one
    first, then by score. Cycles are the array's, operands on chip; a, b and sums are accesses to
    the memories of lanes; bytes go between memory and chip; all of these in thousands.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    files, only: a layer, conv1 to fc8, as a word of its own or behind ``--only``; else ``LAYER``
    settings: parameters of the accelerator, NAME=VALUE; of the three precisions those are left out
        that it has not

    Raises
    ------
    UserError for another target, a wrong parameter, an unknown layer or several, or if no precision
    is left.
    """
    config = modelled("gta-schedules", target, settings)
    from ...sim.gta.nine_workloads import LAYERS, forward
    from ...sim.gta.schedule.explain import COLUMNS, explain, ranked, space

    given = [*map(str, files), *([only] if only is not None else [])]
    if len(given) > 1:
        raise UserError(f"gta-schedules takes one layer, not {' and '.join(given)}")
    layer = given[0] if given else LAYER
    if layer not in LAYERS:
        raise UserError(not_one_of("--only" if only else "the layer", LAYERS, layer))
    names = [name for name in PRECISIONS if name in (*config.integers, *config.floats)]
    if not names:
        raise UserError(f"gta-schedules needs one of {', '.join(PRECISIONS)}")
    found = {}
    for name in names:
        progress(f"{layer} in {name}")
        found[name] = ranked(space(config, forward(LAYERS[layer], 1, name)))
    none = [None] * len(COLUMNS)
    digits = (1, 1, *[0] * 5, *[2] * 3)
    rows = [
        Row(f"{name} {line.label}", none, line.figures, digits)
        for name, each in found.items()
        for line in explain(each)
    ]
    title = f"gta-schedules, {layer} of AlexNet on {config.lanes} lanes, in thousands"
    drawing = partial(draw, title=f"GTA: {layer} of AlexNet on {config.lanes} lanes", found=found)
    return Table(title, "model", COLUMNS, rows, drawing)
