"""Every accelerator that is registered: its hardware and its page have what its JobSpec says."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.hw.spec.unit import Unit
from tilewright.registry import entries, systems
from tilewright.verif.kit.commands import unused_components
from tilewright.verif.kit.pages import (
    documented_errors,
    documented_registers,
    error_rows,
    page,
    register_rows,
)

ACCELERATORS = {name: entry for name, entry in entries().items() if entry.unit.jobs}


def _page(unit: Unit) -> str:
    """Returns the first page of a unit's system that has a section "Registers"."""
    return next(
        name
        for system in systems()
        if unit in (entry.unit for entry in system.entries)
        for name in system.pages
        if "## Registers\n" in page(name).read_text()
    )


@pytest.mark.parametrize("name", ACCELERATORS)
def test_the_hardware_has_these_registers(name: str) -> None:
    entry = ACCELERATORS[name]
    with unused_components():
        component: Any = entry.unit.build(entry.small_config)
        assert component.register_map == entry.unit.job_spec(entry.small_config).registers
        del component


@pytest.mark.parametrize("name", ACCELERATORS)
def test_the_page_says_the_same(name: str) -> None:
    unit = ACCELERATORS[name].unit
    spec = unit.job_spec(unit.config())
    assert documented_registers(page(_page(unit))) == register_rows(spec.registers)
    assert documented_errors(page(_page(unit))) == error_rows(spec.errors)


def test_a_unit_without_jobs() -> None:
    with pytest.raises(ValueError, match=r"^m3xu takes no jobs$"):
        entries()["m3xu"].unit.job_spec(None)
