"""Area of MatRaptor by part beside its paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.hw.spec.matraptor import MatRaptorConfig

from ..report import AsicReport
from .measure import Progress, measure, part_area, part_memory, quiet
from .table import Figures, Row, Table

__all__ = ["BIT_TRANSISTORS", "BIT_UM2", "matraptor_area"]

BIT_UM2 = 1 / 0.826
"""um2 a bit of SRAM, with decoders, sense amplifiers and the like: 0.826 Mb/mm2 is what OpenRAM
(M. Guthaus et al., ICCAD 2016, comparison with fabricated SRAMs) publishes for its memories in
FreePDK45, the process of the library gscl45nm. Those have one port for reading and writing, ours
one for each, and small memories are less dense. Fabricated 40 to 45 nm memories are given there
with 0.33 to 0.94 Mb/mm2. So this is an estimate, and one for 45 nm alone."""

BIT_TRANSISTORS = 6
"""Of a cell, without what is around the array."""

_PE, _LOADERS = "processing elements", ("A loaders", "B loaders")
_COUNTED = (_PE, *_LOADERS)
"""The parts that the paper counts."""

_PARTS = {
    _PE: "processing_element",
    _LOADERS[0]: "sparse_a_loader",
    _LOADERS[1]: "sparse_b_loader",
    "row writers": "c2sr_row_writer",
    "burst writers": "write_manager",
    "crossbar": "read_crossbar",
    "registers and counters": ("axi_lite_registers", "counters"),
}
"""Components that do not contain each other."""

_ELEMENT = {
    "multiplication": "multiply_stage",
    "phase I, merging": "partial_row_merge",
    "sorting queues, both sets": "queue_set",
    "phase II": "row_merge",
    "phase II, adder tree": "adder_tree",
    "phase II, smallest column": "minimum_column",
    "all adders": "optional_sum",
}
"""Components of the processing element; the last three rows are inside others."""

_PAPER_BITS = 8 * 10 * 8 * 1024 * 8
"""Sorting queues of 8 elements, 10 of 8 KB in each."""
_PAPER: dict[str, tuple[float | None, ...]] = {
    _PE: (0.080, _PAPER_BITS, 1.901, 1.981, 88.44),
    _LOADERS[0]: (None, None, None, 0.129, 5.78),
    _LOADERS[1]: (None, None, None, 0.129, 5.78),
}
"""Table 5.1, in 28 nm: logic, bits, memory, area and share. The loaders' are those of their queues
and 10 % more."""
_PAPER_WHOLE = 2.241
_PAPER_LOGIC_SHARE, _PAPER_QUEUES_SHARE = 3.61, 84.83


@dataclass(frozen=True)
class _Part:
    """Of all instances of a part: area of its logic, and bits of its memories."""

    logic: float
    bits: int


def _part(report: AsicReport, names: str | Sequence[str]) -> _Part:
    each = [names] if isinstance(names, str) else names
    areas = [part_area(report, name) for name in each]
    bits = sum(part_memory(report, name) for name in each)
    return _Part(sum(area * count for area, count in areas), bits)


class _Rows:
    """Rows of one report.

    Members
    -------
    scale: of the library's unit in the table's
    bit: area of a bit in the library's unit
    whole, counted: area of everything, and of the parts that the paper counts
    """

    def __init__(self, report: AsicReport, lanes: int) -> None:
        self.metric = report.target != "cmos"
        self.scale = 1e-6 if self.metric else 1.0
        self.bit: float = BIT_UM2 if self.metric else BIT_TRANSISTORS
        self.digits = (3, 0, 3, 3, 4, 2, 2) if self.metric else (0, 0, 0, 0, 0, 2, 2)
        self.lanes = lanes
        self.whole = self.area(_Part(report.area, report.memory_bits))
        self.counted = sum(self.area(_part(report, _PARTS[label])) for label in _COUNTED)

    def area(self, part: _Part) -> float:
        return (part.logic + part.bits * self.bit) * self.scale

    def row(self, label: str, part: _Part, paper: Figures = (None,) * 5, *, counted: bool) -> Row:
        logic, bits, memory, area, share = paper
        ours: Figures = [
            part.logic * self.scale,
            part.bits,
            part.bits * self.bit * self.scale,
            self.area(part),
            self.area(part) / self.lanes,
            100 * self.area(part) / self.whole,
            100 * self.area(part) / self.counted if counted else None,
        ]
        metric: Figures = [logic, bits, memory, area] if self.metric else [None, bits, None, None]
        return Row(label, [*metric, None, None, share], ours, self.digits)


def _rows(report: AsicReport, lanes: int) -> list[Row]:
    rows = _Rows(report, lanes)
    found = {label: _part(report, names) for label, names in _PARTS.items()}
    element = found[_PE]
    logic: Figures = (0.080, None, None, 0.080, _PAPER_LOGIC_SHARE)
    queues: Figures = (None, _PAPER_BITS, 1.901, 1.901, _PAPER_QUEUES_SHARE)
    rest = _Part(
        report.area - report.buffer_area - sum(part.logic for part in found.values()),
        report.memory_bits - sum(part.bits for part in found.values()),
    )
    counted = _Part(
        sum(found[label].logic for label in _COUNTED), sum(found[label].bits for label in _COUNTED)
    )
    none: Figures = (None,) * 5
    return [
        *(
            rows.row(label, part, _PAPER.get(label, none), counted=label in _COUNTED)
            for label, part in found.items()
        ),
        rows.row("control and the rest", rest, counted=False),
        rows.row("buffers of high fan-out", _Part(report.buffer_area, 0), counted=False),
        rows.row("whole", _Part(report.area, report.memory_bits), counted=False),
        rows.row(
            "processing elements and loaders",
            counted,
            (None, None, None, _PAPER_WHOLE, 100.0),
            counted=True,
        ),
        rows.row("processing elements, logic", _Part(element.logic, 0), logic, counted=True),
        rows.row("processing elements, queues", _Part(0.0, element.bits), queues, counted=True),
        *(
            rows.row(f"  {label}, logic", _Part(_part(report, name).logic, 0), counted=True)
            for label, name in _ELEMENT.items()
        ),
    ]


def matraptor_area(target: str = "cmos", *, progress: Progress = quiet, **parameters: Any) -> Table:
    """Where the area of the accelerator goes, all lanes together.

    Logic is measured. Memories are not synthesised: their area is an estimate from their bits, see
    :data:`BIT_UM2` (in a real library, whose unit is taken to be um2) and :data:`BIT_TRANSISTORS`
    (``cmos``). The papers' figures are for 28 nm and 8 lanes, their queues' bits those of one set;
    they count elements and loaders alone, so that the last column is the one to compare.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    progress: called with a line of text before synthesis
    parameters: of :class:`MatRaptorConfig`
    """
    config = MatRaptorConfig(**parameters)
    designs = {"matraptor": ("matraptor", config)}
    report = measure("matraptor-area", designs, target, progress)["matraptor"]
    unit = "transistors" if target == "cmos" else "mm2"
    columns = [
        f"logic, {unit}",
        "memory bits",
        f"memory, {unit}, estimated",
        f"area, {unit}",
        f"area of one lane's share, {unit}",
        "share, %",
        "share of elements and loaders, %",
    ]
    return Table("matraptor-area", target, columns, _rows(report, config.lanes))
