"""Units accept and refuse the values that handwritten tables list, and some row of a table covers
every rule of jobs and every range of a parameter."""

from __future__ import annotations

import pytest
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries
from tilewright.verif.conformance.limits import (
    Limits,
    all_named,
    changed_parameters,
    changed_rules,
    parameter_complaints,
    range_complaints,
    rule_complaints,
)
from tilewright.verif.conformance.recorded import accelerators

pytestmark = pytest.mark.quick

TABLES = [name for name, entry in entries().items() if entry.limits]


def table(name: str) -> Limits:
    """The table of a unit."""
    found: Limits = named_object(entries()[name].limits)
    return found


def test_every_unit_has_a_table() -> None:
    assert [*entries()] == TABLES


@pytest.mark.parametrize("name", TABLES)
def test_parameters(name: str) -> None:
    unit, limits = entries()[name].unit, table(name)
    assert all_named(limits, unit)
    assert parameter_complaints(limits, unit.config) == []


@pytest.mark.parametrize("name", TABLES)
def test_every_change_of_a_range_is_found(name: str) -> None:
    changes = list(changed_parameters(entries()[name].unit.config))
    missed = [what for what, *one in changes if not range_complaints(table(name), *one)]
    print(f"{len(changes)} changes of ranges")
    assert missed == []


@pytest.mark.parametrize("name", accelerators())
def test_rules_of_jobs(name: str) -> None:
    """Accepts the rules as they are, and finds each changed rule wrong."""
    entry, limits = entries()[name], table(name)
    spec = entry.unit.job_spec(entry.unit.config(**{**entry.small, **limits.config}))
    assert list(rule_complaints(limits, spec)) == []
    changes = list(changed_rules(spec))
    print(f"{len(changes)} changes of {len(spec.checks)} rules")
    missed = [
        what
        for what, register, changed in changes
        if next(rule_complaints(limits, changed, register), None) is None
    ]
    assert missed == []
