"""Programs from memory."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import address_layout, beat_layout
from ...axi.supervision import Supervision, supervise
from ...spec.elementwise.instructions import WORD_BITS
from ...spec.sida import SidaConfig
from ..load.array_entries import ArrayEntries

__all__ = ["ProgramLoader"]

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
        self._config = config
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
    def config(self) -> SidaConfig:
        return self._config

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.entries = entries = ArrayEntries(
            self._config, _WORD_BYTES, outstanding=_OUTSTANDING
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
