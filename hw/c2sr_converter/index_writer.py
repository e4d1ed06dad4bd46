"""Writes the index of the result: pairs of C2SR, or row pointers of CSR."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..channels.beat_packer import write_request_layout
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..stream.stream_registers import SkidBuffer
from .row_places import placed_rows_layout

_HALF_BITS = 8 * POINTER_BYTES


def index_word_layout() -> data.StructLayout:
    """A word of the index: two ``halves``, which of them are ``present``, and whether the next word
    begins with the next half (``full``)."""
    halves = data.ArrayLayout(_HALF_BITS, 2)
    return data.StructLayout({"halves": halves, "present": 2, "full": 1})


class WordAppender(wiring.Component):
    """Packs the words of an array in one channel into beats, from the array's beginning on.

    A block is one request, which goes together with its last beat. A word a cycle; ``i.ready`` is a
    register.

    Members
    -------
    address: in; flat address of the first block; constant from ``start`` on
    start: in, a pulse when ``empty``
    i: see :func:`index_word_layout`
    flush: in, level: no more words come, what is inside goes
    request, data: streams to a burst writer
    empty: out; nothing is inside
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "address": In(config.addr_bits),
                "start": In(1),
                "i": In(stream.Signature(index_word_layout())),
                "flush": In(1),
                "request": Out(stream.Signature(write_request_layout(config.geometry))),
                "data": Out(stream.Signature(store_layout(config.data_bits))),
                "empty": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        geometry = self._config.geometry
        m.submodules.taken = taken = SkidBuffer(self.i.payload.shape(), clearable=True)
        wiring.connect(m, wiring.flipped(self.i), taken.i)
        beat_words = geometry.beat_bytes // PAIR_BYTES
        block_words = geometry.interleave // PAIR_BYTES
        word = taken.o.payload
        number = Signal(range(block_words))
        # The beat at hand: its halves, and which are there. The address is that of the block.
        halves = Signal(data.ArrayLayout(_HALF_BITS, 2 * beat_words), reset_less=True)
        filled = Signal(2 * beat_words)
        block = Signal(geometry.addr_bits - geometry.block_shift, reset_less=True)
        beat_bits = (beat_words - 1).bit_length()
        ends = Signal()
        put = Signal()
        free = Signal()
        sends_beat = Signal()
        sends_block = Signal()
        flushes = Signal()
        coming = Signal(2 * beat_words)
        place: Any = number[:beat_bits] if beat_bits else Const(0)
        open_ = Signal(name="open")
        m.d.comb += [
            taken.clear.eq(self.clear),
            free.eq(
                (self.data.ready | ~self.data.valid) & (self.request.ready | ~self.request.valid)
            ),
            taken.o.ready.eq(free),
            put.eq(taken.o.valid & free),
            flushes.eq(self.flush & ~taken.o.valid & open_ & free),
            ends.eq(place.all() if beat_bits else 1),
            sends_beat.eq((put & word.full & ends) | (flushes & filled.any())),
            sends_block.eq((put & word.full & number.all()) | flushes),
            self.empty.eq(~taken.o.valid & ~open_ & ~self.data.valid & ~self.request.valid),
        ]
        for index in range(beat_words):
            mine = put & (place == index if beat_bits else Const(1))
            for half in range(2):
                m.d.comb += coming[2 * index + half].eq(mine & word.present[half])
                with m.If(coming[2 * index + half]):
                    m.d.sync += halves[2 * index + half].eq(word.halves[half])
        with m.If(put):
            m.d.sync += [open_.eq(1), filled.eq(filled | coming), number.eq(number + word.full)]
        with m.If(sends_beat):
            m.d.sync += filled.eq(0)
        with m.If(sends_block):
            m.d.sync += [open_.eq(0), block.eq(block + self._config.channels)]
        self._send(m, word, halves, filled, coming, sends_beat)
        beat = number[beat_bits:]
        self._request(m, block, Mux(flushes & ~filled.any(), beat, beat + 1), sends_block)
        with m.If(self.start | self.clear):
            m.d.sync += [
                open_.eq(0),
                filled.eq(0),
                number.eq(0),
                block.eq(self.address[geometry.block_shift :]),
            ]
        with m.If(self.clear):
            m.d.sync += [self.data.valid.eq(0), self.request.valid.eq(0)]
        return m

    def _send(
        self, m: Module, word: Any, halves: Value, filled: Value, coming: Value, sends: Value
    ) -> None:
        """Sends the beat at hand, with the word that comes."""
        beat = Signal(self.data.payload.shape(), reset_less=True)
        m.d.comb += self.data.payload.eq(beat)
        with m.If(sends):
            m.d.sync += [
                self.data.valid.eq(1),
                beat.data.eq(
                    Cat(
                        Mux(coming[index], word.halves[index % 2], held)
                        for index, held in enumerate(halves)
                    )
                ),
                beat.strobe.eq(Cat(bit.replicate(POINTER_BYTES) for bit in filled | coming)),
            ]
        with m.Elif(self.data.ready):
            m.d.sync += self.data.valid.eq(0)

    def _request(self, m: Module, block: Value, beats: Value, sends: Value) -> None:
        """Asks for the writing of a block's beats."""
        request = Signal(self.request.payload.shape(), reset_less=True)
        shift = self._config.geometry.block_shift
        m.d.comb += self.request.payload.eq(request)
        with m.If(sends):
            m.d.sync += [
                self.request.valid.eq(1),
                request.address.eq(Cat(Const(0, shift), block)),
                request.beats.eq(beats),
            ]
        with m.Elif(self.request.ready):
            m.d.sync += self.request.valid.eq(0)


class IndexWriter(wiring.Component):
    """Writes the pairs of rows, each into its channel, or their row pointers, the blocks of which
    are distributed over the channels. ``step_rows`` rows per cycle.

    Members
    -------
    to_csr: in; row pointers, not pairs; constant from ``start`` on
    base: in; flat address of the array; likewise
    start: in, a pulse while nothing is inside
    i: see ``placed_rows_layout``
    request, data: arrays of streams to burst writers, one a channel
    finished: out; all of the last row is with the burst writers
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        request = stream.Signature(write_request_layout(config.geometry))
        beat = stream.Signature(store_layout(config.data_bits))
        super().__init__(
            {
                "to_csr": In(1),
                "base": In(config.addr_bits),
                "start": In(1),
                "i": In(stream.Signature(placed_rows_layout(config))),
                "request": Out(request).array(config.channels),
                "data": Out(beat).array(config.channels),
                "finished": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        appenders = [self._appender(m, channel) for channel in range(self._config.channels)]
        ended = Signal()
        tail = Signal()
        tail_taken = Signal()
        due = Signal()
        m.d.comb += [
            # The pointer after the last row needs a word if the words before it are full.
            due.eq(self.to_csr & self.i.payload.some.all()),
            self.finished.eq(ended & Cat(each.empty for each in appenders).all()),
        ]
        m.d.comb += [each.flush.eq(ended) for each in appenders]
        with m.If(self.to_csr):
            self._pointers(m, appenders, tail, tail_taken)
        with m.Else():
            self._pairs(m, appenders)
        with m.If(self.i.valid & self.i.ready & self.i.payload.last):
            m.d.sync += [tail.eq(due), ended.eq(~due)]
        with m.If(tail_taken):
            m.d.sync += [tail.eq(0), ended.eq(1)]
        with m.If(self.start | self.clear):
            m.d.sync += [tail.eq(0), ended.eq(0)]
        return m

    def _pairs(self, m: Module, appenders: list[WordAppender]) -> None:
        """Each row's pair to the appender of its channel; all of a step together."""
        step, rows = self._config.step_rows, self.i.payload
        groups = range(0, len(appenders), step)
        free = Signal(len(groups), name="groups_free")
        for place, first in enumerate(groups):
            group = appenders[first : first + step]
            mine = rows.channel == first
            m.d.comb += free[place].eq(Cat(each.i.ready for each in group).all())
            for number, appender in enumerate(group):
                row, word = rows.rows[number], appender.i.payload
                m.d.comb += [
                    appender.i.valid.eq(self.i.valid & mine & free[place] & rows.some[number]),
                    word.halves[0].eq(row.length),
                    word.halves[1].eq(row.begin),
                    word.present.eq(0b11),
                    word.full.eq(1),
                ]
            with m.If(mine):
                m.d.comb += self.i.ready.eq(free[place])

    def _pointers(
        self, m: Module, appenders: list[WordAppender], tail: Value, tail_taken: Value
    ) -> None:
        """The rows' pointers to the appender of the word's channel, then the ``tail``."""
        step, rows = self._config.step_rows, self.i.payload
        block_words = self._config.interleave // PAIR_BYTES
        number = Signal(range(block_words))
        channel = Signal(self._config.layout.channel_bits)
        end = Signal(_HALF_BITS, reset_less=True)
        word = Signal(index_word_layout())
        moved = Signal()
        ready = Signal()
        m.d.comb += [
            ready.eq(Array(each.i.ready for each in appenders)[channel]),
            moved.eq((self.i.valid | tail) & ready),
            tail_taken.eq(tail & ready),
            self.i.ready.eq(ready & ~tail),
        ]
        first = Mux(tail, end, rows.rows[0].begin)
        if step == 1:
            half = Signal()
            m.d.comb += [
                word.halves[0].eq(first),
                word.halves[1].eq(first),
                word.present.eq(Mux(half, 0b10, 0b01)),
                word.full.eq(half),
            ]
            with m.If(moved):
                m.d.sync += half.eq(~half)
            with m.If(self.start):
                m.d.sync += half.eq(0)
        else:
            m.d.comb += [
                word.halves[0].eq(first),
                word.halves[1].eq(Mux(rows.some[1], rows.rows[1].begin, rows.end)),
                word.present.eq(Mux(tail, 0b01, 0b11)),
                word.full.eq(~tail),
            ]
        for index, appender in enumerate(appenders):
            m.d.comb += [
                appender.i.valid.eq((self.i.valid | tail) & (channel == index)),
                appender.i.payload.eq(word),
            ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += end.eq(rows.end)
        with m.If(moved & word.full):
            m.d.sync += number.eq(number + 1)
            with m.If(number.all()):
                m.d.sync += channel.eq(channel + 1)
                with m.If(channel == len(appenders) - 1):
                    m.d.sync += channel.eq(0)
        with m.If(self.start):
            m.d.sync += [number.eq(0), channel.eq(0)]

    def _appender(self, m: Module, channel: int) -> WordAppender:
        m.submodules[f"channel_{channel}"] = appender = WordAppender(self._config)
        shift = self._config.geometry.block_shift
        m.d.comb += [
            appender.address.eq(self.base + (channel << shift)),
            appender.start.eq(self.start),
            appender.clear.eq(self.clear),
        ]
        for name in ("request", "data"):
            wiring.connect(m, getattr(appender, name), wiring.flipped(getattr(self, name)[channel]))
        return appender
