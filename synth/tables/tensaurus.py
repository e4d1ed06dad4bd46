"""Area of Tensaurus by part beside its paper's."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.tensaurus import TensaurusConfig

from ..report import AsicReport
from .measure import Progress, measure, quiet
from .parts import Areas, Part, area_columns, part_of, whole_of
from .table import Figures, Row, Table

__all__ = ["SMALL", "tensaurus_area"]

SMALL: dict[str, Any] = {
    "rows": 2, "cols": 2, "vlen": 2, "channels": 2, "data_bits": 64, "spm_bytes": 1024, "banks": 2,
    "out_bytes": 2048, "outstanding": 4,
}  # fmt: skip
"""Default parameters of the table; the unit's defaults take much longer."""

_PARTS = {
    "processing elements": ("processing_element",),
    "rows: decoders, heads, operand windows": ("row",),
    "crossbars and their arbiters": ("scratchpad", "wave_arbiter"),
    "scratchpads": ("scratchpad",),
    "matrix store unit": ("matrix_store",),
    "tensor load unit": ("tensor_loader",),
    "matrix load unit": ("matrix_loader",),
    "list of tiles": ("tile_fetcher",),
    "bus, one reader after the other": ("read_interconnect",),
    "registers, control and counters": ("axi_lite_registers", "control", "counters"),
}
"""Components. The logic of a scratchpad is its crossbar, its memories are the scratchpad."""

_LOGIC_ALONE, _MEMORY_ALONE = "crossbars and their arbiters", "scratchpads"

_PAPER = {
    "processing elements": (0.625, 27.2),
    "crossbars and their arbiters": (0.066, 2.8),
    "scratchpads": (0.832, 36.2),
    "matrix store unit": (0.759, 33.0),
    "tensor load unit": (0.009, 0.4),
    "matrix load unit": (0.009, 0.4),
}
"""Table 4.2: mm2 in 28 nm, and share. Each loader's is that of a processing element."""

_PAPER_BITS = {
    "scratchpads": (7 * 2 * 16 + 2 * 32) * 1024 * 8,
    "matrix store unit": 2 * 128 * 1024 * 8,
}
"""Its double buffers: seven of 2 x 16 KiB and that of column 0, of 2 x 32 KiB; of 2 x 128 KiB."""

_PAPER_WHOLE = 2.3


def _part(report: AsicReport, label: str) -> Part:
    found = part_of(report, _PARTS[label])
    if label == _LOGIC_ALONE:
        return Part(found.logic)
    return found.without_logic() if label == _MEMORY_ALONE else found


def _rows(report: AsicReport) -> list[Row]:
    parts = {label: _part(report, label) for label in _PARTS}
    counted = sum((parts[label] for label in _PAPER), Part())
    buffers = Part(report.buffer_area)
    whole = whole_of(report)
    rest = whole - sum(parts.values(), buffers)
    areas = Areas(report, [counted])
    digits = (3, 0, 3, 3, 2, 2) if areas.metric else (0, 0, 0, 0, 2, 2)

    def row(
        label: str,
        part: Part,
        paper: tuple[float | None, float | None] = (None, None),
        bits: int | None = None,
    ) -> Row:
        ours: Figures = [
            *areas.figures(part),
            None if paper[1] is None else areas.counted_share(part),
        ]
        theirs: Figures = [None, bits, None, paper[0] if areas.metric else None, None, paper[1]]
        return Row(label, theirs, ours, digits)

    return [
        *(
            row(label, part, _PAPER.get(label, (None, None)), _PAPER_BITS.get(label))
            for label, part in parts.items()
        ),
        row("interconnect and control", rest),
        *([row("buffers of high fan-out", buffers)] if report.timing_by else []),
        row("whole", whole),
        row("what the paper counts", counted, (_PAPER_WHOLE, 100.0), sum(_PAPER_BITS.values())),
    ]


def tensaurus_area(
    target: str = "cmos", *, full: bool = False, progress: Progress = quiet, **parameters: Any
) -> Table:
    """Breaks down the area of the accelerator by part.

    Logic is measured. Memories are not synthesised: their area is an estimate by their shape, see
    :mod:`..memories`. The paper's figures are for 28 nm and 8 x 8 elements
    of 4 values.

    Parameters
    ----------
    target: ``cmos`` or ``liberty:FILE``
    full: the default configuration, which is the paper's, and not :data:`SMALL`; its modules are
        not put together, so that buffers of nets that cross them are left out
    progress: called with a line of text before synthesis
    parameters: of :class:`TensaurusConfig`, in place of those
    """
    config = TensaurusConfig(**{**({} if full else SMALL), **parameters})
    designs = {"tensaurus": ("tensaurus", config)}
    found = measure("tensaurus-area", designs, target, progress, together=not full)
    report = found["tensaurus"]
    columns = area_columns(target, "share, %", "share of what the paper counts, %")
    return Table("tensaurus-area", target, columns, _rows(report))
