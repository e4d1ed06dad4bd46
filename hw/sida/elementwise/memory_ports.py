"""Scalars between memory and the element-wise core, and the test whether a job ends."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.compare import FloatCompare
from ...axi.layouts import Supervision, address_layout, beat_layout, supervise
from ...spec.elementwise.instructions import SCALARS, WORD_BITS
from ...spec.formats import FloatFormat
from ...spec.sida import SidaConfig
from ..load.array_entries import ArrayEntries
from .layouts import row_layout, values_layout

_WORD_BYTES = WORD_BITS // 8
_OUTSTANDING = 2


class ProgramLoader(wiring.Component):
    """Reads a program's words and writes them to the core, the first one to place 0.

    One word per cycle, if the channels deliver it.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    start: in, a pulse when ``idle``
    address, words: in, with it; where the program is, a multiple of a line; its words, at least 1
    program_write, program_place, word: out; see ``EwiseCore``
    read_beats: out; channels that bring a beat
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all words were written
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        self._id_bits = (config.outstanding - 1).bit_length()
        request = address_layout(config.addr_bits, self._id_bits)
        beat = beat_layout(config.data_bits, self._id_bits)
        super().__init__(
            {
                "start": In(1),
                "address": In(config.addr_bits),
                "words": In(range(config.program_words + 1)),
                "program_write": Out(1),
                "program_place": Out(range(config.program_words)),
                "word": Out(WORD_BITS),
                "read_beats": Out(config.channels),
                "ar": Out(stream.Signature(request)).array(config.channels),
                "r": In(stream.Signature(beat, always_ready=True)).array(config.channels),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.entries = entries = ArrayEntries(
            self.config, _WORD_BYTES, outstanding=_OUTSTANDING
        )
        asks = Signal()
        busy = Signal()
        address = Signal.like(self.address, reset_less=True)
        words = Signal.like(self.words, reset_less=True)
        place = Signal.like(self.program_place)
        wanted, found = entries.request, entries.o
        m.d.comb += [
            wanted.valid.eq(asks),
            wanted.payload.address.eq(address),
            wanted.payload.bytes.eq(words * _WORD_BYTES),
            wanted.payload.count.eq(words),
            found.ready.eq(1),
            self.program_write.eq(found.valid & busy),
            self.program_place.eq(place),
            self.word.eq(found.payload.data),
        ]
        with m.If(self.start):
            m.d.sync += [
                asks.eq(1),
                busy.eq(1),
                place.eq(0),
                address.eq(self.address),
                words.eq(self.words),
            ]
        with m.Else():
            with m.If(wanted.ready):
                m.d.sync += asks.eq(0)
            with m.If(self.program_write):
                m.d.sync += place.eq(place + 1)
                with m.If(found.payload.last):
                    m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += [asks.eq(0), busy.eq(0)]
        supervise(m, self, [entries], busy=busy)
        for number, (ar, r) in enumerate(zip(self.ar, self.r, strict=True)):
            wiring.connect(m, entries.ar[number], wiring.flipped(ar))
            wiring.connect(m, wiring.flipped(r), entries.r[number])
            m.d.comb += self.read_beats[number].eq(r.valid & r.ready)
        return m


class ScalarPort(wiring.Component):
    """Transfers scalars between rows and the core, and compares two of them with a third.

    It writes one scalar per cycle, and reads one in two cycles.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: rows of all scalars, in order
    loaded: out; for one cycle: the last scalar is written
    save: in, a pulse: reads all
    o: their rows, in order; anything behind the last scalar
    saved: out; for one cycle: the last row is taken
    check: in, a pulse: compares scalars ``stop_1`` and ``stop_2`` with scalar ``limit``
    checked: out; for one cycle: ``below`` has the result
    below: out; of each, whether it is less than the limit; a NaN is not
    scalar_write, scalar_place, scalar, scalar_read: of the core, which is not busy
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        bits, number = config.format.bits, range(SCALARS)
        super().__init__(
            {
                "i": In(stream.Signature(row_layout(config))),
                "loaded": Out(1),
                "save": In(1),
                "o": Out(stream.Signature(values_layout(config))),
                "saved": Out(1),
                "check": In(1),
                "stop_1": In(number),
                "stop_2": In(number),
                "limit": In(number),
                "checked": Out(1),
                "below": Out(2),
                "scalar_write": Out(1),
                "scalar_place": Out(number),
                "scalar": Out(bits),
                "scalar_read": In(bits),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self.config.pes
        # A row has all scalars, or they are whole rows.
        in_row = min(pes, SCALARS)
        place = Signal(range(SCALARS))
        lane = place[: in_row.bit_length() - 1]
        ends_row = Signal()
        ends = Signal()
        m.d.comb += [
            ends_row.eq(lane == in_row - 1),
            ends.eq(place == SCALARS - 1),
            self.scalar_place.eq(place),
            self.scalar.eq(self.i.payload["values"].as_value().word_select(lane, len(self.scalar))),
        ]
        limit = Signal(len(self.scalar), reset_less=True)
        less = self._less(m, limit)
        with m.FSM(name="state"):
            with m.State("LOAD"):
                m.d.comb += [
                    self.scalar_write.eq(self.i.valid),
                    self.i.ready.eq(ends_row),
                    self.loaded.eq(self.i.valid & ends),
                ]
                with m.If(self.i.valid):
                    m.d.sync += place.eq(place + 1)
                with m.If(self.clear):
                    m.next = "LOAD"
                with m.Elif(self.save):
                    m.next = "READ"
                with m.Elif(self.check):
                    m.next = "LIMIT"
            with m.State("READ"):
                self._goes_on(m, "KEEP")
            with m.State("KEEP"):
                for n in range(in_row):
                    with m.If(lane == n):
                        m.d.sync += self.o.payload[n].eq(self.scalar_read)
                self._goes_on(m, "READ")
                with m.If(ends_row & ~self.clear):
                    m.next = "GIVE"
                with m.Else():
                    m.d.sync += place.eq(place + 1)
            with m.State("GIVE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.clear):
                    m.next = "LOAD"
                with m.Elif(self.o.ready):
                    m.d.comb += self.saved.eq(ends)
                    m.d.sync += place.eq(place + 1)
                    m.next = "READ"
                    with m.If(ends):
                        m.next = "LOAD"
            with m.State("LIMIT"):
                m.d.comb += self.scalar_place.eq(self.limit)
                self._goes_on(m, "FIRST")
            with m.State("FIRST"):
                m.d.comb += self.scalar_place.eq(self.stop_1)
                m.d.sync += limit.eq(self.scalar_read)
                self._goes_on(m, "SECOND")
            with m.State("SECOND"):
                m.d.comb += self.scalar_place.eq(self.stop_2)
                m.d.sync += self.below[0].eq(less)
                self._goes_on(m, "LAST")
            with m.State("LAST"):
                m.d.sync += self.below[1].eq(less)
                self._goes_on(m, "CHECKED")
            with m.State("CHECKED"):
                m.d.comb += self.checked.eq(1)
                m.next = "LOAD"
        with m.If(self.clear):
            m.d.sync += place.eq(0)
        return m

    def _goes_on(self, m: Module, following: str) -> None:
        m.next = following
        with m.If(self.clear):
            m.next = "LOAD"

    def _less(self, m: Module, limit: Value) -> Value:
        """Tells whether the scalar that is read is below the limit."""
        fmt = self.config.format
        if not isinstance(fmt, FloatFormat):
            return self.scalar_read.as_signed() < limit.as_signed()
        m.submodules.compare = compare = FloatCompare(fmt)
        m.d.comb += [compare.a.eq(self.scalar_read), compare.b.eq(limit)]
        return compare.less
