"""The gearbox: every pair of sizes, requests of any length, an entry or a line a cycle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.stream.gearbox import Gearbox, entries_layout, entry_layout
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents
from tilewright.verif.stream.prover import never_broken, prove

SIZES: dict[str, tuple[int, tuple[int, ...]]] = {
    "slots": (16, (12, 20, 28)),
    "odd": (8, (5,)),
    "prime": (12, (7, 11)),
    "equal": (16, (16,)),
    "halves": (16, (8, 4)),
    "long": (8, (36, 3)),
    "multiple": (8, (32,)),
}
"""Bytes of a line, and of entries."""

RTL = NativeParts(
    "gearboxes", {name: partial(Gearbox, line, sizes, 16) for name, (line, sizes) in SIZES.items()}
)


@dataclass
class Run:
    """Runs a gearbox with the wanted entries and records its outputs."""

    name: str
    wanted: Sequence[tuple[int, int]]
    gap: float = 0.0
    stall: float = 0.0
    seed: int = 0
    clear_at: int | None = None

    def __post_init__(self) -> None:
        line_bytes, sizes = SIZES[self.name]
        rng = random.Random(f"{self.name} {self.seed}")
        part = RTL[self.name]
        layout, entry = entries_layout(sizes, 16), entry_layout(sizes)
        self.lines: list[bytes] = []
        self.expected: list[tuple[bytes, int]] = []
        requests = []
        for size, count in self.wanted:
            data = rng.randbytes(-(-count * sizes[size] // line_bytes) * line_bytes)
            self.lines += [data[n : n + line_bytes] for n in range(0, len(data), line_bytes)]
            for n in range(count):
                content = data[n * sizes[size] : (n + 1) * sizes[size]]
                self.expected.append((content, int(n == count - 1)))
            fields = {"count": count, **({"size": size} if len(sizes) > 1 else {})}
            requests.append(layout.const(fields).as_bits())
        lines = [int.from_bytes(line, "little") for line in self.lines]
        source = Source(part.request, requests, gap=self.gap, seed=f"request {self.seed}")
        self.source = Source(part.lines, lines, gap=self.gap, seed=f"lines {self.seed}")
        self.sink = Sink(part.o, stall=self.stall, seed=self.seed)
        clear = Wire(part.clear, lambda cycle: int(cycle == self.clear_at))

        def until(_: object, cycle: int) -> bool:
            if cycle == self.clear_at:
                # The run starts anew from here.
                self.sink.words.clear()
                self.sink.forget()
                for one, words in ((source, requests), (self.source, lines)):
                    one.forget()
                    one.words += words
            return len(self.sink.words) == len(self.expected)

        agents: list[Agent] = [source, self.source, self.sink, clear]
        run_agents(partial(RTL.simulate, self.name), agents, until=until)
        self.found = []
        for (content, _), word in zip(self.expected, self.sink.words, strict=True):
            view = entry.from_bits(word)
            data = (view.data & (1 << 8 * len(content)) - 1).to_bytes(len(content), "little")
            self.found.append((data, view.last))


def draw(name: str, seed: int, requests: int = 12) -> list[tuple[int, int]]:
    rng = random.Random(f"{name} {seed}")
    sizes = SIZES[name][1]
    return [(rng.randrange(len(sizes)), rng.choice([1, 2, 3, 7, 20])) for _ in range(requests)]


PAUSES = [(0.4, 0.4), (0.0, 0.7), (0.7, 0.0)]


@pytest.mark.parametrize("pauses", slow_but(PAUSES[:1], PAUSES))
@pytest.mark.parametrize("name", slow_but(["slots", "long"], SIZES))
def test_entries_follow_each_other_within_a_request(name: str, pauses: tuple[float, float]) -> None:
    for seed in range(by_size(1, 2, 8)):
        run = Run(name, draw(name, seed), *pauses, seed=seed)
        assert run.found == run.expected, seed
        assert run.source.done


@pytest.mark.parametrize("name", slow_but(["slots", "long"], SIZES))
def test_an_entry_or_a_line_a_cycle(name: str) -> None:
    """This rate holds across requests too."""
    line, sizes = SIZES[name]
    wanted = [(n % len(sizes), 40) for n in range(6)]
    run = Run(name, wanted)
    needed = sum(max(count, -(-count * sizes[size] // line)) for size, count in wanted)
    first = run.source.cycles[0]
    assert run.sink.cycles[-1] - first <= needed


@pytest.mark.parametrize("name", slow_but(["slots", "long"], SIZES))
def test_an_entry_is_offered_before_it_is_taken(name: str) -> None:
    """The offer does not change."""
    part, seen = RTL[name], []

    async def bench(sim: Any) -> None:
        sim.set(part.request.valid, 1)
        sim.set(part.request.payload, {"count": 9})
        sim.set(part.lines.valid, 1)
        for cycle in range(40):
            sim.set(part.lines.payload, cycle + 1)
            seen.append((sim.get(part.o.valid), sim.get(part.o.payload).as_bits()))
            await sim.tick()

    RTL.simulate(name, bench)
    assert seen[0][0] == 0
    assert seen[20][0] == 1
    assert set(seen[20:]) == {seen[20]}


@pytest.mark.parametrize("clear_at", [3, 11, 20])
def test_after_a_clear_it_begins_anew(clear_at: int) -> None:
    run = Run("slots", draw("slots", clear_at), 0.2, 0.4, seed=clear_at, clear_at=clear_at)
    assert run.found == run.expected


@pytest.mark.parametrize("sizes", [(), (4, 0)])
def test_sizes_that_cannot_be(sizes: tuple[int, ...]) -> None:
    message = f"`sizes` must be of at least 1 byte each, not {sizes}"
    assert refusal(lambda: Gearbox(8, sizes, 8)) == message


# The gearbox moves every byte to its place, for every sequence of inputs, however long.
#
# One byte of all lines is marked, any one. The gearbox moves bytes without looking at them, so
# that what it does to this one it does to any.

COUNT_BITS = 2
PLACE_BITS = 5

SIZES_FORMAL: dict[str, tuple[int, tuple[int, ...]]] = {
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
        """Returns whether the marked byte belongs to the request of the offered entry, and its
        place there."""
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
        # If a request, a line and a sink are ready, the part accepts the line or offers an entry
        # next.
        could, moved = Signal(), Signal()
        m.d.sync += [
            could.eq(part.request.valid & part.lines.valid & part.o.ready & ~self.clear),
            moved.eq(part.lines.ready),
        ]
        m.d.comb += self.broken.eq(changed | wrong | (could & ~moved & ~part.o.valid))
        with m.If(self.clear):
            m.d.sync += [past.eq(0), number.eq(0), place.eq(0)]


@pytest.mark.parametrize("name", slow_but([], SIZES_FORMAL, ["wider"]))
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    verdict = prove(WatchedGearbox(*SIZES_FORMAL[name]), tmp_path)
    assert verdict.holds is True
    assert verdict.reached["reached_mark"] is not None


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds that a byte of the last line was to be kept."""
    assert not never_broken(WatchedGearbox(*SIZES_FORMAL["wider"], kept=True), tmp_path)
