"""Values that break one rule of an accelerator's jobs each, for benches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from math import prod

from tilewright.hw.spec.registers.job_spec import Check, JobSpec, Rule


def _above(check: Check, step: int) -> int:
    """The least multiple of ``step`` that is too large."""
    least = check.number + (check.rule is Rule.AT_MOST)
    return -(-least // step) * step


def _of_register(check: Check, job: Mapping[str, int]) -> Check:
    """The same rule for its register's number alone, the factors being those of a job."""
    times = prod(job.get(name, 0) for name in check.factors)
    return replace(check, number=check.number // times, factors=()) if check.factors else check


_WRONG: dict[Rule, Callable[[Check, int, int], int]] = {
    Rule.ONE_OF: lambda check, value, step: next(n for n in count() if n not in check.choices),
    Rule.NON_ZERO: lambda check, value, step: 0,
    Rule.AT_MOST: lambda check, value, step: _above(check, step),
    Rule.BELOW: lambda check, value, step: _above(check, step),
    Rule.MULTIPLE_OF: lambda check, value, step: value + check.number // 2,
}
"""Functions that return a wrong value from a rule, the register's value in a job that obeys all
rules, and a number that divides that value."""


def wrong_values(spec: JobSpec, job: Mapping[str, int]) -> dict[Check, int]:
    """Returns for every rule that applies to a job a value of its register that breaks only this
    rule.

    A rule that no value of its register breaks is left out.

    Parameters
    ----------
    job: registers, by name, none of which breaks a rule; 0 stands for those that are not there
    """
    valid = [check for check in spec.checks if _counts(spec, check, job)]
    steps: dict[str, int] = {}
    for check in valid:
        if check.rule is Rule.MULTIPLE_OF:
            steps[check.register] = max(steps.get(check.register, 1), check.number)
    found = {}
    for check in valid:
        value = job.get(check.register, 0)
        wrong = _WRONG[check.rule](_of_register(check, job), value, steps.get(check.register, 1))
        fits = not wrong >> spec.registers[check.register].field("value").width
        if fits and (wrong != value or check.rule is Rule.NON_ZERO):
            found[check] = wrong
    return found


def _counts(spec: JobSpec, check: Check, job: Mapping[str, int]) -> bool:
    parts = check.when.parts if check.when else ()
    return all(
        spec.registers[part.register].get(job.get(part.register, 0), part.field) == part.value
        for part in parts
    )
