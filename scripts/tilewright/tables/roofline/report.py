"""The roofline as a table, and beside it what its paper says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...hw.spec.host.plots import COLOURS
from ...hw.spec.tensaurus import TensaurusConfig
from ...synth.tables import Drawing, Row, Table
from .point import Point, Roof, geomean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


# Comparison with the paper's results for the same kernels.
#
# Source: Tensaurus, section on performance. Its clock is 2 GHz, of which elements use every other
# cycle; it does not say how many columns its operands have.


def draw(figure: Figure, *, title: str, roof: Roof, points: Sequence[Point]) -> None:
    """Draws points under the roofs of memory and array. Products with a vector, whose roof is that
    of one lane per row (dashed), are hollow."""
    axes = figure.subplots()
    for group, colour in zip(dict.fromkeys(point.group for point in points), COLOURS, strict=False):
        for hollow in (False, True):
            some = [
                point for point in points
                if point.group == group and (point.kernel == "mv") is hollow
            ]  # fmt: skip
            axes.plot(
                [point.intensity for point in some], [point.reached for point in some], "o",
                color=colour, markerfacecolor="none" if hollow else colour, alpha=0.7,
                markersize=5, label="" if hollow else group,
            )  # fmt: skip
    knee = roof.operations / roof.bytes
    ends = [knee / 8, knee * 8, *(point.intensity for point in points)]
    low, high = min(ends), max(ends)
    for rate, style, label in (
        (roof.operations, "-", "roof of memory and array"),
        (roof.row_operations, "--", "roof of products with a vector"),
    ):
        at = [low, rate / roof.bytes, high]
        axes.plot(at, [min(rate, x * roof.bytes) for x in at], style, color="#222222", label=label)
    axes.plot([], [], "o", color="#555555", markerfacecolor="none", label="product with a vector")
    axes.set(
        xscale="log", yscale="log", xlabel="operations per byte", ylabel="reached, GOP/s",
        title=title,
    )  # fmt: skip
    axes.legend()


SPEEDUPS: dict[str, tuple[float | None, float | None, float | None]] = {
    "SpMTTKRP, tensors": (22.9, 3.1, None),
    "SpTTMc, tensors": (6.0, 0.1, None),
    "SpMM, layers": (349.2, 1.8, 1.9),
    "SpMM, matrices": (125.8, 0.87, 119.7),
    "SpMV, matrices": (7.7, 0.45, None),
}
"""Over a core (SPLATT of tensors, Sparse BLAS of matrices, Xeon E7-8867, 2.4 GHz), over a Titan Xp
(ParTI, cuSPARSE), over Cambricon-X. TTMc of the GPU leaves out what its host does; with that it is
5 times as fast as the GPU. The layers' figures are of convolutions and fully connected layers
together."""

_KERNELS = {"mttkrp": "SpMTTKRP", "ttmc": "SpTTMc", "mm": "SpMM", "mv": "SpMV"}


def class_of(point: Point) -> str:
    """The line of the paper's that a point belongs to, or one like it."""
    if point.group == "layers":
        return "SpMM, layers"
    return f"{_KERNELS[point.kernel]}, {point.group}"


__all__ = ["BAR", "FEW_SLICES", "LEAST", "Roofline", "few_cycles", "too_small"]

BAR, LEAST = 0.90, 0.75
"""Shares of the roof that the geometric mean, and each product that is not too small, should
reach."""

FEW_SLICES = 4
"""A row: with fewer slices than that rows cannot have equal shares, as a slice is of one row."""
_FILLS = 2
"""Least work of a job, in times of filling the scratchpads and emptying the output buffer once."""

_COLUMNS = (
    "product", "kernel", "F", "values", "tiles", "op/byte", "roof", "reached", "%", "flat, %",
    "once, %", "bound by", "us", "SciPy, us",
)  # fmt: skip


def few_cycles(config: TensaurusConfig) -> int:
    """Cycles of work of which the first operands and the last output, which nothing overlaps, are a
    large part: a unit of each is moved a cycle."""
    return _FILLS * (config.spm_units + config.out_units)


def too_small(point: Point, config: TensaurusConfig) -> str:
    """Why a product is smaller than the array, or nothing."""
    if point.slices < FEW_SLICES * config.rows:
        return "few slices"
    if point.operations * point.gigahertz < few_cycles(config) * point.highest:
        return "short"
    return ""


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """Points and what they were measured on.

    Parameters
    ----------
    points: in order
    config: of the accelerator
    what: accelerator, memory, clock and scale, in words
    notes: what was left out, and why
    """

    points: Sequence[Point]
    config: TensaurusConfig
    what: str
    notes: Sequence[str] = ()
    drawing: Drawing | None = field(default=None, compare=False, repr=False)

    @property
    def parts(self) -> list[Table]:
        """The points and the speedups as tables of figures."""
        columns = (
            "values", "tiles", "operations per byte", "roof, GOP/s", "reached, GOP/s",
            "reached, % of roof", "flat, %", "once, %", "us", "SciPy, us",
        )  # fmt: skip
        rows = []
        for point in self.points:
            flat, reference = point.flat_ratio, point.reference
            figures = (
                point.values, point.tiles, point.intensity, point.highest, point.reached,
                100 * point.ratio, None if flat is None else 100 * flat,
                100 * point.compulsory_ratio, point.microseconds,
                None if reference is None else 1e6 * reference,
            )  # fmt: skip
            label = f"{point.label}, {point.kernel}, F = {point.columns}"
            rows.append(Row(label, [None] * len(columns), figures, (0, 0, *[2] * 8)))
        points = Table(f"tensaurus-roofline, {self.what}", "model", columns, rows)
        compared = any(point.reference is not None for point in self.points)
        return [points, *([self.speedups()] if compared else [])]

    @property
    def large(self) -> list[Point]:
        """Points that are not too small."""
        return [point for point in self.points if not too_small(point, self.config)]

    def summary(self) -> dict[str, float]:
        """Geometric mean and least of the ratios, on both memories, and how many there are."""
        large = self.large
        ratios = [point.ratio for point in large]
        flat = [ratio for point in large if (ratio := point.flat_ratio) is not None]
        return {
            "points": len(self.points),
            "too_small": len(self.points) - len(large),
            "geomean": geomean(ratios),
            "least": min(ratios, default=1.0),
            "flat_points": sum(point.flat_cycles is not None for point in self.points),
            "flat_geomean": geomean(flat),
            "flat_least": min(flat, default=1.0),
            "below": sum(ratio < LEAST for ratio in ratios),
        }

    def speedups(self) -> Table:
        """Tabulates speedups by class of inputs: ours over SciPy on one core of the machine at
        hand; the paper's are in ``published``."""
        by_class: dict[str, list[float]] = {}
        for point in self.points:
            if point.reference is not None:
                ratio = point.reference * 1e6 / point.microseconds
                by_class.setdefault(class_of(point), []).append(ratio)
        rows = [
            Row(name, SPEEDUPS.get(name, (None,) * 3), [geomean(ratios), None, None], [1, 2, 1])
            for name, ratios in by_class.items()
        ]
        columns = ["over a core", "over a GPU", "over Cambricon-X"]
        name = "times as fast, geometric mean; ours over SciPy on this machine"
        return Table(name, "model", columns, rows)

    def to_json(self) -> dict[str, Any]:
        """``{"table", "what", "notes", "summary", "points": [...], "speedups": ...}``."""
        derived = (
            "intensity", "highest", "reached", "ratio", "flat_ratio", "compulsory_ratio", "limit",
            "microseconds",
        )  # fmt: skip
        points: list[Mapping[str, Any]] = [
            asdict(point)
            | {name: getattr(point, name) for name in derived}
            | {"too_small": too_small(point, self.config)}
            for point in self.points
        ]
        return {
            "table": "tensaurus-roofline", "what": self.what, "notes": list(self.notes),
            "summary": self.summary(), "points": points, "speedups": self.speedups().to_json(),
        }  # fmt: skip

    def cells(self, point: Point) -> list[str]:
        """A line of the table."""
        reference = "-" if point.reference is None else f"{point.reference * 1e6:,.0f}"
        said = [too_small(point, self.config)]
        said += ["sums in memory"] if point.store == "memory" else []
        words = ", ".join(filter(None, said))
        flat = "-" if point.flat_ratio is None else f"{100 * point.flat_ratio:.1f}"
        return [
            point.label, point.kernel, f"{point.columns:,}", f"{point.values:,}",
            f"{point.tiles:,}", f"{point.intensity:.2f}", f"{point.highest:.1f}",
            f"{point.reached:.1f}", f"{100 * point.ratio:.1f}", flat,
            f"{100 * point.compulsory_ratio:.1f}", point.limit + (f" ({words})" if words else ""),
            f"{point.microseconds:,.1f}", reference,
        ]  # fmt: skip

    def print(self, console: Console) -> None:
        """Write the tables to a Rich console."""
        from rich.box import SIMPLE
        from rich.table import Table as RichTable

        shown = RichTable(
            title=f"tensaurus-roofline, {self.what}", title_justify="left", box=SIMPLE,
            pad_edge=False, padding=(0, 1, 0, 0),
        )  # fmt: skip
        for number, name in enumerate(_COLUMNS):
            words = number < 2 or name == "bound by"
            shown.add_column(name, justify="left" if words else "right", no_wrap=not words)
        group = ""
        for point in self.points:
            if group and group != point.group:
                shown.add_section()
            group = point.group
            shown.add_row(*self.cells(point))
        console.print(shown)
        found = self.summary()
        console.print(_said(found, few_cycles(self.config)))
        for note in self.notes:
            console.print(note)
        if any(point.reference is not None for point in self.points):
            self.speedups().print(console)


def _said(found: Mapping[str, float], few: int) -> str:
    """A summary in words."""

    def share(name: str) -> str:
        return f"{100 * found[name]:.1f} %"

    flat = (
        f"on flat memory {share('flat_geomean')} and {share('flat_least')}"
        if found["flat_points"]
        else "flat memory was left out"
    )
    return (
        f"{found['points'] - found['too_small']:.0f} products: {share('geomean')} of the roof on "
        f"average (geometric), {share('least')} at least, {found['below']:.0f} below "
        f"{100 * LEAST:.0f} %; {flat}. "
        f"Left out as too small: {found['too_small']:.0f}, with fewer than {FEW_SLICES} slices a "
        f"row (few slices) or less than {few:,} cycles of work (short)."
    )
