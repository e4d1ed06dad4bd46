"""Draws schedules: a dot for each, cycles and accesses over the least of the space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...hw.spec.host.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...sim.gta.schedule.explain import Ranked

__all__ = ["draw"]


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
