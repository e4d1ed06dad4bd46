"""The roofline as a table, and beside it what its paper says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from ...hw.spec.tensaurus import TensaurusConfig
from ...synth.tables import Row, Table
from ..drawing import drawn
from .point import Point, Roof, geomean

if TYPE_CHECKING:
    from rich.console import Console


# Comparison with the paper's results for the same kernels.
#
# Source: Tensaurus, section on performance. Its clock is 2 GHz, of which elements use every other
# cycle; it does not say how many columns its operands have.


COLOURS = {
    "tensors": "#1b6ca8",
    "layers": "#c2571a",
    "matrices": "#2e8b57",
    "densities": "#8a4fa3",
    "measurements": "#b8860b",
}
"""Colours of the groups' dots."""

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 590, 50, 420
_LEGEND = 610


class _Axes:
    """Maps intensities and rates to places of the drawing."""

    def __init__(self, intensities: Sequence[float], rates: Sequence[float]) -> None:
        self.x = floor(log10(min(intensities))), ceil(log10(max(intensities)))
        self.y = floor(log10(min(rates))), ceil(log10(max(rates)))

    @staticmethod
    def _place(value: float, ends: tuple[int, int], low: float, high: float) -> float:
        part = (log10(value) - ends[0]) / max(1, ends[1] - ends[0])
        return low + (high - low) * part

    def at(self, intensity: float, rate: float) -> tuple[float, float]:
        """A point's place."""
        x = self._place(intensity, self.x, _LEFT, _RIGHT)
        return x, self._place(rate, self.y, _BOTTOM, _TOP)


def picture(title: str, roof: Roof, points: Sequence[Point]) -> str:
    """The drawing, an SVG. Dots under the roof of one lane a row, products with a vector, are
    hollow."""
    knee = roof.operations / roof.bytes
    axes = _Axes(
        [*(point.intensity for point in points), knee / 8, knee * 8],
        [*(point.reached for point in points), roof.row_operations / 8, roof.operations * 1.5],
    )
    parts = [
        *_grid(axes),
        *_roofs(axes, roof),
        *_dots(axes, points),
        *_legend(points),
    ]
    return drawn(title, parts, size=(_WIDTH, _HEIGHT), title_at=(_LEFT, 26))


def _grid(axes: _Axes) -> list[str]:
    found = []
    for power in range(axes.x[0], axes.x[1] + 1):
        x, _ = axes.at(10.0**power, 1)
        found.append(_line((x, _BOTTOM), (x, _TOP), "#dddddd"))
        found.append(f'<text x="{x:.1f}" y="{_BOTTOM + 18}" class="m l">{10.0**power:g}</text>')
    for power in range(axes.y[0], axes.y[1] + 1):
        _, y = axes.at(1, 10.0**power)
        found.append(_line((_LEFT, y), (_RIGHT, y), "#dddddd"))
        found.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" class="e l">{10.0**power:g}</text>')
    middle = (_LEFT + _RIGHT) / 2
    found.append(f'<text x="{middle}" y="{_BOTTOM + 42}" class="m">operations a byte</text>')
    found.append(f'<text x="{_LEFT}" y="{_TOP - 8}" class="l">GOP/s</text>')
    return found


def _roofs(axes: _Axes, roof: Roof) -> list[str]:
    """The memory's slope, up to where the array ends it, and both of the array's."""
    right = 10.0 ** axes.x[1]
    low = max(10.0 ** axes.x[0], 10.0 ** axes.y[0] / roof.bytes)
    found = []
    for rate, dashes in ((roof.operations, ""), (roof.row_operations, "4 3")):
        knee = rate / roof.bytes
        found.append(_line(axes.at(knee, rate), axes.at(right, rate), "#222222", dashes))
    knee = roof.operations / roof.bytes
    found.append(_line(axes.at(low, low * roof.bytes), axes.at(knee, roof.operations), "#222222"))
    return found


def _line(
    begin: tuple[float, float], end: tuple[float, float], colour: str, dashes: str = ""
) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}"{dashed}/>'
    )


def _dots(axes: _Axes, points: Sequence[Point]) -> list[str]:
    found = []
    for point in points:
        x, y = axes.at(point.intensity, point.reached)
        colour = COLOURS[point.group]
        fill = "white" if point.kernel == "mv" else colour
        said = f"{point.label}, {point.kernel}, F = {point.columns}: {100 * point.ratio:.1f} %"
        found.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" fill-opacity="0.7" '
            f'stroke="{colour}"><title>{escape(said)}</title></circle>'
        )
    return found


def _legend(points: Sequence[Point]) -> list[str]:
    groups = [group for group in COLOURS if any(point.group == group for point in points)]
    rows = [(COLOURS[group], COLOURS[group], group) for group in groups]
    if any(point.kernel == "mv" for point in points):
        rows.append(("#555555", "white", "times a vector: dashed roof"))
    found = []
    for number, (stroke, fill, words) in enumerate(rows):
        y = _TOP + 14 + 20 * number
        found.append(f'<circle cx="{_LEGEND}" cy="{y}" r="4" fill="{fill}" stroke="{stroke}"/>')
        found.append(f'<text x="{_LEGEND + 10}" y="{y + 4}" class="l">{words}</text>')
    return found


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
