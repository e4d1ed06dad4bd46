"""Reads the pointers of rows in CSR: of each row that B's loader looks up, of all rows of A."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...spec.c2sr import POINTER_BYTES
from ...spec.matraptor import MatRaptorConfig
from ...stream.stream_registers import SkidBuffer
from ..layouts import row_layout
from .a_loader import paired_row_layout

_BITS = 8 * POINTER_BYTES


def beat_pointers(config: MatRaptorConfig) -> int:
    """Pointers of a beat."""
    return config.beat_bytes // POINTER_BYTES


def pointer_bits(config: MatRaptorConfig) -> int:
    """Width of a pointer's number in its beat."""
    return (beat_pointers(config) - 1).bit_length()


def _words(beat: Value) -> list[Value]:
    return [beat[low : low + _BITS] for low in range(0, len(beat), _BITS)]


class PointerPairs(wiring.Component):
    """Puts length and pointer of a row of B in the place of its two pointers.

    A row's pointers are in one beat, or in two if the first is the last word of its beat. What
    leaves is one beat, of which the lowest 64 bits are a pair as C2SR has it. No latency; a row a
    cycle, or in two cycles. A row whose pointers descend leaves as an empty one.

    Members
    -------
    enable: in; 0: beats pass as they are. Constant while there are beats
    wanted: in; the next beat is of the row at hand
    number: in; of the row's first pointer, in its beat
    row: in; the row of A that names the row of B
    beats: the pointers' beats
    o: the pairs
    error, error_row: out; pointers have descended and no ``clear`` since; ``row`` of the first
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        beat = stream.Signature(data_layout(config.data_bits))
        super().__init__(
            {
                "enable": In(1),
                "wanted": In(1),
                "number": In(pointer_bits(config)),
                "row": In(row_layout(config)),
                "beats": In(beat),
                "o": Out(beat),
                "error": Out(1),
                "error_row": Out(row_layout(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = _words(self.beats.payload.data)
        # The first pointer was the last word of the beat before.
        second = Signal()
        before = Signal(_BITS, reset_less=True)
        begins = Signal(_BITS)
        ends = Signal(_BITS)
        descends = Signal()
        keeps = Signal()
        m.d.comb += [
            keeps.eq(self.enable & self.wanted & self.number.all() & ~second),
            begins.eq(Mux(second, before, Array(words)[self.number])),
            ends.eq(Mux(second, words[0], Array([*words[1:], words[0]])[self.number])),
            descends.eq(ends < begins),
            self.o.valid.eq(self.beats.valid & ~keeps),
            self.beats.ready.eq(keeps | self.o.ready),
            self.o.payload.eq(self.beats.payload),
        ]
        with m.If(self.enable):
            length = Mux(descends, 0, (ends - begins)[:_BITS])
            m.d.comb += self.o.payload.data[: 2 * _BITS].eq(Cat(length, begins))
        with m.If(self.beats.valid & keeps):
            m.d.sync += [second.eq(1), before.eq(words[-1])]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += second.eq(0)
            with m.If(self.enable & descends & ~self.error):
                m.d.sync += [self.error.eq(1), self.error_row.eq(self.row)]
        with m.If(self.clear):
            m.d.sync += [second.eq(0), self.error.eq(0)]
        return m


class RowStarts(wiring.Component):
    """Makes rows of the pointers of a matrix in CSR, in order. One row per cycle.

    Beats after that of the last pointer are dropped. A row whose pointers descend leaves as an
    empty one.

    Members
    -------
    start: in, a pulse while nothing is inside
    rows: in; rows of the matrix, at least one; sampled with ``start``
    beats: the pointers' beats, from the first one on
    o: see ``paired_row_layout``; ``last`` is that of the matrix; ``channel`` means nothing
    error, error_row, error_lane: out; pointers have descended and no ``clear`` since; the first
        such row, and its lane
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "rows": In(32),
                "beats": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(paired_row_layout(config))),
                "error": Out(1),
                "error_row": Out(row_layout(config)),
                "error_lane": Out(config.lane_bits),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.found = found = SkidBuffer(paired_row_layout(config), clearable=True)
        wiring.connect(m, found.o, wiring.flipped(self.o))
        # Rows whose end has not been seen; whether the begin of the next one has.
        left = Signal(32)
        begun = Signal()
        begins = Signal(_BITS, reset_less=True)
        number = Signal(pointer_bits(config))
        ends = Signal(_BITS)
        descends = Signal()
        moved = Signal()
        row, lane = self._rows(m, found.i.valid & found.i.ready)
        m.d.comb += [
            ends.eq(Array(_words(self.beats.payload.data))[number]),
            descends.eq(ends < begins),
            found.clear.eq(self.clear),
            found.i.valid.eq(self.beats.valid & begun & (left != 0)),
            moved.eq(self.beats.valid & (left != 0) & (~begun | found.i.ready)),
            self.beats.ready.eq((left == 0) | (moved & number.all())),
            found.i.payload.row.eq(row),
            found.i.payload.last.eq(left == 1),
            found.i.payload.length.eq(Mux(descends, 0, (ends - begins)[:_BITS])),
            found.i.payload.pointer.eq(begins),
        ]
        with m.If(moved):
            m.d.sync += [begun.eq(1), begins.eq(ends), number.eq(number + 1)]
            m.d.sync += left.eq(left - begun)
        with m.If(moved & begun & descends & ~self.error):
            m.d.sync += [self.error.eq(1), self.error_row.eq(row), self.error_lane.eq(lane)]
        with m.If(self.start):
            m.d.sync += [left.eq(self.rows), begun.eq(0), number.eq(0)]
        with m.If(self.clear):
            m.d.sync += [left.eq(0), self.error.eq(0)]
        return m

    def _rows(self, m: Module, advance: Value) -> tuple[Any, Signal]:
        """The row at hand within its lane, and the lane."""
        config = self._config
        row = Signal(row_layout(config))
        lane = Signal(config.lane_bits)
        channel = Signal(config.geometry.channel_bits)
        with m.If(advance):
            m.d.sync += [lane.eq(lane + 1), channel.eq(channel + 1)]
            with m.If(lane == config.lanes - 1):
                m.d.sync += lane.eq(0)
                if config.lane_channels > 1:
                    m.d.sync += row.slot.eq(row.slot + 1)
            with m.If(channel == config.channels - 1):
                m.d.sync += [channel.eq(0), row.index.eq(row.index + 1)]
                if config.lane_channels > 1:
                    m.d.sync += row.slot.eq(0)
        with m.If(self.start):
            m.d.sync += [lane.eq(0), channel.eq(0), row.eq(0)]
        return row, lane
