"""A product taken out of a sum: ``sum of B (A C)`` over lanes is ``B (sum of A C)``.

The thesis changed generated code by hand for it (section 3.5.2), in MTTKRP and TTMc, and counted
the multiplications that are not done any more. Floats are rounded otherwise than without it.
"""

from __future__ import annotations

from dataclasses import replace

from ...spec.t2s.expressions import Apply, Fold, Name, Neutral, Value
from ...spec.t2s.program import Program
from ..language import Computation, MappingError
from .definition import product_of
from .rewriting import revalue

__all__ = ["DISTRIBUTING", "factor"]

DISTRIBUTING = ("mma", "minplus", "maxplus", "minmax", "maxmin", "orand")
"""Semirings whose (x) distributes over (+), whatever the words are."""


def factor(program: Program, computation: Computation) -> Program:
    """Follow every ``factor``."""
    taken = [tensor for tensor, _ in computation.factored]
    if not taken:
        return program
    _check(computation)

    def change(value: Value) -> Value | None:
        if not isinstance(value, Fold):
            return None
        factors = _factors(value.vector)
        outer = [one for one in factors if _tensor(one) in taken]
        inner = [one for one in factors if one not in outer]
        partial = Fold(Neutral(), product_of(inner))
        return Apply("plus", (value.start, product_of([*outer, partial])))

    return program.with_function(
        computation.name, lambda one: replace(one, body=revalue(one.body, change))
    )


def _tensor(value: Value) -> str | None:
    """Of which a value is a word, or a function of it."""
    while isinstance(value, Apply) and len(value.arguments) == 1:
        value = value.arguments[0]
    return value.name if isinstance(value, Name) else None


def _factors(value: Value) -> list[Value]:
    if isinstance(value, Apply) and value.operator == "times":
        return [found for one in value.arguments for found in _factors(one)]
    return [value]


def _check(computation: Computation) -> None:
    for tensor, place in computation.factored:
        directive = f"{place}: {computation.name}.factor"
        if computation.semiring not in DISTRIBUTING:
            raise MappingError(
                f"{directive}: semiring must be one of {', '.join(DISTRIBUTING)}, not "
                f"{computation.semiring}"
            )
        if not computation.vectorised:
            raise MappingError(f"{directive}: no loop is vectorised")
        loop = computation.loop(computation.vectorised[0])
        if not loop.reduces:
            raise MappingError(f"{directive}: loop `{loop.name}` is not summed over")
        if loop.name in computation.loops_of(tensor):
            raise MappingError(f"{directive}: loop `{loop.name}` chooses the element of {tensor}")
