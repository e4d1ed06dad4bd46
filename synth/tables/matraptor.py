"""Area of MatRaptor by part beside its paper's."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.matraptor import MatRaptorConfig

from ..report import AsicReport
from .measure import Progress, measure, quiet
from .parts import Areas, Part, area_columns, area_unit, part_of, whole_of
from .table import Figures, Row, Table

__all__ = ["matraptor_area"]

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


class _Rows:
    """Rows of one report."""

    def __init__(self, report: AsicReport, lanes: int) -> None:
        self.areas = Areas(report, (part_of(report, _PARTS[label]) for label in _COUNTED))
        self.digits = (3, 0, 3, 3, 4, 2, 2) if self.areas.metric else (0, 0, 0, 0, 0, 2, 2)
        self.lanes = lanes

    def row(self, label: str, part: Part, paper: Figures = (None,) * 5, *, counted: bool) -> Row:
        logic, bits, memory, area, share = paper
        *figures, of_whole = self.areas.figures(part)
        of_counted = self.areas.counted_share(part) if counted else None
        ours: Figures = [*figures, figures[-1] / self.lanes, of_whole, of_counted]
        metric: Figures = [logic, bits, memory, area]
        if not self.areas.metric:
            metric = [None, bits, None, None]
        return Row(label, [*metric, None, None, share], ours, self.digits)


def _rows(report: AsicReport, lanes: int) -> list[Row]:
    rows = _Rows(report, lanes)
    found = {label: part_of(report, names) for label, names in _PARTS.items()}
    element = found[_PE]
    logic: Figures = (0.080, None, None, 0.080, _PAPER_LOGIC_SHARE)
    queues: Figures = (None, _PAPER_BITS, 1.901, 1.901, _PAPER_QUEUES_SHARE)
    buffers = Part(report.buffer_area)
    rest = whole_of(report) - sum(found.values(), buffers)
    counted = sum((found[label] for label in _COUNTED), Part())
    none: Figures = (None,) * 5
    return [
        *(
            rows.row(label, part, _PAPER.get(label, none), counted=label in _COUNTED)
            for label, part in found.items()
        ),
        rows.row("control and the rest", rest, counted=False),
        rows.row("buffers of high fan-out", buffers, counted=False),
        rows.row("whole", whole_of(report), counted=False),
        rows.row(
            "processing elements and loaders",
            counted,
            (None, None, None, _PAPER_WHOLE, 100.0),
            counted=True,
        ),
        rows.row("processing elements, logic", Part(element.logic), logic, counted=True),
        rows.row("processing elements, queues", element.without_logic(), queues, counted=True),
        *(
            rows.row(f"  {label}, logic", Part(part_of(report, name).logic), counted=True)
            for label, name in _ELEMENT.items()
        ),
    ]


def matraptor_area(target: str = "cmos", *, progress: Progress = quiet, **parameters: Any) -> Table:
    """Breaks down the area of the accelerator by part, all lanes together.

    Logic is measured. Memories are not synthesised: their area is an estimate by their shape, see
    :mod:`..memories`. The papers' figures are for 28 nm and 8 lanes, their queues'
    bits those of one set; they count elements and loaders alone, so that the last column is the one
    to compare.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    progress: called with a line of text before synthesis
    parameters: of :class:`MatRaptorConfig`
    """
    config = MatRaptorConfig(**parameters)
    designs = {"matraptor": ("matraptor", config)}
    report = measure("matraptor-area", designs, target, progress)["matraptor"]
    columns = area_columns(
        target,
        f"area of one lane's share, {area_unit(target)}",
        "share, %",
        "share of elements and loaders, %",
    )
    return Table("matraptor-area", target, columns, _rows(report, config.lanes))
