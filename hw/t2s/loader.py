"""Brings the words of an image from memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout, request_layout
from ..spec.jobs.t2s import entries_parts, job_spec, memory_parts, steps_register, trips_register
from ..spec.t2s.config import T2sConfig
from ..spec.t2s.parts import ElementPart, MemoryPart
from ..spec.t2s.tokens import STEPS_BITS
from ..stream.gearbox import Gearbox
from .run_walker import RunWalker, walk_members
from .word_function import through


def word_layout(word_bits: int, *, flagged: bool = False) -> data.StructLayout:
    """A word, all its lanes, lane 0 in the low bits. With flags, ``first``: sums begin with it, and
    ``last``: they are complete with it."""
    flags: dict[str, ShapeLike] = {"first": 1, "last": 1} if flagged else {}
    return data.StructLayout({"data": word_bits, **flags})


def in_containers(part: ElementPart, sums: Value) -> Value:
    """Sums that stand side by side in an element, each in its container."""
    fmt = part.arithmetic.result
    below = Const(0, fmt.container_bits - fmt.bits)
    words = (sums.word_select(n, fmt.bits) for n in range(part.vector))
    return Cat(Cat(below, word) for word in words)


def job_layout(config: T2sConfig) -> data.StructLayout:
    """A job: its registers by their members' names, as wide as their checks allow."""
    widths = {trips_register(index): config.trip_bits for index in config.plan.indices}
    widths |= {steps_register(part): STEPS_BITS for part in entries_parts(config)}
    known = {name.lower(): bits for name, bits in widths.items()}
    members = job_spec(config).members
    return data.StructLayout({name: known.get(name, config.addr_bits) for name in members})


def run_count_bits(config: T2sConfig) -> int:
    """Width of a request's number of beats: that of the longest run, or of a burst, in which
    tokens are requested."""
    runs = [part.run_beats(config.beat_bytes) for part in memory_parts(config)]
    bursts = [config.burst_beats] if config.plan.sparse else []
    return max(*runs, *bursts).bit_length()


__all__ = ["Loader"]


class Loader(wiring.Component):
    """Requests the runs of an image, cuts their beats into words, and repeats the words.

    Words leave through the part's functions.

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
        """Cuts beats into words, each repeated as often as wanted.

        Returns whether the last word of a run leaves.
        """
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
