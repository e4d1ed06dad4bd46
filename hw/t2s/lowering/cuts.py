"""Cuts of a run into periods: who takes part in one, and which loops are left within it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from ...spec.t2s.design import Copy
from ...spec.t2s.parts import Count
from ...spec.t2s.periods import element_loops, functions_behind, plain_name, walked_loops
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import For
from .queues import named, packed_along
from .transfers import Unaligned, count_of

__all__ = ["Cuts", "Iteration", "Kind"]


@dataclass(frozen=True)
class Iteration:
    """Iteration of a loop.

    Parameters
    ----------
    value: its number, where something depends on it
    first, last: whether it is that
    """

    value: int | None
    first: bool
    last: bool


Kind = Mapping[str, Iteration]
"""Iterations in a period of the loops that cut the run, by their names."""


class Cuts:
    """Loops of a program that cut its run, and those that do not.

    Parameters
    ----------
    cut: names of those that do
    trips: trip counts of others that registers have, by name; 1 of those that are not there
    """

    def __init__(self, program: Program, cut: tuple[str, ...], trips: Mapping[str, int]) -> None:
        self._cut, self._trips = cut, trips
        self._names = [one.name for one in element_loops(program)]
        self._behind = functions_behind(program)
        functions = [one for one in program.functions if not one.host]
        self._walked = {
            function.name: {plain_name(one.name, self._names) for one in walked_loops(function)}
            for function in functions
        }
        self._packed = {one.name: packed_along(one) for one in functions}

    def plain(self, loop: For) -> str:
        """Its name, or that of the loop whose turns it counts."""
        return plain_name(loop.loop.name, self._names)

    def takes_part(self, function: Function, copy: Copy, kind: Kind) -> bool:
        """Tells whether a copy does anything in a period.

        One that does without a loop brings words before its first iteration, or takes them after
        its last; so does one that packs vectors of all copies along it. Others that are unrolled
        have an iteration each, but for those that count turns.
        """
        given = named(function, copy.place)
        for name, iteration in kind.items():
            if name in self._walked[function.name]:
                continue
            if name in given and name != self._packed[function.name]:
                if iteration.value != given[name]:
                    return False
            elif not (iteration.last if function.name in self._behind else iteration.first):
                return False
        return True

    def inner(self, loops: tuple[For, ...]) -> tuple[Count, ...]:
        """Those that do not cut the run. Raises Unaligned if they do not stand within those that
        do; loops of one iteration may stand anywhere."""
        cut = [self.plain(one) in self._cut for one in loops]
        order = [cuts for one, cuts in zip(loops, cut, strict=True) if one.loop.extent != 1]
        if sorted(order, reverse=True) != order:
            names = ", ".join(one.loop.name for one in loops)
            raise Unaligned(f"periods are not the outer loops of {names}")
        return tuple(count_of(one) for one, cuts in zip(loops, cut, strict=True) if not cuts)

    def words(self, nest: Iterable[Count]) -> int:
        """Iterations of loops within each other."""
        return prod(
            self._trips.get(one.name, 1) if one.extent is None else one.extent for one in nest
        )
