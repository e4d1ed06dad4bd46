"""Takes words to an image in memory."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import request_layout, store_layout
from ..spec.t2s.config import T2sConfig
from ..spec.t2s.parts import MemoryPart
from .beat_packer import BeatPacker
from .layouts import run_count_bits, word_layout
from .run_walker import RunWalker, walk_members
from .word_function import through

__all__ = ["Unloader"]

_MOST_ASKED = 7
"""Runs that are requested and not handed over: a writer takes some requests ahead of data."""


class Unloader(wiring.Component):
    """Packs words into beats and requests their runs of a burst writer. Words come through the
    part's functions.

    The last beat of a run has strobes for the run's words only, and zeros behind them.

    Parameters
    ----------
    part: what is unloaded; its words are not repeated
    config: widths of addresses and beats

    Members
    -------
    start: pulse: a job begins
    stop: level: drop everything
    base, stride_*, trips_*: where the runs lie, see :func:`walk_members`; constant in a job
    running: runs are left that were not handed over
    i: the words
    request, o: streams to a burst writer
    """

    def __init__(self, part: MemoryPart, config: T2sConfig) -> None:
        if part.repeats != 1:
            raise ValueError(f"words of {part.name} must not be repeated")
        self._part, self._config = part, config
        request = request_layout(config.addr_bits, run_count_bits(config))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **walk_members(part, config),
                "running": Out(1),
                "i": In(stream.Signature(word_layout(part.word_bits))),
                "request": Out(stream.Signature(request)),
                "o": Out(stream.Signature(store_layout(config.data_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._config
        m.submodules.walker = walker = RunWalker(part, config)
        m.submodules.packer = packer = BeatPacker(
            part.word_bits // 8, config.beat_bytes, part.run_words
        )
        for name in ("start", "stop", *walk_members(part, config)):
            m.d.comb += getattr(walker, name).eq(getattr(self, name))
        # Runs that were requested and not handed over to the end.
        asked = Signal(range(_MOST_ASKED + 1))
        asks = Signal()
        ends = Signal()
        m.d.comb += [
            self.request.valid.eq(walker.o.valid & (asked != _MOST_ASKED)),
            self.request.payload.address.eq(walker.o.payload),
            self.request.payload.beats.eq(part.run_beats(config.beat_bytes)),
            asks.eq(self.request.valid & self.request.ready),
            walker.o.ready.eq(asks),
            packer.clear.eq(self.stop),
            packer.i.valid.eq(self.i.valid & ~self.stop),
            packer.i.payload.eq(through(m, part.functions, self.i.payload.data)),
            self.i.ready.eq(packer.i.ready & ~self.stop),
            # Beats that nobody has requested are not handed over.
            self.o.valid.eq(packer.o.valid & (asked != 0)),
            self.o.payload.eq(packer.o.payload),
            packer.o.ready.eq(self.o.ready & (asked != 0)),
            ends.eq(self.o.valid & self.o.ready & packer.ends),
            self.running.eq(walker.running | (asked != 0)),
        ]
        with m.If(self.stop):
            m.d.sync += asked.eq(0)
        with m.Else():
            m.d.sync += asked.eq(asked + asks - ends)
        return m
