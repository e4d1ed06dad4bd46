"""The rows of a matrix in CSR, from its row pointers."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout
from ..channels.flat_blocks import FlatBlocks
from ..channels.stripe_walk import span_layout
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from .layouts import found_row_layout

__all__ = ["RowPointers"]

_BITS = 32


class RowPointers(wiring.Component):
    """Asks for whole blocks of row pointers and makes rows of them. A row a cycle, no latency.

    A row that would end before it begins, or a first one that does not begin at 0, sets
    ``unsorted`` and does not come, nor do those behind it.

    Members
    -------
    start: in, a pulse while no row is left
    rows: in; of the matrix, at least 1; constant from ``start`` on
    spans: see ``span_layout``; a block each
    beats: those; what is behind the last pointer is dropped
    o: see ``found_row_layout``
    unsorted, unsorted_row: out; the error and its row, until ``start`` or ``clear``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(_BITS),
                "spans": Out(stream.Signature(span_layout(config.geometry))),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(found_row_layout(config))),
                "unsorted": Out(1),
                "unsorted_row": Out(_BITS),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self.o.payload
        self._ask(m)
        active = Signal()
        first = Signal()
        done = Signal(_BITS, name="rows_done")
        before = Signal(_BITS, reset_less=True)
        pointer = Signal(_BITS)
        right = Signal()
        moved = Signal()
        word, beat_done = self._word(m, moved)
        m.d.comb += [
            pointer.eq(word),
            right.eq((pointer >= before) | first),
            self.o.valid.eq(active & self.beats.valid & ~first & right & ~self.unsorted),
            row.pointer.eq(before),
            row.length.eq(pointer - before),
            row.last.eq(done + 1 == self.rows),
            moved.eq((self.o.valid & self.o.ready) | (active & first & self.beats.valid)),
            self.beats.ready.eq(~active | (moved & beat_done)),
            self.unsorted_row.eq(done),
        ]
        with m.If(moved):
            m.d.sync += [before.eq(pointer), first.eq(0)]
            with m.If(~first):
                m.d.sync += [done.eq(done + 1), active.eq(~row.last)]
        wrong = active & self.beats.valid & ((first & (pointer != 0)) | ~right)
        with m.If(self.start | self.clear):
            m.d.sync += [
                active.eq(self.start),
                first.eq(1),
                done.eq(0),
                self.unsorted.eq(0),
            ]
        with m.Elif(wrong):
            m.d.sync += self.unsorted.eq(1)
        return m

    def _ask(self, m: Module) -> None:
        block_pointers = self._config.interleave // POINTER_BYTES
        shift = block_pointers.bit_length() - 1
        left = Signal(_BITS + 1 - shift, name="blocks_to_ask")
        m.submodules.blocks = blocks = FlatBlocks(self._config.geometry)
        wiring.connect(m, blocks.spans, wiring.flipped(self.spans))
        m.d.comb += [blocks.start.eq(self.start), blocks.want.eq(left != 0)]
        with m.If(blocks.taken):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            # rows + 1 pointers.
            m.d.sync += left.eq((self.rows + block_pointers).shift_right(shift))
        with m.If(self.clear):
            m.d.sync += left.eq(0)

    def _word(self, m: Module, moved: Value) -> tuple[Value, Value]:
        """The next pointer, and whether its beat ends with it."""
        beat, bits = self.beats.payload.data, 8 * POINTER_BYTES
        count = len(beat) // bits
        number = Signal(range(count))
        with m.If(moved):
            m.d.sync += number.eq(number + 1)
        with m.If(self.start):
            m.d.sync += number.eq(0)
        words = Array(beat[bits * index : bits * (index + 1)] for index in range(count))
        return words[number], number.all()
