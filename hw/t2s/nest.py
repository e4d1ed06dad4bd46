"""Counters of a nest of loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import reduce
from math import prod
from operator import and_
from typing import Any

from amaranth.hdl import Const, Module, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.t2s.design import COPIES_BITS
from ..spec.t2s.loops import grouped
from ..spec.t2s.parts import Count

__all__ = ["Nest", "NestCounter", "nest_inputs"]


def nest_inputs(nest: Iterable[Count], trip_bits: int) -> dict[str, Any]:
    """Members by which a nest is told its trip counts, where they are not constants:
    ``trips_<name>``, at least 1, and ``copies``. They must not change within a nest."""
    found: dict[str, Any] = {}
    for one in nest:
        if one.turn:
            found["copies"] = In(COPIES_BITS)
        elif one.from_register:
            found[f"trips_{one.name}"] = In(trip_bits)
    return found


class NestCounter(wiring.Component):
    """Counts through a nest of loops, an iteration at a time, and restarts when it ends.

    One iteration a cycle; outputs are of the iteration that ``advance`` ends. Loops of one
    iteration have no counter. Neighbours of constant trip counts have one together, where nothing
    is asked about any of them.

    Parameters
    ----------
    nest: loops, outermost first; at most one is a turn
    trip_bits: width of trip counts that are no constants
    values, firsts, lasts: loops that are asked about
    ends: whether there is ``last``

    Members
    -------
    advance: in; this iteration ends with the cycle
    trips_<name>, copies: in; see ``nest_inputs``
    value_<name>: out; iterations of the loop before this one
    first_<name>, last_<name>: out; whether this is the loop's first, its last iteration
    own: out, if one is a turn; whether it is this copy's
    last: out; all loops are in their last iterations, and a turn in this copy's own
    """

    def __init__(
        self,
        nest: Iterable[Count],
        trip_bits: int,
        *,
        values: Collection[str] = (),
        firsts: Collection[str] = (),
        lasts: Collection[str] = (),
        ends: bool = False,
    ) -> None:
        loops = tuple(one for one in nest if one.extent != 1)
        self._trip_bits = trip_bits
        self._asked = {"value": values, "first": firsts, "last": lasts}
        self._ends = ends
        self._counted = _together(loops, {*values, *firsts, *lasts})
        outputs: dict[str, Any] = {}
        for one in self._counted:
            shapes = {"value": _shape(one, trip_bits), "first": 1, "last": 1}
            for what, shape in shapes.items():
                if one.name in self._asked[what]:
                    outputs[f"{what}_{one.name}"] = Out(shape)
        if any(one.turn for one in loops):
            outputs["own"] = Out(1)
        if ends:
            outputs["last"] = Out(1)
        super().__init__({"advance": In(1), **nest_inputs(loops, trip_bits), **outputs})

    @property
    def counted(self) -> tuple[Count, ...]:
        """Loops that have a counter each, outermost first."""
        return self._counted

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ends: list[Value] = []
        step: Value = self.advance
        for one in reversed(self._counted):
            if one is not self._counted[-1]:
                onward = Signal(name=f"step_{one.name}")
                m.d.comb += onward.eq(step)
                step = onward
            own, last = self._counter(m, one, step)
            ends.insert(0, own)
            step = step & last
        if self._ends:
            m.d.comb += self.last.eq(_all_of(ends))
        return m

    def _counter(self, m: Module, one: Count, step: Value) -> tuple[Value, Value]:
        """Builds the counter of a loop; returns when it ends for this copy, and when it ends."""
        count = Signal(_shape(one, self._trip_bits), name=f"count_{one.name}")
        last = Signal(name=f"{one.name}_is_last")
        following: Value = count + 1
        if one.from_register:
            # One adder for the next count and for its end.
            following = Signal(self._trip_bits + 1, name=f"next_{one.name}")
            m.d.comb += following.eq(count + 1)
            m.d.comb += last.eq(following == getattr(self, f"trips_{one.name}"))
        elif one.turn:
            m.d.comb += last.eq(count == self.copies)
        else:
            m.d.comb += last.eq(count == (one.extent or 1) - 1)
        with m.If(step):
            m.d.sync += count.eq(following)
            if one.extent is None or one.extent & (one.extent - 1):
                with m.If(last):
                    m.d.sync += count.eq(0)
        own: Value = last
        if one.turn:
            own = last if one.own_last else count == 0
            m.d.comb += self.own.eq(own)
        outputs = {"value": count, "first": count == 0, "last": last}
        for what, found in outputs.items():
            if one.name in self._asked[what]:
                m.d.comb += getattr(self, f"{what}_{one.name}").eq(found)
        return own, last


class Nest:
    """A nest of loops in a component that has its ``nest_inputs``: a counter, if it needs one.

    Parameters
    ----------
    m, name: the module, and what the counter is called in it
    parent: the component
    loops: outermost first
    advance: an iteration ends with the cycle
    values, firsts, lasts, ends: what is asked, see ``NestCounter``

    Members
    -------
    own: whether an iteration is this copy's; without a turn all are
    last: whether it is the last, and of the copy's turn
    """

    def __init__(
        self,
        m: Module,
        name: str,
        parent: Any,
        loops: Iterable[Count],
        advance: Value,
        *,
        values: Collection[str] = (),
        firsts: Collection[str] = (),
        lasts: Collection[str] = (),
        ends: bool = False,
    ) -> None:
        loops = tuple(loops)
        self._once = {one.name for one in loops if one.extent == 1}
        self._counter: NestCounter | None = None
        self.own: Value = Const(1)
        self.last: Value = Const(1)
        if len(loops) == len(self._once):
            return
        m.submodules[name] = counter = self._counter = NestCounter(
            loops, parent.trip_bits, values=values, firsts=firsts, lasts=lasts, ends=ends
        )
        m.d.comb += counter.advance.eq(advance)
        for port in nest_inputs(loops, parent.trip_bits):
            m.d.comb += getattr(counter, port).eq(getattr(parent, port))
        self.own = getattr(counter, "own", self.own)
        self.last = getattr(counter, "last", self.last)

    def value(self, name: str) -> Value:
        """Returns the number of a loop's iteration; if the loop has only one, an empty constant."""
        return self._output("value", name, Const(0, 0))

    def at_first(self, names: Iterable[str]) -> Value:
        """Tells whether all these loops are in their first iterations."""
        return _all_of(self._output("first", name, Const(1)) for name in names)

    def at_last(self, names: Iterable[str]) -> Value:
        """Tells whether all these loops are in their last iterations."""
        return _all_of(self._output("last", name, Const(1)) for name in names)

    def _output(self, what: str, name: str, otherwise: Value) -> Value:
        found: Value = otherwise if name in self._once else getattr(self._counter, f"{what}_{name}")
        return found


def _all_of(conditions: Iterable[Value]) -> Value:
    """Tells whether all conditions hold; a constant 1 if there are none."""
    return reduce(and_, conditions, Const(1))


def _shape(one: Count, trip_bits: int) -> ShapeLike:
    if one.extent is not None:
        return range(one.extent)
    return COPIES_BITS if one.turn else trip_bits


def _together(loops: Iterable[Count], alone: Collection[str]) -> tuple[Count, ...]:
    """Loops, of which neighbours of constant trip counts are one, but for those that are alone."""
    loops = tuple(loops)
    names = {one.name for one in loops}
    found: list[Count] = []
    for group in grouped((one.extent, one.turn or one.name in alone) for one in loops):
        one, *others = (loops[n] for n in group)
        if others:
            name = "_".join(loops[n].name for n in group)
            while name in names:
                name += "_"  # A loop may be called like two others together.
            one = replace(one, name=name, extent=prod(loops[n].extent or 1 for n in group))
        found.append(one)
    return tuple(found)
