"""Parts of an accelerator in a table of areas: logic is measured, memories are estimated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..report import AsicReport
from .measure import part_area, part_memory, part_memory_area

__all__ = ["Areas", "Part", "area_columns", "area_unit", "part_of", "whole_of"]


def area_unit(target: str) -> str:
    """Returns the unit of a table's areas."""
    return "transistors" if target == "cmos" else "mm2"


def area_columns(target: str, *shares: str) -> list[str]:
    """Returns the columns of a table of :meth:`Areas.figures`, followed by the shares."""
    unit = area_unit(target)
    return [
        f"logic, {unit}",
        "memory bits",
        f"memory, {unit}, estimated",
        f"area, {unit}",
        *shares,
    ]


@dataclass(frozen=True)
class Part:
    """Area of the logic, and bits and area of the memories, of all instances of a part."""

    logic: float = 0.0
    bits: int = 0
    memory: float = 0.0

    def __add__(self, other: Part) -> Part:
        return Part(self.logic + other.logic, self.bits + other.bits, self.memory + other.memory)

    def __sub__(self, other: Part) -> Part:
        return Part(self.logic - other.logic, self.bits - other.bits, self.memory - other.memory)

    def without_logic(self) -> Part:
        return replace(self, logic=0.0)


def part_of(report: AsicReport, names: str | Sequence[str]) -> Part:
    """All instances of a component, or of several that do not contain each other."""
    each = [names] if isinstance(names, str) else names
    areas = [part_area(report, name) for name in each]
    bits = sum(part_memory(report, name) for name in each)
    memory = sum(part_memory_area(report, name) for name in each)
    return Part(sum(area * count for area, count in areas), bits, memory)


def whole_of(report: AsicReport) -> Part:
    """The whole design."""
    return Part(report.area, report.memory_bits, report.memory_area)


class Areas:
    """Areas of the parts of a report, in mm2 (of a library whose unit is taken to be um2) or in
    transistors (``cmos``).

    Parameters
    ----------
    report: of the whole
    counted: the parts that a paper counts

    Members
    -------
    metric: in mm2
    scale: of the library's unit in the table's
    whole, counted: area of everything, and of the parts that the paper counts
    """

    def __init__(self, report: AsicReport, counted: Iterable[Part]) -> None:
        self.metric = report.target != "cmos"
        self.scale = 1e-6 if self.metric else 1.0
        self.whole = self.area(whole_of(report))
        self.counted = sum(map(self.area, counted))

    def area(self, part: Part) -> float:
        return (part.logic + part.memory) * self.scale

    def figures(self, part: Part) -> list[float]:
        """Logic, memory bits, area of these, area, and its share of the whole in percent."""
        return [
            part.logic * self.scale,
            part.bits,
            part.memory * self.scale,
            self.area(part),
            100 * self.area(part) / self.whole,
        ]

    def counted_share(self, part: Part) -> float:
        """Returns a part's share, in percent, of the area that the paper counts."""
        return 100 * self.area(part) / self.counted
