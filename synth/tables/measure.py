"""Measuring the designs of a table, one after the other, in one flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tilewright.hw.spec.unit import Unit

from ..flow import synthesize, synthesize_verilog
from ..report import AsicReport, ModuleArea
from ..targets import target_library

if TYPE_CHECKING:
    from amaranth.lib.wiring import Component

__all__ = [
    "Progress",
    "cycle_time",
    "measure",
    "measure_component",
    "part_area",
    "part_memory",
    "quiet",
]

Progress = Callable[[str], None]


def quiet(line: str) -> None:
    """Progress that nobody looks at."""


def measure(
    table: str,
    designs: Mapping[str, tuple[Unit | str, Any]],
    target: str,
    progress: Progress,
    *,
    together: bool = True,
    period: float | None = None,
) -> dict[str, AsicReport]:
    """Synthesize the designs, label -> (unit, configuration), for standard cells; ``together``: see
    ``synthesize_verilog``. Mapped for area, or with a ``period`` in ns as the smallest ones that
    are found to meet it.

    ``progress`` is called with a line of text before each. Raises ValueError for another target.
    """
    if target_library(target) is None:
        raise ValueError(f"table {table} needs target cmos or liberty:FILE, not {target!r}")
    reports: dict[str, AsicReport] = {}
    how: dict[str, Any] = {"effort": "speed", "period": period} if period else {}
    for label, (unit, config) in designs.items():
        progress(f"{label}: {len(reports) + 1} of {len(designs)}")
        report = synthesize(unit, config, target, together=together, **how)
        assert isinstance(report, AsicReport)
        reports[label] = report
    return reports


def measure_component(
    name: str, component: Component, target: str, *, together: bool = True
) -> AsicReport:
    """Synthesizes a component that is not a unit, for standard cells; see :func:`measure`.

    ``name``: of its module; those inside are ``name_...``.
    """
    from tilewright.hw.emit.unit import emit_component

    emitted = emit_component(component, name=name)
    report = synthesize_verilog(emitted.verilog, name, target, together=together)
    assert isinstance(report, AsicReport)
    return report


def cycle_time(report: AsicReport) -> float:
    """The critical path in ns; 0 for a design without any."""
    return report.path.ns if report.path else 0.0


def _modules(report: AsicReport, name: str) -> list[ModuleArea]:
    prefix = f"{report.unit}_{name}"
    return [
        m for m in report.modules
        if m.name == prefix or m.name.removeprefix(prefix + "_").isdigit()
    ]  # fmt: skip


def part_area(report: AsicReport, name: str) -> tuple[float, int]:
    """Area of one instance of the modules of a component, inner ones included, and how many."""
    found = _modules(report, name)
    count = sum(m.instances for m in found)
    return sum(m.whole * m.instances for m in found) / max(count, 1), count


def part_memory_area(report: AsicReport, name: str) -> float:
    """Area of the large memories in all instances of a component."""
    return sum(m.memory_area * m.instances for m in _modules(report, name))


def part_memory(report: AsicReport, name: str) -> int:
    """Bits of the large memories in all instances of a component."""
    return sum(m.memory_bits * m.instances for m in _modules(report, name))
