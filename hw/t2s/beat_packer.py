"""Words of runs into beats."""

from __future__ import annotations

from math import gcd

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout

__all__ = ["BeatPacker"]


class BeatPacker(wiring.Component):
    """Packs runs of words into beats.

    A run starts at the beginning of a beat. The rest of its last beat is zero, without strobes.

    A word a cycle, or a beat a cycle if words are wider; a run whose last word lies in two beats
    takes one cycle more. Latency one cycle.

    Parameters
    ----------
    word_bytes, beat_bytes: of a word, of a beat
    run_words: words of a run

    Members
    -------
    i: words
    o: beats
    ends: the beat at ``o`` is the last of its run
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, word_bytes: int, beat_bytes: int, run_words: int) -> None:
        self._granule = granule = gcd(word_bytes, beat_bytes)
        self._word, self._beat = word_bytes // granule, beat_bytes // granule
        self._run_words = run_words
        super().__init__(
            {
                "i": In(stream.Signature(8 * word_bytes)),
                "o": Out(stream.Signature(store_layout(8 * beat_bytes))),
                "ends": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = self._beat - 1 + self._word
        bits = 8 * self._granule
        # Granules that wait, and whether the run's last word is among them.
        level = Signal(range(most + 1))
        complete = Signal()
        held = Signal(most * bits)
        # The level that remains when a beat leaves.
        left = Signal.like(level, name="left")
        takes = Signal()
        leaves = Signal()
        last = self._count(m)
        full = level >= self._beat
        m.d.comb += [
            self.o.valid.eq(full | complete),
            self.o.payload.data.eq(held[: self._beat * bits]),
            self.o.payload.strobe.eq(
                Cat((level > n).replicate(self._granule) for n in range(self._beat))
            ),
            self.ends.eq(complete & (level <= self._beat) if most > self._beat else complete),
            leaves.eq(self.o.valid & self.o.ready),
            left.eq(level),
        ]
        with m.If(leaves):
            m.d.comb += left.eq(Mux(full, level - self._beat, 0))
        m.d.comb += [
            self.i.ready.eq((left < self._beat) & (~complete | (leaves & self.ends))),
            takes.eq(self.i.valid & self.i.ready),
        ]
        self._hold(m, held, left, takes, leaves)
        with m.If(self.clear):
            m.d.sync += [level.eq(0), complete.eq(0)]
        with m.Elif(takes):
            m.d.sync += [level.eq(left + self._word), complete.eq(last)]
        with m.Else():
            m.d.sync += [level.eq(left), complete.eq(complete & ~(leaves & self.ends))]
        return m

    def _hold(self, m: Module, held: Signal, left: Signal, takes: Value, leaves: Value) -> None:
        """Puts a word behind those that remain, and takes a beat away. Granules above the level are
        zero. Each granule has an enable of its own."""
        bits = 8 * self._granule
        word = self._placed(m, left, len(held))
        for place in range(len(held) // bits):
            granule = held[place * bits : (place + 1) * bits]
            behind = held[(place + self._beat) * bits :][:bits]
            here = Signal(name=f"takes_{place}")
            # A word begins within a beat.
            begins = range(max(0, place - self._word + 1), min(place + 1, self._beat))
            m.d.comb += here.eq(takes & Cat(left == first for first in begins).any())
            with m.If(self.clear | (leaves & ~here) if not len(behind) else self.clear):
                m.d.sync += granule.eq(0)
            with m.Elif(here):
                m.d.sync += granule.eq(word[place * bits : (place + 1) * bits])
            if len(behind):
                with m.Elif(leaves):
                    m.d.sync += granule.eq(behind)

    def _count(self, m: Module) -> Value:
        """Tells whether the word at ``i`` is the last of its run."""
        if self._run_words == 1:
            return Const(1)
        number = Signal(range(self._run_words))
        last = Signal()
        m.d.comb += last.eq(number == self._run_words - 1)
        with m.If(self.clear):
            m.d.sync += number.eq(0)
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += number.eq(Mux(last, 0, number + 1))
        return last

    def _placed(self, m: Module, left: Signal, size: int) -> Value:
        """Returns the word at ``i`` after ``left`` granules, which are undefined."""
        if self._word == 1:
            # A word is a granule: it may be in all places.
            return self.i.payload.replicate(size // len(self.i.payload))
        moved: Value = Cat(self.i.payload, Const(0, size - len(self.i.payload)))
        for stage in range((self._beat - 1).bit_length()):
            step = 8 * self._granule << stage
            placed = Signal(size, name=f"placed_{1 << stage}")
            m.d.comb += placed.eq(Mux(left[stage], moved.shift_left(step)[:size], moved))
            moved = placed
        return moved
