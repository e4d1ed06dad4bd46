"""A made-up report of synthesis, whose figures are easy to add up; and figures of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.synth.memories.report import MemoryReport
from tilewright.synth.report import AsicReport, ModuleArea
from tilewright.synth.tables import Table

BIT_AREA = 6.0
"""Area of each bit of its memories."""


def made_up(
    unit: str,
    target: str,
    parts: Mapping[str, tuple[int, float, int]],
    *,
    area: float,
    memory_bits: int,
    buffer_area: float,
    config: Mapping[str, Any] | None = None,
) -> AsicReport:
    """A report.

    Parameters
    ----------
    parts: of each module instances, area of its logic with everything below it, memory bits
    area, memory_bits, buffer_area: of the whole
    """
    modules = tuple(
        ModuleArea(
            name=f"{unit}_{name}", instances=n, combinational=logic, sequential=0.0,
            flip_flops=0, total=n * logic, whole=logic, memory_bits=bits,
            memory_area=BIT_AREA * bits,
        )
        for name, (n, logic, bits) in parts.items()
    )  # fmt: skip
    memory = MemoryReport(
        name="memory", instances=1, bits=memory_bits, total=memory_bits, area=BIT_AREA * memory_bits
    )
    return AsicReport(
        unit=unit, target=target, config=dict(config or {}), library="made up",
        area_unit="of some kind", area=area, combinational=area - buffer_area, sequential=0.0,
        buffer_area=buffer_area, buffers=5, nand2_equivalents=1.0, transistors=None, flip_flops=7,
        cells=9, modules=modules, path=None, fo4_ns=1.0, timing_by="hand",
        memory_bits=memory_bits, memories=(memory,), memory_area=BIT_AREA * memory_bits,
    )  # fmt: skip


def ours_of(table: Table, label: str) -> list[float]:
    """Our figures of a row, those that there are not as 0."""
    (row,) = (row for row in table.rows if row.label == label)
    return [x or 0.0 for x in row.ours]
