"""The component that a copy of a function is."""

from __future__ import annotations

from math import prod
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..spec.t2s.design import Copy, Design
from ..spec.t2s.parts import FeederPart, MoverPart
from ..stream.ring import NO_COLLISIONS
from .blocks import block_depth
from .loader import word_layout
from .nest import Nest, nest_inputs
from .pe import Pe
from .route import Route


class Feeder(wiring.Component):
    """Keeps a block of words, sends them in the order of a loop nest, and takes the next block.

    With two halves it takes a block while it sends another one. A word leaves every cycle, also
    from a block to the next if that has come. Two cycles from a block's last word to the first
    that leaves; one, if a block is a word.

    Words lie in the memory as ``block_depth`` says.

    Parameters
    ----------
    part: what the function is
    trip_bits: width of trip counts that are no constants

    Members
    -------
    i, o: streams of ``word_layout``; ``o`` with flags, if the part says so
    o_onward: of a part that scatters, to the copies behind this one; words go into the buffer in
        the iterations of this copy's turn, in the others to here
    trips_<name>, copies: in; see ``nest_inputs``
    """

    def __init__(self, part: FeederPart, trip_bits: int) -> None:
        self._part = part
        self._trip_bits = trip_bits
        word = stream.Signature(word_layout(part.word_bits))
        members: dict[str, Any] = {
            "i": In(word),
            "o": Out(stream.Signature(word_layout(part.word_bits, flagged=part.flagged))),
        }
        if part.scatters:
            members["o_onward"] = Out(word)
        loops = (*part.fill, *part.around, *part.read)
        super().__init__({**members, **nest_inputs(loops, trip_bits)})

    @property
    def part(self) -> FeederPart:
        return self._part

    @property
    def trip_bits(self) -> int:
        return self._trip_bits

    @property
    def depth(self) -> int:
        """Words of the memory, or registers."""
        return block_depth(self._part.extents, double=self._part.double)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        capacity = 1 + self._part.double
        blocks = Signal(range(capacity + 1))
        filled = Signal()
        emptied = Signal()
        with m.If(filled != emptied):
            m.d.sync += blocks.eq(Mux(filled, blocks + 1, blocks - 1))
        put, write_place = self._fill(m, blocks != capacity, filled)
        step = Signal()
        flags, read_place = self._sweep(m, step, emptied)
        write_address = self._address(m, "fill_half", filled, write_place)
        read_address = self._address(m, "read_half", emptied, read_place)
        if prod(self._part.extents) == 1:
            self._registers(m, put, write_address, read_address)
            m.d.comb += [self.o.valid.eq(blocks != 0), step.eq(self.o.valid & self.o.ready)]
        else:
            valid = Signal()
            m.d.comb += [
                self.o.valid.eq(valid),
                step.eq((blocks != 0) & (self.o.ready | ~valid)),
            ]
            m.d.sync += valid.eq(step | (valid & ~self.o.ready))
            self._memory(m, put, write_address, step, read_address)
            flags = self._with_words(m, step, flags)
        for name, flag in flags.items():
            m.d.comb += self.o.payload[name].eq(flag)
        return m

    def _fill(self, m: Module, room: Value, filled: Signal) -> tuple[Signal, list[Value]]:
        """Words that come. Returns whether one is written, and the digits of its place."""
        part = self._part
        taken = Signal()
        put = Signal()
        nest = Nest(m, "fill", self, part.fill, taken, values=part.fill_place, ends=True)
        own = nest.own
        m.d.comb += [
            self.i.ready.eq(room),
            taken.eq(self.i.valid & self.i.ready),
            put.eq(taken & own),
            filled.eq(put & nest.last),
        ]
        if part.scatters:
            m.d.comb += [
                self.i.ready.eq(Mux(own, room, self.o_onward.ready)),
                self.o_onward.valid.eq(self.i.valid & ~own),
                self.o_onward.payload.eq(self.i.payload),
            ]
        return put, [nest.value(name) for name in part.fill_place]

    def _sweep(
        self, m: Module, step: Signal, emptied: Signal
    ) -> tuple[dict[str, Value], list[Value]]:
        """Words that are read. Returns the flags of one, and the digits of its place."""
        part = self._part
        flags = part.flags if part.flagged else ()
        inner = [one.name for one in part.read if one.name in flags]
        outer = [name for name in flags if name not in inner]
        asked = {"firsts": inner, "lasts": inner}
        read = Nest(m, "read", self, part.read, step, values=part.read_place, ends=True, **asked)
        m.d.comb += emptied.eq(step & read.last)
        around = Nest(
            m, "around", self, part.around if outer else (), emptied, firsts=outer, lasts=outer
        )
        found = {
            "first": read.at_first(inner) & around.at_first(outer),
            "last": read.at_last(inner) & around.at_last(outer),
        }
        return found if part.flagged else {}, [read.value(name) for name in part.read_place]

    def _address(self, m: Module, name: str, advance: Signal, digits: list[Value]) -> Value:
        """Returns the address of a word; in a double buffer, the end of a block switches halves."""
        half: list[Value] = []
        if self._part.double:
            half = [Signal(name=name)]
            with m.If(advance):
                m.d.sync += half[0].eq(~half[0])
        return Cat(*half, *reversed(digits))

    def _registers(self, m: Module, put: Signal, write: Value, read: Value) -> None:
        word_bits = self._part.word_bits
        words = [Signal(word_bits, name=f"word_{n}", reset_less=True) for n in range(self.depth)]
        for n, word in enumerate(words):
            with m.If(put & (write == n)):
                m.d.sync += word.eq(self.i.payload.data)
        chosen = Mux(read, words[1], words[0]) if self._part.double else words[0]
        m.d.comb += self.o.payload.data.eq(chosen)

    def _memory(self, m: Module, put: Signal, write: Value, step: Signal, read: Value) -> None:
        # A block is read when it is complete, and its half is filled when all of it is read.
        m.submodules.buffer = buffer = Memory(
            shape=self._part.word_bits, depth=self.depth, init=[], attrs=NO_COLLISIONS
        )
        write_port = buffer.write_port()
        read_port = buffer.read_port()
        m.d.comb += [
            write_port.en.eq(put),
            write_port.addr.eq(write),
            write_port.data.eq(self.i.payload.data),
            read_port.en.eq(step),
            read_port.addr.eq(read),
            self.o.payload.data.eq(read_port.data),
        ]

    def _with_words(self, m: Module, step: Signal, flags: dict[str, Value]) -> dict[str, Value]:
        """Delays flags to the cycle in which the word that is read arrives."""
        found: dict[str, Value] = {}
        for name, flag in flags.items():
            found[name] = Signal(name=f"word_is_{name}", reset_less=True)
            with m.If(step):
                m.d.sync += found[name].eq(flag)
        return found


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


def component_of(design: Design, copy: Copy, trip_bits: int) -> Any:
    """Returns the component of a part between loaders and the unloader; None for others.

    Parameters
    ----------
    trip_bits: width of a trip count that a register has
    """
    if copy.function == design.element.name:
        return Pe(design.element)
    for feeder in design.feeders:
        if feeder.name == copy.function:
            return Feeder(feeder, trip_bits)
    for passing in design.movers:
        if passing.name == copy.function:
            if passing.packs:
                return Packer(passing, copy.ahead)
            return mover(passing, trip_bits)
    for route in design.routes:
        if route.name == copy.function:
            return Route(route, trip_bits)
    return None
