"""Functions of a design that pass words on."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.t2s.parts import MoverPart
from .layouts import word_layout
from .nest import Nest, nest_inputs

__all__ = ["Collector", "Drainer", "Mover", "Packer", "mover"]


class Mover(wiring.Component):
    """Passes on a word an iteration of a loop nest, which begins anew when it ends, for ever.

    Without latency; one word a cycle.

    Parameters
    ----------
    part: what the function is
    trip_bits: width of trip counts that are no constants

    Members
    -------
    i, o: streams of ``word_layout``; ``o`` with flags, if the part says so
    i_behind: of a part that gathers, from the copies behind this one; words come from ``i`` in the
        iterations of this copy's turn, in the others from here
    o_onward: of a part that scatters, to the copies behind this one; words go to ``o`` in the
        iterations of this copy's turn, in the others to here
    trips_<name>, copies: in; see ``nest_inputs``
    """

    def __init__(self, part: MoverPart, trip_bits: int) -> None:
        self._part = part
        self._trip_bits = trip_bits
        word = stream.Signature(word_layout(part.word_bits))
        members: dict[str, Any] = {
            "i": In(word),
            "o": Out(stream.Signature(word_layout(part.word_bits, flagged=part.flagged))),
        }
        if part.gathers:
            members["i_behind"] = In(word)
        if part.scatters:
            members["o_onward"] = Out(word)
        super().__init__({**members, **nest_inputs(part.nest, trip_bits)})

    @property
    def part(self) -> MoverPart:
        return self._part

    @property
    def trip_bits(self) -> int:
        return self._trip_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self._part
        flags = part.flags if part.flagged else ()
        valid = Signal()
        ready = Signal()
        data = Signal(part.word_bits)
        nest = Nest(m, "nest", self, part.nest, valid & ready, firsts=flags, lasts=flags)
        own = nest.own
        if part.gathers:
            m.d.comb += [
                valid.eq(Mux(own, self.i.valid, self.i_behind.valid)),
                data.eq(Mux(own, self.i.payload.data, self.i_behind.payload.data)),
                self.i.ready.eq(ready & own),
                self.i_behind.ready.eq(ready & ~own),
            ]
        else:
            m.d.comb += [
                valid.eq(self.i.valid),
                data.eq(self.i.payload.data),
                self.i.ready.eq(ready),
            ]
        m.d.comb += [self.o.valid.eq(valid), ready.eq(self.o.ready), self.o.payload.data.eq(data)]
        if part.scatters:
            m.d.comb += [
                self.o.valid.eq(valid & own),
                self.o_onward.valid.eq(valid & ~own),
                self.o_onward.payload.data.eq(data),
                ready.eq(Mux(own, self.o.ready, self.o_onward.ready)),
            ]
        if part.flagged:
            m.d.comb += [
                self.o.payload.first.eq(nest.at_first(flags)),
                self.o.payload.last.eq(nest.at_last(flags)),
            ]
        return m


class Drainer(Mover):
    """A mover that takes results out of the array: each copy beside an element."""


class Collector(Mover):
    """A mover that takes results of drainers to what writes them to memory."""


class Packer(wiring.Component):
    """Puts a word of its own before, or behind, those of the copies behind it: a vector.

    Without latency; a vector a cycle.

    Parameters
    ----------
    part: what the function is
    behind: how many copies are behind

    Members
    -------
    i: words of its own
    i_behind: (copies are behind) vectors of their words
    o: vectors of all
    """

    def __init__(self, part: MoverPart, behind: int) -> None:
        self._part = part
        self._behind = behind
        bits = part.word_bits
        others = {"i_behind": In(stream.Signature(word_layout(behind * bits)))} if behind else {}
        super().__init__(
            {
                "i": In(stream.Signature(word_layout(bits))),
                **others,
                "o": Out(stream.Signature(word_layout((behind + 1) * bits))),
            }
        )

    @property
    def part(self) -> MoverPart:
        return self._part

    @property
    def behind(self) -> int:
        return self._behind

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if not self._behind:
            m.d.comb += [
                self.o.valid.eq(self.i.valid),
                self.o.payload.data.eq(self.i.payload.data),
                self.i.ready.eq(self.o.ready),
            ]
            return m
        words = [self.i.payload.data, self.i_behind.payload.data]
        m.d.comb += [
            self.o.valid.eq(self.i.valid & self.i_behind.valid),
            self.o.payload.data.eq(Cat(words if self._part.packs == "first" else words[::-1])),
            self.i.ready.eq(self.o.ready & self.i_behind.valid),
            self.i_behind.ready.eq(self.o.ready & self.i.valid),
        ]
        return m


_CLASSES: dict[str, type[Mover]] = {"drainer": Drainer, "collector": Collector}


def mover(part: MoverPart, trip_bits: int) -> Mover:
    """The component of a part, by its role."""
    return _CLASSES.get(part.role, Mover)(part, trip_bits)
