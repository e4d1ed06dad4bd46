"""Brings the words of an image from memory."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout, request_layout
from ..spec.t2s.config import T2sConfig
from ..spec.t2s.parts import MemoryPart
from ..stream.gearbox import Gearbox
from .layouts import run_count_bits, word_layout
from .run_walker import RunWalker, walk_members
from .word_function import through

__all__ = ["Loader"]


class Loader(wiring.Component):
    """Requests the runs of an image, cuts their beats into words, and repeats these. Words leave
    through the part's functions.

    Requests go ahead of the data, so that runs follow each other without a pause, those of one beat
    too. A word a cycle, if it is no wider than a beat; else a beat a cycle.

    Parameters
    ----------
    part: what is loaded
    config: widths of addresses and beats, bursts under way

    Members
    -------
    start: pulse: a job begins
    stop: level: drop everything
    base, stride_*, trips_*: where the runs lie, see :func:`walk_members`; constant in a job
    running: requests or words are left
    request, i: streams of a burst reader
    o: the words
    """

    def __init__(self, part: MemoryPart, config: T2sConfig) -> None:
        self._part, self._config = part, config
        request = request_layout(config.addr_bits, run_count_bits(config))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **walk_members(part, config),
                "running": Out(1),
                "request": Out(stream.Signature(request)),
                "i": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(word_layout(part.word_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._config
        m.submodules.walker = walker = RunWalker(part, config)
        for name in ("start", "stop", *walk_members(part, config)):
            m.d.comb += getattr(walker, name).eq(getattr(self, name))
        # Runs that were requested and of which words are left. As many as a reader may have on the
        # bus, and more for those on the way to it and back.
        most = 2 * config.outstanding + 8
        under_way = Signal(range(most + 1))
        asked = Signal()
        brought = Signal()
        m.d.comb += [
            self.request.valid.eq(walker.o.valid & (under_way != most)),
            self.request.payload.address.eq(walker.o.payload),
            self.request.payload.beats.eq(part.run_beats(config.beat_bytes)),
            asked.eq(self.request.valid & self.request.ready),
            walker.o.ready.eq(asked),
            self.running.eq(walker.running | (under_way != 0)),
        ]
        m.d.comb += brought.eq(self._cut(m))
        with m.If(self.stop):
            m.d.sync += under_way.eq(0)
        with m.Else():
            m.d.sync += under_way.eq(under_way + asked - brought)
        return m

    def _cut(self, m: Module) -> Signal:
        """Beats to words, each as often as it is wanted. Returns whether a run's last one
        leaves."""
        part = self._part
        m.submodules.words = words = Gearbox(
            self._config.beat_bytes, (part.word_bits // 8,), part.run_words.bit_length()
        )
        brought = Signal()
        m.d.comb += [
            words.clear.eq(self.stop),
            # All runs are alike, and only their beats come.
            words.request.valid.eq(1),
            words.request.payload.count.eq(part.run_words),
            words.lines.valid.eq(self.i.valid),
            words.lines.payload.eq(self.i.payload.data),
            self.i.ready.eq(words.lines.ready),
            self.o.valid.eq(words.o.valid & ~self.stop),
            self.o.payload.data.eq(through(m, part.functions, words.o.payload.data)),
            words.o.ready.eq(self.o.ready),
            brought.eq(self.o.valid & words.o.ready & words.o.payload.last),
        ]
        if part.repeats > 1:
            number = Signal(range(part.repeats))
            again = Signal()
            m.d.comb += [
                again.eq(number != part.repeats - 1),
                words.o.ready.eq(self.o.ready & ~again),
            ]
            with m.If(self.stop):
                m.d.sync += number.eq(0)
            with m.Elif(self.o.valid & self.o.ready):
                m.d.sync += number.eq(Mux(again, number + 1, 0))
        return brought
