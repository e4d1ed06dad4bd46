"""A function of a design that sends the words that entries ask for."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.t2s.sparse_parts import GatherPart
from ..blocks import block_depth
from ..layouts import word_layout
from ..nest import Nest
from .layouts import ends_iteration, token_layout

__all__ = ["GatherFeeder"]


class GatherFeeder(wiring.Component):
    """Keeps a block of words, sends those at the places of the entries that come, and takes the
    next block when tokens end an iteration of its level.

    With two halves it takes a block while entries ask for words of another one. An entry is done
    when its words are sent; a word leaves every cycle, also from an entry to the next. A token that
    is no entry takes a cycle. Two cycles from an entry to its first word; entries, and the token
    that ends an iteration, wait for the block. Words lie in the memory as ``block_depth`` says.

    What comes is passed on in the cycle in which it is taken, without a register between: when
    there is room here and in the next copy. So all copies have the same words.

    Parameters
    ----------
    part: what the function is; all its trip counts are constants

    Members
    -------
    i: words, stream of ``word_layout``
    o_onward: the same words, to the copies behind this one
    t: tokens
    o: words of entries
    """

    def __init__(self, part: GatherPart) -> None:
        self._part = part
        word = stream.Signature(word_layout(part.word_bits))
        super().__init__(
            {
                "i": In(word),
                "o_onward": Out(word),
                "t": In(stream.Signature(token_layout(part.layout))),
                "o": Out(word),
            }
        )

    @property
    def part(self) -> GatherPart:
        return self._part

    @property
    def trip_bits(self) -> int:
        """Of trip counts that are no constants: there are none."""
        return 0

    @property
    def depth(self) -> int:
        """Words of the memory."""
        return max(2, block_depth(self._part.extents, double=self._part.double))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        capacity = 1 + self._part.double
        blocks = Signal(range(capacity + 1))
        filled = Signal()
        emptied = Signal()
        with m.If(filled != emptied):
            m.d.sync += blocks.eq(Mux(filled, blocks + 1, blocks - 1))
        put, write_place = self._fill(m, blocks != capacity, filled)
        step, read_place = self._read(m, blocks != 0, emptied)
        m.submodules.buffer = buffer = Memory(shape=self._part.word_bits, depth=self.depth, init=[])
        write_port = buffer.write_port()
        read_port = buffer.read_port()
        m.d.comb += [
            write_port.en.eq(put),
            write_port.addr.eq(self._address(m, "fill_half", filled, write_place)),
            write_port.data.eq(self.i.payload.data),
            read_port.en.eq(step),
            read_port.addr.eq(self._address(m, "read_half", emptied, read_place)),
            self.o.payload.data.eq(read_port.data),
        ]
        return m

    def _fill(self, m: Module, room: Value, filled: Signal) -> tuple[Signal, list[Value]]:
        """Words that come. Returns whether one is written, and the digits of its place."""
        part = self._part
        put = Signal()
        nest = Nest(m, "fill", self, part.fill, put, values=part.fill_place, ends=True)
        m.d.comb += [
            self.i.ready.eq(room & self.o_onward.ready),
            self.o_onward.valid.eq(self.i.valid & room),
            self.o_onward.payload.eq(self.i.payload),
            put.eq(self.i.valid & self.i.ready),
            filled.eq(put & nest.last),
        ]
        return put, [nest.value(name) for name in part.fill_place]

    def _read(self, m: Module, there: Value, emptied: Signal) -> tuple[Signal, list[Value]]:
        """Tokens that come. Returns whether a word is read, and the digits of its place."""
        part = self._part
        token = self.t.payload
        step = Signal()
        ends = Signal()
        valid = Signal()
        nest = Nest(m, "read", self, part.read, step, values=part.read_place, ends=True)
        m.d.comb += [
            step.eq(self.t.valid & token.present & there & (self.o.ready | ~valid)),
            ends.eq(ends_iteration(part.layout, token, part.level)),
            emptied.eq(self.t.valid & ends & there),
            self.t.ready.eq(Mux(token.present, step & nest.last, there | ~ends)),
            self.o.valid.eq(valid),
        ]
        m.d.sync += valid.eq(step | (valid & ~self.o.ready))
        chosen = [
            token[f"at_{index}"][: (extent - 1).bit_length()]
            for index, extent in zip(part.coordinates, part.extents, strict=False)
        ]
        return step, [*chosen, *(nest.value(name) for name in part.read_place)]

    def _address(self, m: Module, name: str, advance: Signal, digits: list[Value]) -> Value:
        """Of a word; a block's end takes it to the other half."""
        half: list[Value] = []
        if self._part.double:
            half = [Signal(name=name)]
            with m.If(advance):
                m.d.sync += half[0].eq(~half[0])
        return Cat(*half, *reversed(digits))
