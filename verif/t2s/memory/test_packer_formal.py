"""The packer of beats against a plain count of bytes, for every sequence of inputs of some cycles.

Words carry their bytes' numbers. The packer moves bytes without looking at them, so that what it
does to these it does to any.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.t2s.beat_packer import BeatPacker
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.stream.proof import never_broken

pytestmark = pytest.mark.long

SIZES = {
    # bytes of a word and of a beat, words of a run
    "narrow": (1, 2, 3),
    "across": (3, 4, 3),
    "equal": (2, 2, 2),
    "wide": (6, 4, 1),
    "several": (4, 2, 2),
}


class WatchedPacker(wiring.Component):
    """A packer between a source and a sink that keep the rules of streams, beside a count.

    Parameters
    ----------
    word_bytes, beat_bytes, run_words: of the packer
    gaps: runs are said to follow each other without what fills their last beats, which is wrong
        unless they end with beats

    Members
    -------
    comes: a word is offered unless one still is
    take: whether the sink is ready
    clear: the packer forgets everything; runs begin anew
    broken: a beat has other bytes or strobes than it should, or is said to end a run where it does
        not; one that is offered changes; or with all that is needed nothing moves
    """

    def __init__(
        self, word_bytes: int, beat_bytes: int, run_words: int, *, gaps: bool = True
    ) -> None:
        self._sizes = word_bytes, beat_bytes, run_words
        self._gaps = gaps
        super().__init__({**dict.fromkeys(("comes", "take", "clear"), In(1)), "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word_bytes, _, _ = self._sizes
        m.submodules.part = part = BeatPacker(*self._sizes)
        offering = Signal()
        # Bytes of the words so far.
        first = Signal(8)
        m.d.comb += [
            part.i.valid.eq(offering | self.comes),
            part.i.payload.eq(Cat((first + n)[:8] for n in range(word_bytes))),
            part.o.ready.eq(self.take),
            part.clear.eq(self.clear),
        ]
        m.d.sync += offering.eq(part.i.valid & ~part.i.ready & ~self.clear)
        with m.If(part.i.valid & part.i.ready):
            m.d.sync += first.eq(first + word_bytes)
        self._compare(m, part)
        with m.If(self.clear):
            m.d.sync += first.eq(0)
        return m

    def _compare(self, m: Module, part: BeatPacker) -> None:
        """Beats as they leave, beside the run that they belong to."""
        word_bytes, beat_bytes, run_words = self._sizes
        run_bytes = word_bytes * run_words
        # The run's first byte, and of the beat within the run.
        begin, place = Signal(8), Signal(range(run_bytes + beat_bytes))
        inside = [place + n < run_bytes for n in range(beat_bytes)]
        wanted = Cat(Mux(inside[n], (begin + place + n)[:8], 0) for n in range(beat_bytes))
        ends = place + beat_bytes >= run_bytes
        beat = part.o.payload
        wrong = (beat.data != wanted) | (beat.strobe != Cat(inside)) | (part.ends != ends)
        with m.If(part.o.valid & part.o.ready):
            m.d.sync += place.eq(place + beat_bytes)
            with m.If(ends):
                m.d.sync += [place.eq(0), begin.eq(begin + run_bytes)]
                if not self._gaps:
                    m.d.sync += begin.eq(begin + place + beat_bytes)
        offered, before = Signal(), Signal(len(beat.as_value()))
        m.d.sync += [
            offered.eq(part.o.valid & ~part.o.ready & ~self.clear),
            before.eq(beat.as_value()),
        ]
        changed = offered & (~part.o.valid | (beat.as_value() != before))
        stuck = part.i.valid & ~part.i.ready & ~part.o.valid
        m.d.comb += self.broken.eq(changed | stuck | (part.o.valid & wrong))
        with m.If(self.clear):
            m.d.sync += [begin.eq(0), place.eq(0)]


@pytest.mark.parametrize("name", slow_but([], SIZES, ["across"]))
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    assert never_broken(WatchedPacker(*SIZES[name]), tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that what fills a last beat was to be left out."""
    assert not never_broken(WatchedPacker(*SIZES["across"], gaps=False), tmp_path)
