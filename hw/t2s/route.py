"""Routes words between a function that is not unrolled and an array of queues."""

from __future__ import annotations

from math import prod

from amaranth.hdl import Array, Cat, Const, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.t2s.parts import RoutePart
from .loader import word_layout
from .nest import Nest, nest_inputs

__all__ = ["Route"]


class Route(wiring.Component):
    """Visits the queues of an array in turn, as the loops of its nest choose.

    No latency; one word a cycle.

    Parameters
    ----------
    part: its loops, and the way that words go
    trip_bits: width of a trip count that a register has

    Members
    -------
    i, branches: the one stream, and those of the queues (an array, the last dimension's neighbours
        side by side), to which its words go
    branches, o: (joins) likewise, from which words come
    trips_<loop>: (loops from registers) trip counts
    """

    def __init__(self, part: RoutePart, trip_bits: int) -> None:
        self._part, self._trip_bits = part, trip_bits
        word = stream.Signature(word_layout(part.word_bits, flagged=part.flagged))
        queues = prod(part.extents)
        if part.joins:
            streams = {"branches": In(word).array(queues), "o": Out(word)}
        else:
            streams = {"i": In(word), "branches": Out(word).array(queues)}
        super().__init__({**streams, **nest_inputs(part.nest, trip_bits)})

    @property
    def part(self) -> RoutePart:
        return self._part

    @property
    def trip_bits(self) -> int:
        return self._trip_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self._part
        stem = self.o if part.joins else self.i
        moved = stem.valid & stem.ready
        nest = Nest(m, "nest", self, part.nest, moved, values=part.routed)
        chosen = self._chosen(nest)
        here = Cat(chosen == n for n in range(len(self.branches)))
        if part.joins:
            m.d.comb += [
                stem.valid.eq(Array(one.valid for one in self.branches)[chosen]),
                stem.payload.eq(Array(one.payload.as_value() for one in self.branches)[chosen]),
            ]
            for n, one in enumerate(self.branches):
                m.d.comb += one.ready.eq(stem.ready & here[n])
        else:
            m.d.comb += stem.ready.eq(Array(one.ready for one in self.branches)[chosen])
            for n, one in enumerate(self.branches):
                m.d.comb += [one.valid.eq(stem.valid & here[n]), one.payload.eq(stem.payload)]
        return m

    def _chosen(self, nest: Nest) -> Value:
        """Returns the number of the queue chosen."""
        chosen: Value = Const(0, 1)
        for name, extent in zip(self._part.routed, self._part.extents, strict=True):
            chosen = chosen * extent + nest.value(name)
        return chosen
