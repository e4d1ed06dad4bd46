"""The gearbox against a plain count of bytes, for every sequence of inputs of 12 cycles.

Lines carry their bytes' numbers. The gearbox moves bytes without looking at them, so that what it
does to these it does to any.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.stream.gearbox import Gearbox
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.stream.proof import never_broken

COUNT_BITS = 2
CYCLES = 12
"""A proof for all cycles has no plain count of bytes beside it: that wraps."""

SIZES: dict[str, tuple[int, tuple[int, ...]]] = {
    # bytes of a line, and of entries
    "wider": (3, (2,)),
    "narrower": (2, (3, 1)),
    "equal": (2, (2,)),
    "several": (2, (4, 2)),
}


class WatchedGearbox(wiring.Component):
    """A gearbox between sources and a sink that keep the rules of streams, beside a count.

    Parameters
    ----------
    line_bytes, sizes: of the gearbox
    kept: what of a request's last line is left is not dropped, which is wrong unless they fit

    Members
    -------
    offer, size, count: a request that is offered unless another still is; ``count`` from 1 on
    comes: a line is offered unless one still is
    take: whether the sink is ready
    clear: the gearbox forgets everything; requests and lines begin anew
    broken: an entry has other bytes than those that follow, or ends a request too early or too
        late; one that is offered changes; or with all that is needed nothing moves
    """

    def __init__(self, line_bytes: int, sizes: Sequence[int], *, kept: bool = False) -> None:
        self._line_bytes, self._sizes, self._kept = line_bytes, tuple(sizes), kept
        super().__init__(
            {
                **dict.fromkeys(("offer", "comes", "take", "clear", "size"), In(1)),
                "count": In(COUNT_BITS),
                "broken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = Gearbox(self._line_bytes, self._sizes, COUNT_BITS)
        asking, offering = Signal(), Signal()
        kept_size, kept_count = Signal(), Signal(COUNT_BITS)
        size, count = Signal(), Signal(COUNT_BITS)
        # Bytes of the lines so far.
        first = Signal(8)
        m.d.comb += [
            size.eq(Mux(asking, kept_size, self.size)),
            count.eq(Mux(asking, kept_count, self.count)),
            part.request.valid.eq(asking | (self.offer & (self.count != 0))),
            part.request.payload.count.eq(count),
            part.lines.valid.eq(offering | self.comes),
            part.lines.payload.eq(Cat((first + n)[:8] for n in range(self._line_bytes))),
            part.o.ready.eq(self.take),
            part.clear.eq(self.clear),
        ]
        if len(self._sizes) > 1:
            m.d.comb += part.request.payload.size.eq(size)
        m.d.sync += [
            asking.eq(part.request.valid & ~part.request.ready & ~self.clear),
            offering.eq(part.lines.valid & ~part.lines.ready & ~self.clear),
            kept_size.eq(size),
            kept_count.eq(count),
        ]
        with m.If(part.lines.valid & part.lines.ready):
            m.d.sync += first.eq(first + self._line_bytes)
        self._compare(m, part, size, count)
        with m.If(self.clear):
            m.d.sync += first.eq(0)
        return m

    def _compare(self, m: Module, part: Gearbox, size: Signal, count: Signal) -> None:
        """Entries as they leave, of the request that they belong to."""
        # The entry that is offered may be the last of a request that was taken with it.
        past = Signal()
        past_size, past_count = Signal(), Signal(COUNT_BITS)
        number, place = Signal(COUNT_BITS), Signal(8)
        of_size = Mux(past, past_size, size) if len(self._sizes) > 1 else Const(0)
        of_count = Mux(past, past_count, count)
        taken = part.o.valid & part.o.ready
        length = Signal(8)
        behind = Signal(8)
        last = Signal()
        right = [
            Cat(part.o.payload.data[8 * n : 8 * n + 8] == (place + n)[:8] for n in range(bytes_))
            for bytes_ in self._sizes
        ]
        same = Array(equal.all() for equal in right)[of_size]
        lines = Array(Const(n * self._line_bytes, 8) for n in range(-(-256 // self._line_bytes)))
        ends = (place + length)[:8]
        m.d.comb += [
            length.eq(Array(Const(bytes_) for bytes_ in self._sizes)[of_size]),
            last.eq(number + 1 == of_count),
            behind.eq(lines[(ends + (self._line_bytes - 1)) // self._line_bytes]),
        ]
        with m.If(taken):
            m.d.sync += [number.eq(Mux(last, 0, number + 1)), place.eq(ends)]
            if not self._kept:
                m.d.sync += place.eq(Mux(last, behind, ends))
        with m.If(part.request.valid & part.request.ready):
            m.d.sync += [past.eq(1), past_size.eq(size), past_count.eq(count)]
        with m.Elif(taken & last):
            m.d.sync += past.eq(0)
        offered, before = Signal(), Signal(len(part.o.payload.as_value()))
        m.d.sync += [
            offered.eq(part.o.valid & ~part.o.ready & ~self.clear),
            before.eq(part.o.payload.as_value()),
        ]
        changed = offered & (~part.o.valid | (part.o.payload.as_value() != before))
        wrong = part.o.valid & (~same | (part.o.payload.last != last))
        # With a request, a line and a sink either a line is taken or an entry is there next.
        could, moved = Signal(), Signal()
        m.d.sync += [
            could.eq(part.request.valid & part.lines.valid & part.o.ready & ~self.clear),
            moved.eq(part.lines.ready),
        ]
        m.d.comb += self.broken.eq(changed | wrong | (could & ~moved & ~part.o.valid))
        with m.If(self.clear):
            m.d.sync += [past.eq(0), number.eq(0), place.eq(0)]


@pytest.mark.parametrize("name", slow_but([], SIZES, ["wider"]))
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    assert never_broken(WatchedGearbox(*SIZES[name]), tmp_path, cycles=CYCLES)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that what is left of a last line was to be kept."""
    assert not never_broken(WatchedGearbox(*SIZES["wider"], kept=True), tmp_path)
