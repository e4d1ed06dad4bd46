"""Counters of a function after all passes: what it has to know of where it is in its loops."""

from __future__ import annotations

from typing import NamedTuple

from ....spec.t2s.network import COPIES_BITS
from ....spec.t2s.program import Function
from ....spec.t2s.statements import Counted, For, Phases
from ..rewriting import all_statements

__all__ = ["Counter", "counters"]


class Counter(NamedTuple):
    """Counter of a copy of a function.

    Members
    -------
    name: of the loop, or of neighbours that have it together
    bits: width; None, if its trip count is that of a register
    """

    name: str
    bits: int | None


def counters(function: Function) -> tuple[Counter, ...]:
    """Returns the counters of a copy, outermost first, and last those that count concurrently."""
    found: list[Counter] = []
    for one in (*all_statements(function.body), *all_statements(function.beside)):
        if isinstance(one, For) and one.first is not None:
            found.append(Counter(one.loop.name, COPIES_BITS))
        elif isinstance(one, For):
            extent = one.loop.extent
            found.append(Counter(one.loop.name, extent and (extent - 1).bit_length()))
        elif isinstance(one, Counted):
            found += [Counter(field.name, field.bits) for field in one.fields]
        elif isinstance(one, Phases):
            found.append(Counter(one.name, (one.extent - 1).bit_length()))
    return tuple(found)
