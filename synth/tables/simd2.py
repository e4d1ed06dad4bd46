"""Area and cycle time of the semiring matrix unit beside SIMD2's own figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.simd2 import Simd2Config

from ..report import AsicReport
from .measure import Progress, cycle_time, measure, part_area, quiet
from .table import Figures, Row, Table

__all__ = ["SMALLEST_WINDOW", "simd2_area", "simd2_designs"]

Reports = Mapping[str, AsicReport]

SMALLEST_WINDOW = 34
"""The smallest window with which sums of 16-bit products are no less accurate than a chain of
fp32 fused multiply-adds, see :data:`.m3xu.BASELINE_WINDOWS`."""

_ALL = "all nine"
_ADDED = tuple(name for name in SEMIRINGS if name != "mma")
_TOGETHER = {"mma": ("mma",), **{f"mma + {s}": ("mma", s) for s in _ADDED}, _ALL: tuple(SEMIRINGS)}
_ALONE = {f"{s} alone": (s,) for s in _ADDED}
_SUM = "sum of the eight alone"
_SEPARATE = "separate datapaths, all nine"

_WINDOW = {"alignment_bits": SMALLEST_WINDOW}
_INTEGERS = {"format": "int16"}
_SIZES: dict[str, dict[str, Any]] = {
    "8 bits (fp8e5m2)": {"format": "fp8e5m2"},
    "32 bits (fp32)": {"format": "fp32"},
    "32 bits (fp32), 12-bit multipliers": {"format": "fp32", "multiplier_bits": 12},
    "64 bits (fp64)": {"format": "fp64"},
}
_DOUBLE = "twice the tile"

_PAPER_TOGETHER = (1, 1.21, 1.21, 1.12, 1.12, 1.01, 1.01, 1.04, 1.18, 1.69)
_PAPER_ALONE = (0.26, 0.26, 1.03, 1.03, 0.06, 0.06, 0.08, 0.19)
_PAPER: dict[str, float] = {
    **dict(zip(_TOGETHER, _PAPER_TOGETHER, strict=True)),
    **dict(zip(_ALONE, _PAPER_ALONE, strict=True)),
    _SUM: 2.96,
    _SEPARATE: 3.96,
    "8 bits (fp8e5m2), mma": 0.25,
    f"8 bits (fp8e5m2), {_ALL}": 0.69,
    "32 bits (fp32), mma": 4.04,
    f"32 bits (fp32), {_ALL}": 6.42,
    "64 bits (fp64), mma": 11.17,
    f"64 bits (fp64), {_ALL}": 17.01,
    f"{_DOUBLE}, mma": 7.5,
    f"{_DOUBLE}, {_ALL}": 7.5 * 1.69,
}
"""Table 3.5 and the text below it, areas of a 4 x 4 unit on 16 bits with mma alone being 1."""

_MEASURED_LIBRARY = "gscl45nm"
_FMA_AREA = 6466.0
"""Area of an open fp16 fused multiply-add (CVFPU, one rounding mode) in that library:
measured once, by hand; its version was not recorded."""
_AUTHORS_RTL = {
    "mma": 1.0, "mma + minplus": 1.20, "mma + maxplus": 1.19, "mma + minmul": 1.11,
    "mma + minmax": 1.17, "mma + orand": 1.03, "mma + addnorm": 1.26, _ALL: 1.95,
}  # fmt: skip
"""The authors' published RTL (unsigned 16-bit integers, no addend) in that library."""


def simd2_designs(tile: int = 4, pipeline: int = 4) -> dict[str, tuple[str, Simd2Config]]:
    """Everything the table measures: label -> (unit, configuration)."""
    found: dict[str, Simd2Config] = {}

    def add(label: str, **parameters: Any) -> None:
        found[label] = Simd2Config(**({"tile": tile, "pipeline": pipeline} | parameters))

    for label, ops in _TOGETHER.items():
        add(label, ops=ops)
        add(f"{label}, window {SMALLEST_WINDOW}", ops=ops, **_WINDOW)
    for label, ops in _ALONE.items():
        add(label, ops=ops)
    for label, ops in {**_TOGETHER, **_ALONE}.items():
        add(f"{label}, int16", ops=ops, **_INTEGERS)
    add(_SEPARATE, shared=False)
    add(f"{_SEPARATE}, int16", shared=False, **_INTEGERS)
    for size, parameters in {_DOUBLE: {"tile": 2 * tile}, **_SIZES}.items():
        add(f"{size}, mma", ops=("mma",), **parameters)
        add(f"{size}, {_ALL}", **parameters)
    return {label: ("simd2", config) for label, config in found.items()}


def _equal_designs(tile: int, pipeline: int) -> dict[str, tuple[str, Simd2Config]]:
    """Those that are compared at an equal period."""
    kinds = ("", f", window {SMALLEST_WINDOW}", ", int16")
    labels = {f"{label}{kind}" for label in ("mma", _ALL) for kind in kinds}
    return {name: one for name, one in simd2_designs(tile, pipeline).items() if name in labels}


def _ratio(reports: Reports, label: str, base: str) -> float | None:
    return reports[label].area / reports[base].area if label in reports else None


def _cycles(reports: Reports, label: str, base: str) -> float | None:
    slowest = cycle_time(reports[base])
    return cycle_time(reports[label]) / slowest if label in reports and slowest else None


_DIGITS = (3, 3, 3, 3, 3, 3, 3, 0, 3)


def _columns(unit: str) -> list[str]:
    window = f"window {SMALLEST_WINDOW}"
    return [
        "area, fp16 mma = 1",
        "area, own mma = 1",
        "cycle, own mma = 1",
        f"area, {window}",
        f"cycle, {window}",
        "area, int16 (papers: authors' RTL)",
        "cycle, int16",
        f"area in {unit}",
        "cycle in ns",
    ]


def _row(reports: Reports, label: str, own: str) -> Row:
    """A design's figures; ``own`` is the label of the mma that it extends."""
    report = reports[label]
    with_window, with_integers = f", window {SMALLEST_WINDOW}", ", int16"
    own_paper = _PAPER[label] / _PAPER[own] if {label, own} <= set(_PAPER) else None
    authors = _AUTHORS_RTL.get(label) if report.library == _MEASURED_LIBRARY else None
    together = own != "mma" or label in _TOGETHER
    ours: Figures = [
        report.area / reports["mma"].area,
        report.area / reports[own].area,
        _cycles(reports, label, own),
        _ratio(reports, label + with_window, "mma" + with_window),
        _cycles(reports, label + with_window, "mma" + with_window),
        _ratio(reports, label + with_integers, "mma" + with_integers),
        _cycles(reports, label + with_integers, "mma" + with_integers),
        report.area,
        cycle_time(report) or None,
    ]
    paper: Figures = [
        _PAPER.get(label),
        own_paper,
        1.0 if together else None,  # "never increases the critical path delay"
        None,
        None,
        authors,
        None,
        None,
        None,
    ]
    return Row(label, paper, ours, _DIGITS)


def _sum_row(reports: Reports) -> Row:
    """The eight operations alone, added up."""
    whole = sum(reports[label].area for label in _ALONE)
    integers = sum(reports[f"{label}, int16"].area for label in _ALONE)
    share = whole / reports["mma"].area
    in_integers = integers / reports["mma, int16"].area
    paper = _PAPER[_SUM]
    return Row(
        _SUM,
        [paper, paper, *[None] * 7],
        [share, share, None, None, None, in_integers, None, whole, None],
        _DIGITS,
    )


def _product_rows(reports: Reports, tile: int) -> list[Row]:
    """Returns the rows of the area per product, beside a fused multiply-add."""
    fma = _FMA_AREA if reports["mma"].library == _MEASURED_LIBRARY else None
    rows = []
    for label in ("mma", f"mma, window {SMALLEST_WINDOW}", _ALL):
        datapath, _ = part_area(reports[label], "semiring_unit")
        for what, area in (("unit", reports[label].area / tile**3), ("datapath", datapath / tile)):
            title = f"{label}: {what} for each product (papers: CVFPU's fp16 FMA)"
            rows.append(Row(title, [*[None] * 7, fma, None], [*[None] * 7, area, None], _DIGITS))
    return rows


def simd2_area(
    target: str = "cmos",
    *,
    tile: int = 4,
    pipeline: int | None = None,
    period: float | None = None,
    progress: Progress = quiet,
) -> Table:
    """Compares the area of operations: added to mma, each alone, in other formats and sizes.

    On fp16 with fp32 sums and the default window unless the label says otherwise; fp8, fp32 and
    fp64 with their default accumulators. Columns of the smallest window and of 16-bit integers
    have the mma of that kind as 1.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    tile, pipeline: of all designs, but one pair that has twice the tile; the pipeline is by default
        4 stages, or with a ``period`` those that the unit has by default
    period: in ns; measures mma and all nine only, the smallest designs that are found to meet it.
        None: mapped for area
    progress: called with a line of text before each design
    """
    if period:
        designs = _equal_designs(tile, pipeline or Simd2Config().pipeline)
    else:
        designs = simd2_designs(tile, pipeline or 4)
    reports = measure("simd2-area", designs, target, progress, period=period)
    columns = _columns(reports["mma"].area_unit)
    if period:
        rows = [_row(reports, label, "mma") for label in ("mma", _ALL)]
        return Table(f"simd2-area, for {period:g} ns", target, columns, rows)
    rows = [_row(reports, label, "mma") for label in (*_TOGETHER, *_ALONE)]
    rows += [_sum_row(reports), _row(reports, _SEPARATE, "mma")]
    for size in (_DOUBLE, *_SIZES):
        rows += [_row(reports, f"{size}, {what}", f"{size}, mma") for what in ("mma", _ALL)]
    rows += _product_rows(reports, tile)
    return Table("simd2-area", target, columns, rows)
