"""Area and clock of GTA's lane beside one with separate units for each number format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.gta_lane.separate import GTA_SEPARATE, GtaSeparateConfig
from tilewright.hw.spec.host.activity import note_config

from ..report import AsicReport
from .gta_parts import ELEMENTS, LaneParts, all_of
from .measure import Progress, cycle_time, measure, quiet
from .parts import area_unit
from .table import Figures, Row, Table

__all__ = ["STAGES", "gta_area"]

STAGES = (1, 2, 3)
"""Register stages of the separate units."""

ADDER_STAGES = (*STAGES, 4, 5)
"""Register stages of a fused adder."""

_ARRAY = "array and multi-precision accumulator"
_FLOATS = "the same with fused adders"
_LANE = "the same with feeders, results and control of the lane"
_JOINED = "the same with the lane interconnect"
_PAPER = {_ARRAY: 60.76, _FLOATS: 100.0, _JOINED: 106.06}
"""Section 6.1, in percent of the original lane, which is more than arithmetic."""


_PARTS = {
    "elements": ("limb_element",),
    "multi-precision accumulator": ("multi_precision_accumulator",),
    "rows' adders": ("float_accumulate",),
    "selection of products, registers of sums": ("row_adder",),
    "connections of rows' adders": ("float_back", "plane_addends"),
    "results of integers": ("result_path", "result_sequencer"),
    "results of floats": ("float_result_path", "result_words"),
    "feeders of integers": ("left_feeder", "top_feeder"),
    "feeders of floats": ("float_left_feeder", "float_top_feeder"),
    "vectors of integers, and by planes": ("vector_path",),
    "datapaths to the memories": ("lane_memories",),
    "sequencing of folds": ("fold_sequencer", "waiting_fold"),
}
"""Components of each part of a lane."""

_INSIDE = {"row_adder": "float_accumulate", "float_back": "row_adder"}
"""Component inside a part's component that belongs to another part."""


@dataclass(frozen=True)
class _Figure:
    """Area in the library's unit, and a critical path if it is of one part."""

    area: float
    ns: float | None = None
    fo4: float | None = None


def _of(report: AsicReport) -> _Figure:
    return _Figure(report.area, cycle_time(report), report.path.fo4 if report.path else 0.0)


def _lane(parts: LaneParts) -> Iterator[tuple[str, _Figure]]:
    """The lane with the array, a part more each."""
    element = _of(parts.element())
    yield "an element of the array", element
    yield f"array of {ELEMENTS} elements", _Figure(ELEMENTS * element.area)
    yield _ARRAY, _Figure(parts.array())
    yield _FLOATS, _Figure(parts.fused())
    yield _LANE, _Figure(parts.fused() + parts.control())
    yield _JOINED, _Figure(parts.fused() + parts.control() + parts.interconnect())


def _parts_of_lane(cluster: AsicReport, lanes: int) -> Iterator[tuple[str, _Figure]]:
    """The whole lane again, by what it is for."""
    left = all_of(cluster, "lane")
    for label, names in _PARTS.items():
        inner = [_INSIDE[name] for name in names if name in _INSIDE]
        area = sum(all_of(cluster, name) for name in names)
        area -= sum(all_of(cluster, name) for name in inner)
        left -= area
        if area:
            yield f"of the lane: {label}", _Figure(area / lanes)
    yield "of the lane: others", _Figure(left / lanes)


def _format_units(report: AsicReport) -> dict[str, float]:
    """Areas of the units of each format: different modules, numbered in the formats' order."""
    found = {module.name: module.whole for module in report.modules}
    prefix = f"{report.unit}_format_unit"
    names = report.config["formats"]
    numbered = [prefix, *(f"{prefix}_{number}" for number in range(2, len(names) + 1))]
    return {name: found[module] for name, module in zip(names, numbered, strict=True)}


def _stages(number: int) -> str:
    return f"{number} stage{'s' if number > 1 else ''}"


def gta_area(target: str = "cmos", *, progress: Progress = quiet, **parameters: Any) -> Table:
    """Compares the area of a lane's array and its fused adders with separate units for each format.

    Shares are of the separate units with as many register stages as the fused adders have, or
    with the most that they can have. Both lanes are arithmetic alone until the last two lines:
    register files, memories, operand queues and simple operations are in neither, the paper has
    them in both. "Without" leaves a format out: of the separate units its own go; of the array
    what elements, accumulator and fused adders take less, as a share of what they take of all
    formats. "Of the lane" are its parts, which do not overlap; buffers of nets that cross modules
    are in none of them.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    progress: called with a line of text before each synthesis
    parameters: of :class:`GtaConfig`, which must have integers
    """
    config = GtaConfig(**parameters)
    designs = {
        f"separate units, {_stages(number)}": (
            GTA_SEPARATE,
            GtaSeparateConfig(formats=config.formats, pipeline=number),
        )
        for number in STAGES
    }
    found = measure("gta-area", designs, target, progress)
    note_config("gta", config.resolved())
    base = found[f"separate units, {_stages(min(config.adder_stages, STAGES[-1]))}"]
    scale = 1.0 if target == "cmos" else 1e-6
    digits = (0 if target == "cmos" else 4, 2, 3, 1)

    def row(label: str, figure: _Figure, whole: float = base.area) -> Row:
        ours: Figures = [figure.area * scale, 100 * figure.area / whole, figure.ns, figure.fo4]
        return Row(label, [None, _PAPER.get(label), None, None], ours, digits)

    rows = [row(label, _of(report)) for label, report in found.items()]
    parts = LaneParts(config, target, progress)
    rows += [row(*named) for named in _lane(parts)]
    rows += [row(*named) for named in _parts_of_lane(parts.cluster(), config.lanes)]
    for number in ADDER_STAGES if config.floats else ():
        staged = replace(config, adder_stages=number)
        of_stages = parts if staged == config else LaneParts(staged, target, progress)
        rows.append(row(f"a fused adder of a row, {_stages(number)}", _of(of_stages.row_adder())))
    arithmetic = parts.arithmetic()
    for name, units in _format_units(base).items():
        rows.append(row(f"separate units without {name}", _Figure(base.area - units)))
    for name in config.formats if len(config.formats) > 1 else ():
        others = tuple(other for other in config.formats if other != name)
        left = LaneParts(replace(config, formats=others), target, progress).arithmetic()
        rows.append(row(f"array and adders without {name}", _Figure(left), arithmetic))
    columns = [f"area, {area_unit(target)}", "share, %", "critical path, ns", "FO4"]
    return Table("gta-area", target, columns, rows)
