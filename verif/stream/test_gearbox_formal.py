"""The gearbox moves every byte to its place, for every sequence of inputs, however long.

One byte of all lines is marked, any one. The gearbox moves bytes without looking at them, so that
what it does to this one it does to any.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.stream.gearbox import Gearbox
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.stream.proof import never_broken
from tilewright.verif.stream.prover import prove

COUNT_BITS = 2
PLACE_BITS = 5

SIZES: dict[str, tuple[int, tuple[int, ...]]] = {
    # bytes of a line, and of entries
    "wider": (3, (2,)),
    "narrower": (2, (3, 1)),
    "equal": (2, (2,)),
    "several": (2, (4, 2)),
}


class WatchedGearbox(wiring.Component):
    """A gearbox between sources and a sink that keep the rules of streams, and one marked byte.

    Parameters
    ----------
    line_bytes, sizes: of the gearbox
    kept: a byte of a request's last line is taken to be kept for the next one, which is wrong

    Members
    -------
    offer, size, count: a request that is offered unless another still is; ``count`` from 1 on
    comes: a line is offered unless one still is
    take: whether the sink is ready
    mark: the byte of a new line that is marked, counted from 1, unless one was before
    clear: the gearbox forgets everything; requests and lines begin anew
    broken: an entry has the mark without its byte or lacks it, or ends a request too early or too
        late; one that is offered changes; or with all that is needed nothing moves
    reached_mark: a marked byte of a later line of a request leaves
    """

    def __init__(self, line_bytes: int, sizes: Sequence[int], *, kept: bool = False) -> None:
        self._line_bytes, self._sizes, self._kept = line_bytes, tuple(sizes), kept
        super().__init__(
            {
                **dict.fromkeys(("offer", "comes", "take", "clear", "size"), In(1)),
                "count": In(COUNT_BITS),
                "mark": In(range(line_bytes + 1)),
                "broken": Out(1),
                "reached_mark": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = Gearbox(self._line_bytes, self._sizes, COUNT_BITS)
        asking, offering = Signal(), Signal()
        kept_size, kept_count = Signal(), Signal(COUNT_BITS)
        size, count = Signal(), Signal(COUNT_BITS)
        line, kept_line, marked = Signal(self._line_bytes), Signal(self._line_bytes), Signal()
        new = [(self.mark == n + 1) & ~marked & self.comes for n in range(self._line_bytes)]
        m.d.comb += [
            line.eq(Mux(offering, kept_line, Cat(new))),
            size.eq(Mux(asking, kept_size, self.size)),
            count.eq(Mux(asking, kept_count, self.count)),
            part.request.valid.eq(asking | (self.offer & (self.count != 0))),
            part.request.payload.count.eq(count),
            part.lines.valid.eq(offering | self.comes),
            part.lines.payload.eq(Cat(Cat(bit, Const(0, 7)) for bit in line)),
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
            kept_line.eq(line),
            marked.eq(marked | line.any()),
        ]
        self._compare(m, part, size, count, line)
        return m

    def _marked_place(
        self, m: Module, part: Gearbox, line: Signal, past: Signal, past_ends: Value
    ) -> tuple[Value, Signal]:
        """Whether the marked byte is one of the request of the entry that is offered, and its place
        there."""
        # Bytes of this request's lines so far; the mark, in it or in the one before.
        first, place = Signal(PLACE_BITS), Signal(PLACE_BITS)
        here, before = Signal(), Signal()
        line_taken = part.lines.valid & part.lines.ready
        request_taken = part.request.valid & part.request.ready
        enters = line_taken & line.any()
        with m.If(line_taken):
            m.d.sync += first.eq(first + self._line_bytes)
        with m.If(request_taken):
            m.d.sync += first.eq(1 if self._kept else 0)
        for n in range(self._line_bytes):
            with m.If(enters & line[n]):
                m.d.sync += place.eq(first + n)
        m.d.sync += [
            here.eq((here | enters) & ~request_taken),
            before.eq(((here | enters) & request_taken) | (before & ~past_ends)),
        ]
        with m.If(self.clear):
            m.d.sync += [first.eq(0), here.eq(0), before.eq(0)]
        return Mux(past, before, here), place

    def _compare(self, m: Module, part: Gearbox, size: Signal, count: Signal, line: Signal) -> None:
        """Entries as they leave, of the request that they belong to."""
        # The entry that is offered may be the last of a request that was taken with it.
        past = Signal()
        past_size, past_count = Signal(), Signal(COUNT_BITS)
        number, place = Signal(COUNT_BITS), Signal(PLACE_BITS)
        of_size = Mux(past, past_size, size) if len(self._sizes) > 1 else Const(0)
        of_count = Mux(past, past_count, count)
        taken = part.o.valid & part.o.ready
        length = Signal(PLACE_BITS)
        last = Signal()
        has, at = self._marked_place(m, part, line, past, taken & last)
        right = [
            Cat(
                part.o.payload.data[8 * n : 8 * n + 8] == (has & (at == place + n))
                for n in range(bytes_)
            )
            for bytes_ in self._sizes
        ]
        leaves = has & (at >= place) & (at < place + length) & (at >= self._line_bytes)
        m.d.comb += self.reached_mark.eq(taken & leaves)
        same = Array(equal.all() for equal in right)[of_size]
        m.d.comb += [
            length.eq(Array(Const(bytes_) for bytes_ in self._sizes)[of_size]),
            last.eq(number + 1 == of_count),
        ]
        with m.If(taken):
            m.d.sync += [
                number.eq(Mux(last, 0, number + 1)),
                place.eq(Mux(last, 0, place + length)),
            ]
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
    verdict = prove(WatchedGearbox(*SIZES[name]), tmp_path)
    assert verdict.holds is True
    assert verdict.reached["reached_mark"] is not None


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that a byte of the last line was to be kept."""
    assert not never_broken(WatchedGearbox(*SIZES["wider"], kept=True), tmp_path)
