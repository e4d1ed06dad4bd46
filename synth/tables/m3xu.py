"""Area and cycle time of M3XU beside its papers'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.hw.spec.m3xu import MODES, BaselineConfig, M3xuConfig, WideConfig

from ..report import AsicReport
from .measure import Progress, cycle_time, measure, part_area, quiet
from .table import Figures, Row, Table

__all__ = ["m3xu_area"]

_REAL_MODES = ("fp16", "bf16", "tf32", "fp32")
_DESIGNS = (
    "fp16 baseline",
    "wide fp32",
    "M3XU fp32",
    "M3XU fp32+fp32c",
    "M3XU fp32+fp32c, pipelined data assignment",
)
_PAPER_AREA = (1, 3.55, 1.37, 1.41, 1.47)
_PAPER_CYCLE = (1, 1.00, 1.21, 1.21, 1.00)
_PAPER_EQUAL = (1, 3.55, None, None, 1.47)
"""Areas of the designs that have the baseline's cycle time."""
_FMA_LIBRARY = "gscl45nm"
_FMA_AREA = (6466, 18268, None, None, None)
"""Area of an open fused multiply-add (CVFPU, one rounding mode), fp16 and fp32, in that library:
measured once, by hand; its version was not recorded."""

AREA_PIPELINE = 4
"""Stages of the designs that are mapped for area."""
SHARED_WINDOW = 56
BASELINE_WINDOWS = (BaselineConfig().alignment_bits, 28)
"""The baseline's own window, the smallest that keeps all of its numerics; and one with which its
results break no rule of the contract but are now and then less accurate than a chain of fp32
fused multiply-adds, where terms cancel."""


def _ratios(figures: Sequence[float]) -> list[float]:
    return [figure / figures[0] for figure in figures]


def _rows(
    reports: Sequence[AsicReport], title: str, *, parts: bool = True, period: float | None = None
) -> list[Row]:
    """Figures of the five designs; with ``parts`` of what they are made of, too."""
    if period:
        title += f", for {period:g} ns"
    none: Figures = [None] * len(reports)
    areas = [r.area for r in reports]
    cycles = [cycle_time(r) for r in reports]
    fo4 = [r.path.fo4 if r.path else 0.0 for r in reports]
    units = [part_area(r, "dot_product_unit") for r in reports]
    multipliers = [part_area(r, "multiplier") for r in reports]
    products = [
        area * count / max(factors, 1)
        for (area, count), (_, factors) in zip(units, multipliers, strict=True)
    ]
    fma = _FMA_AREA if reports[0].library == _FMA_LIBRARY else none
    whole = [
        Row(f"area, {title}", _PAPER_EQUAL if period else _PAPER_AREA, _ratios(areas), 3),
        Row(f"cycle time, {title}", none if period else _PAPER_CYCLE, _ratios(cycles), 3),
        Row(f"area in {reports[0].area_unit}, {title}", none, areas, 0),
        Row(f"critical path in ns, {title}", none, cycles, 3),
    ]
    if not parts:
        return whole
    return [
        *whole,
        Row(f"flip-flops, {title}", none, [r.flip_flops for r in reports], 0),
        Row(f"critical path in FO4, {title}", none, fo4, 1),
        Row(f"area of a dot product unit, {title}", none, [area for area, _ in units], 0),
        Row(f"area of a multiplier, {title}", none, [area for area, _ in multipliers], 0),
        Row(
            f"area of a dot product unit for each multiplier, {title} "
            "(beside: fp16 and fp32 fused multiply-add of CVFPU)",
            fma,
            products,
            0,
        ),
    ]


def m3xu_area(
    target: str = "cmos",
    *,
    rows: int = 8,
    cols: int = 4,
    depth: int = 8,
    pipeline: int | None = None,
    period: float | None = None,
    progress: Progress = quiet,
) -> Table:
    """Area and cycle time of M3XU against the unit it extends and the brute-force alternative.

    With one accumulation window for all five designs, and with windows of the baseline's own,
    see :data:`BASELINE_WINDOWS`.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    rows, cols, depth, pipeline: of all designs; the pipeline is by default 4 stages, or with a
        ``period`` those that the units have by default
    period: in ns; all designs are the smallest that are found to meet it. None: mapped for area
    progress: called with a line of text before each design
    """
    shape: dict[str, Any] = {"rows": rows, "cols": cols, "depth": depth}
    if pipeline or not period:
        shape["pipeline"] = pipeline or AREA_PIPELINE
    wide = {**shape, "alignment_bits": SHARED_WINDOW}
    configs = (
        ("m3xu_baseline", BaselineConfig(**wide)),
        ("m3xu_wide", WideConfig(**wide)),
        ("m3xu", M3xuConfig(**wide, modes=_REAL_MODES)),
        ("m3xu", M3xuConfig(**wide, modes=tuple(MODES))),
        ("m3xu", M3xuConfig(**wide, modes=tuple(MODES), data_assignment="pipelined")),
    )
    designs: dict[str, tuple[str, Any]] = dict(zip(_DESIGNS, configs, strict=True))
    for window in BASELINE_WINDOWS:
        config = BaselineConfig(**shape, alignment_bits=window)
        designs[f"{_DESIGNS[0]}, window {window}"] = ("m3xu_baseline", config)
    reports = list(measure("m3xu-area", designs, target, progress, period=period).values())
    figures = _rows(reports[:5], f"all windows {SHARED_WINDOW}", period=period)
    for window, baseline in zip(BASELINE_WINDOWS, reports[5:], strict=True):
        title = f"baseline's window {window}"
        figures += _rows([baseline, *reports[1:5]], title, parts=False, period=period)
    return Table("m3xu-area", target, _DESIGNS, figures)
