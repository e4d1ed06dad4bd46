"""Checks the job registers in hardware against the rules of the accelerator's ``JobSpec``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import groupby
from operator import and_, mul, or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ..spec.registers.job_spec import Check, Condition, JobSpec, Rule
from .states import first_failure

__all__ = ["breaks", "first_broken"]


def _above(value: Value, most: int) -> Value:
    return value > most if most < (1 << len(value)) - 1 else Const(0)


def _bits(value: Value, low: int, high: int | None = None) -> Value:
    """Returns whether any of these bits is set."""
    part = value[low:high]
    return part.any() if len(part) else Const(0)


_BREAKS: dict[Rule, Callable[[Value, Check], Value]] = {
    Rule.ONE_OF: lambda value, check: ~Cat(value == choice for choice in check.choices).any(),
    Rule.NON_ZERO: lambda value, check: value == 0,
    Rule.AT_MOST: lambda value, check: _above(value, check.number),
    Rule.BELOW: lambda value, check: _bits(value, check.number.bit_length() - 1),
    Rule.MULTIPLE_OF: lambda value, check: _bits(value, 0, check.number.bit_length() - 1),
}


def _field(spec: JobSpec, job: Any, register: str, field: str) -> Value:
    row = spec.registers[register]
    value: Value = getattr(job, row.member(row.field(field)))
    return value


def _holds(spec: JobSpec, job: Any, condition: Condition) -> Value:
    return reduce(and_, (_has(spec, job, part) for part in condition.parts))


def _has(spec: JobSpec, job: Any, part: Condition) -> Value:
    value = _field(spec, job, part.register, part.field)
    if len(value) == 1:
        return value if part.value else ~value
    return value == part.value


def _product_above(factors: Sequence[Value], most: int) -> Value:
    """Returns whether a product is above a number. It is if one factor is above the number and none
    is 0, so only as many bits as the number has are multiplied."""
    width = most.bit_length()
    one_is = reduce(or_, (_bits(factor, width) for factor in factors))
    product = reduce(mul, (factor[:width] for factor in factors))
    return (one_is | _above(product, most)) & Cat(factor.any() for factor in factors).all()


def breaks(spec: JobSpec, check: Check, job: Any) -> Value:
    """Returns whether a job breaks a rule and the rule applies to it.

    Parameters
    ----------
    job: an object with ``spec.members``
    """
    numbers = [_field(spec, job, name, "value") for name in (check.register, *check.factors)]
    if check.factors and check.rule is Rule.AT_MOST:
        broken = _product_above(numbers, check.number)
    else:
        broken = _BREAKS[check.rule](reduce(mul, numbers), check)
    return broken if check.when is None else broken & _holds(spec, job, check.when)


def first_broken(m: Module, spec: JobSpec, job: Any) -> tuple[Signal, Signal]:
    """The code (0: none) and the detail of the first of ``spec.checks`` that a job breaks.

    Parameters
    ----------
    job: an object with ``spec.members``
    """
    causes = []
    for (register, error), same in groupby(
        spec.checks, lambda check: (check.register, check.error)
    ):
        broken = reduce(or_, (breaks(spec, check, job) for check in same))
        causes.append((broken, spec.code(error), spec.registers[register].offset))
    return first_failure(m, spec, "wrong", causes)
