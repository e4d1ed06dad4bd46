"""Checks the job registers in software against the rules of the accelerator's ``JobSpec``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from ...hw.spec.registers.job_spec import Check, Condition, JobSpec, Rule

__all__ = ["breaks", "counts", "first_broken"]

_BREAKS: dict[Rule, Callable[[int, Check], bool]] = {
    Rule.ONE_OF: lambda value, check: value not in check.choices,
    Rule.NON_ZERO: lambda value, check: value == 0,
    Rule.AT_MOST: lambda value, check: value > check.number,
    Rule.BELOW: lambda value, check: value >= check.number,
    Rule.MULTIPLE_OF: lambda value, check: value % check.number != 0,
}


def counts(spec: JobSpec, when: Condition | None, values: Mapping[str, int]) -> bool:
    """Returns whether a rule with a condition applies to a job, see :func:`first_broken`."""
    if when is None:
        return True
    return all(
        spec.registers[part.register].get(values[part.register], part.field) == part.value
        for part in when.parts
    )


def breaks(spec: JobSpec, check: Check, values: Mapping[str, int]) -> bool:
    """Returns whether a rule applies to a job and the job breaks it; see :func:`first_broken`."""
    number = prod(values[name] for name in (check.register, *check.factors))
    return counts(spec, check.when, values) and _BREAKS[check.rule](number, check)


def first_broken(spec: JobSpec, values: Mapping[str, int]) -> Check | None:
    """The first rule that a job breaks; None if it may run.

    Parameters
    ----------
    values: of the job's registers, by name
    """
    return next((check for check in spec.checks if breaks(spec, check, values)), None)
