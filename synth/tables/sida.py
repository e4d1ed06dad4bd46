"""Area of SIDA by part beside its paper's."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.sida import SidaConfig

from ..report import AsicReport
from .measure import Progress, measure, quiet
from .parts import Areas, Part, area_columns, part_of, whole_of
from .table import Figures, Row, Table

__all__ = ["SMALL", "sida_area"]

SMALL: dict[str, Any] = {
    "pes": 4, "subtensor": 16, "buffer_words": 1024, "vector_words": 256, "channels": 2,
    "data_bits": 64, "outstanding": 8, "program_words": 32,
}  # fmt: skip
"""Default parameters of the table; the unit's defaults take much longer."""

_PARTS = {
    "columns from memory": ("column_loader",),
    "rows from memory again": ("row_loader",),
    "x and z, and who reads them": ("gather",),
    "sums of columns, both products": ("both_sums",),
    "elements that wait, and w": ("held_elements",),
    "element-wise core": ("ewise_core", "row_packer", "sum_rows", "scalar_port"),
    "vectors and programs from and to memory": (
        "vector_loader", "vector_writer", "program_loader",
    ),
    "registers, control and counters": (
        "axi_lite_registers", "control", "pass_control", "counters",
    ),
}  # fmt: skip
"""Components, none of which contains another one."""

_BUFFERS = ("x and z, and who reads them", "elements that wait, and w")

_PAPER_WHOLE, _PAPER_BUFFER = 348.0, 200.0
"""mm2 scaled to 8 nm, of two cores of 1,024 elements and 64 MB: section on area."""


def _rows(report: AsicReport) -> list[Row]:
    parts = {label: part_of(report, names) for label, names in _PARTS.items()}
    buffers = Part(report.buffer_area)
    whole = whole_of(report)
    rest = whole - sum(parts.values(), buffers)
    memories = sum((parts[label].without_logic() for label in _BUFFERS), Part())
    areas = Areas(report, [whole])
    digits = (3, 0, 3, 3, 2) if areas.metric else (0, 0, 0, 0, 2)

    def row(label: str, part: Part, paper: tuple[float | None, float | None]) -> Row:
        theirs: Figures = [None, None, None, paper[0] if areas.metric else None, paper[1]]
        return Row(label, theirs, areas.figures(part), digits)

    nothing = (None, None)
    return [
        *(row(label, part, nothing) for label, part in parts.items()),
        row("interconnect and control", rest, nothing),
        *([row("buffers of high fan-out", buffers, nothing)] if report.timing_by else []),
        row("whole", whole, (_PAPER_WHOLE, 100.0)),
        row(
            "of this memories of vectors and of what waits",
            memories,
            (_PAPER_BUFFER, 100 * _PAPER_BUFFER / _PAPER_WHOLE),
        ),
    ]


def sida_area(
    target: str = "cmos", *, full: bool = False, progress: Progress = quiet, **parameters: Any
) -> Table:
    """Breaks down the area of the accelerator by part.

    Logic is measured. Memories are not synthesised: their area is an estimate by their shape, see
    :mod:`..memories`. The paper's figures are for an 8 nm process, 1,024
    elements a core and 64 MB: only its shares can be compared.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    full: the default configuration, and not :data:`SMALL`; its modules are not put together, so
        that buffers of nets that cross them are left out
    progress: called with a line of text before synthesis
    parameters: of :class:`SidaConfig`, in place of those
    """
    config = SidaConfig(**{**({} if full else SMALL), **parameters})
    found = measure("sida-area", {"sida": ("sida", config)}, target, progress, together=not full)
    columns = area_columns(target, "share, %")
    return Table("sida-area", target, columns, _rows(found["sida"]))
