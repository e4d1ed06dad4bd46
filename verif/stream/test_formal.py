"""Stream plumbing against a plain model of a queue, for every sequence of inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from tilewright.hw.stream.fork_join import Fork, Join
from tilewright.hw.stream.queue import DeepQueue, Queue
from tilewright.hw.stream.stream_registers import OutputRegister, SkidBuffer
from tilewright.verif.stream.agents import RigidPipeline
from tilewright.verif.stream.prover import Colliding, never_broken

BITS = 2
PARTS: dict[str, tuple[Callable[[], Any], int, int]] = {
    # what builds it, its latency, how many transfers it holds
    "skid_buffer": (lambda: SkidBuffer(BITS), 1, 2),
    "skid_buffer_direct": (lambda: SkidBuffer(BITS, output_register=False), 0, 1),
    "output_register": (lambda: OutputRegister(BITS), 1, 1),
    "queue": (lambda: Queue(BITS, 3), 1, 3),
    "deep_queue": (lambda: DeepQueue(BITS, 2), 2, 3),
    "deep_queue_register": (lambda: DeepQueue(BITS, 2, register=True), 3, 4),
    "skid_buffer_clear": (lambda: SkidBuffer(BITS, clearable=True), 1, 2),
    "output_register_clear": (lambda: OutputRegister(BITS, clearable=True), 1, 1),
    "valid_pipeline": (lambda: RigidPipeline(BITS, 3), 3, 3),
    "valid_pipeline_skid": (lambda: RigidPipeline(BITS, 2, skid=True), 3, 4),
}


class Watched(wiring.Component):
    """A part between a source and a sink that keep the rules of streams, beside a plain queue.

    Parameters
    ----------
    part: the component
    latency: cycles after which a transfer must be offered once it is the next; of a part whose
        stages move together, those in which they do
    capacity: transfers that it may hold

    Members
    -------
    offer, payload: what the source offers unless it still offers something else
    take: whether the sink is ready
    clear: if the part has one: it forgets everything, and need not keep what it offers
    broken: a rule was broken: valid or payload changed before ready, or something was lost,
        invented, reordered or late
    """

    def __init__(self, part: Any, *, latency: int, capacity: int) -> None:
        self._part, self._latency, self._capacity = part, latency, capacity
        super().__init__(
            {
                **dict.fromkeys(("offer", "take", "clear"), In(1)),
                "payload": In(BITS),
                "broken": Out(1),
            },
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = part = self._part
        waiting = Signal()
        kept = Signal(BITS)
        put = Signal()
        taken = Signal()
        m.d.comb += [
            part.i.valid.eq(self.offer | waiting),
            part.i.payload.eq(Mux(waiting, kept, self.payload)),
            part.o.ready.eq(self.take),
            put.eq(part.i.valid & part.i.ready),
            taken.eq(part.o.valid & part.o.ready),
        ]
        if hasattr(part, "clear"):
            m.d.comb += part.clear.eq(self.clear)
        m.d.sync += [waiting.eq(part.i.valid & ~part.i.ready), kept.eq(part.i.payload)]
        self._compare(m, put, taken)
        return m

    def _compare(self, m: Module, put: Signal, taken: Signal) -> None:
        """The plain queue: entries move down, the oldest is entry 0."""
        part, count = self._part, Signal(range(self._capacity + 1))
        entries = [Signal(BITS, name=f"entry_{n}") for n in range(self._capacity)]
        ages = [Signal(range(self._latency + 1), name=f"age_{n}") for n in range(self._capacity)]
        offered = Signal()
        before = Signal(BITS)
        m.d.sync += [
            count.eq(count + put - taken),
            offered.eq(part.o.valid & ~part.o.ready),
            before.eq(part.o.payload),
        ]
        for n in range(self._capacity):
            above = min(n + 1, self._capacity - 1)
            source = [Mux(taken, rows[above], rows[n]) for rows in (entries, ages)]
            older = Mux(source[1] == self._latency, self._latency, source[1] + 1)
            if isinstance(part, RigidPipeline):
                older = Mux(part.i.ready, older, source[1])
            m.d.sync += [entries[n].eq(source[0]), ages[n].eq(older)]
            with m.If(put & (count - taken == n)):
                m.d.sync += [entries[n].eq(part.i.payload), ages[n].eq(1)]
        if hasattr(part, "clear"):
            with m.If(self.clear):
                m.d.sync += [count.eq(0), offered.eq(0)]
        changed = offered & (~part.o.valid | (part.o.payload != before))
        here, due, oldest = count != 0, (count != 0) & (ages[0] == self._latency), entries[0]
        if self._latency == 0:
            # An offered word is due at once if the part is empty.
            oldest = Mux(here, oldest, part.i.payload)
            here = due = here | part.i.valid
        wrong = part.o.valid & (~here | (part.o.payload != oldest))
        late = due & ~part.o.valid
        full = put & ~taken & (count == self._capacity)
        m.d.comb += self.broken.eq(changed | wrong | late | full)


def holds(part: Any, latency: int, capacity: int, directory: Path) -> bool:
    return never_broken(Watched(part, latency=latency, capacity=capacity), directory)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_no_sequence_breaks_a_rule(name: str, tmp_path: Path) -> None:
    build, latency, capacity = PARTS[name]
    assert holds(build(), latency, capacity, tmp_path)


@pytest.mark.slow
def test_a_rule_can_be_broken(tmp_path: Path) -> None:
    """The same check finds a queue that holds more, or answers later, than it should."""
    assert not holds(Queue(BITS, 3), 1, 2, tmp_path)
    assert not holds(DeepQueue(BITS, 2), 1, 3, tmp_path)


class Careless(wiring.Component):
    """Reads a memory where it writes it."""

    def __init__(self) -> None:
        ports = {"i": In(stream.Signature(BITS)), "o": Out(stream.Signature(BITS))}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=BITS, depth=2, init=[])
        write, read = storage.write_port(), storage.read_port()
        place = Signal()
        m.d.sync += place.eq(place + self.i.valid)
        m.d.comb += [write.en.eq(self.i.valid), write.addr.eq(place), read.addr.eq(~place)]
        m.d.comb += [write.data.eq(self.i.payload), self.o.payload.eq(read.data)]
        with m.If(self.o.ready):
            m.d.comb += read.addr.eq(place)
        return m


@pytest.mark.slow
def test_no_word_is_read_while_it_is_written(tmp_path: Path) -> None:
    """So memories may leave open what such a read finds, see ``NO_COLLISIONS``."""
    for register in (False, True):
        for depth in (2, 3):
            part = DeepQueue(BITS, depth, register=register)
            assert never_broken(Colliding(part, "storage"), tmp_path)
    assert not never_broken(Colliding(Careless(), "storage"), tmp_path)


# The prover itself: it finds what is broken in the last cycle that it looks at, no later one, and
# only what inputs can bring about.

AT = 5


class Counting(wiring.Component):
    """``broken`` is set when ``count`` was so many times set; with ``kept`` it takes no notice.

    Members
    -------
    count: counts a cycle
    broken: the count is reached
    """

    def __init__(self, *, kept: bool = False) -> None:
        self._kept = kept
        super().__init__({"count": In(1), "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = Signal(range(AT + 1))
        with m.If(self.count & (number != AT)):
            m.d.sync += number.eq(0 if self._kept else number + 1)
        m.d.comb += self.broken.eq(number == AT)
        return m


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "cycles", "holds"), [
    (False, AT, True),
    (False, AT + 1, False),
    (True, 2 * AT, True),
])  # fmt: skip
def test_what_can_be_broken_is_found(kept: bool, cycles: int, holds: bool, tmp_path: Path) -> None:
    assert never_broken(Counting(kept=kept), tmp_path, cycles=cycles) == holds


# Fork and join between streams that keep the rules, for every sequence of inputs.

COUNT = 2


def _source(m: Module, name: str, port: Any, offer: Value, payload: Value) -> None:
    """Describes a source that keeps its offer until the transfer."""
    waiting = Signal(name=f"{name}_waiting")
    kept = Signal(BITS, name=f"{name}_kept")
    m.d.comb += [
        port.valid.eq(offer | waiting),
        port.payload.eq(Mux(waiting, kept, payload)),
    ]
    m.d.sync += [waiting.eq(port.valid & ~port.ready), kept.eq(port.payload)]


def _changed(m: Module, name: str, port: Any) -> Value:
    """Returns whether an offer without a transfer disappeared or changed."""
    offered = Signal(name=f"{name}_offered")
    before = Signal(len(Value.cast(port.payload)), name=f"{name}_before")
    payload = Value.cast(port.payload)
    m.d.sync += [offered.eq(port.valid & ~port.ready), before.eq(payload)]
    return offered & (~port.valid | (payload != before))


class WatchedFork(wiring.Component):
    """A fork, with a plain record of the outputs that have accepted the word at its input.

    Parameters
    ----------
    fork: the fork, of two outputs
    patient: a sink that is ready stays so until it takes something, as a lazy fork asks for

    Members
    -------
    offer, payload, to: what the source offers, unless it still offers something else
    take: whether each sink is ready
    clear: (eager)
    broken: an output broke a rule of streams, took something twice or something not for it, or the
        input moved on before all had theirs, or anyone waited in vain
    """

    def __init__(self, fork: Fork, *, patient: bool) -> None:
        self._fork, self._patient = fork, patient
        widths = {"offer": 1, "payload": BITS, "to": COUNT, "take": COUNT, "clear": 1}
        super().__init__({**{name: In(width) for name, width in widths.items()}, "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = fork = self._fork
        _source(m, "i", fork.i, self.offer, self.payload)
        to, waiting = Signal(COUNT), Signal()
        m.d.comb += fork.to.eq(Mux(waiting, to, self.to))
        m.d.sync += [waiting.eq(fork.i.valid & ~fork.i.ready), to.eq(fork.to)]
        had = Signal(COUNT)
        ready = Signal(COUNT)
        valid = Cat(o.valid for o in fork.o)
        takes = valid & ready
        moves = fork.i.valid & fork.i.ready
        m.d.comb += ready.eq(self.take)
        if self._patient:
            still = Signal(COUNT)
            m.d.comb += ready.eq(self.take | still)
            m.d.sync += still.eq(ready & ~takes)
        for index, o in enumerate(fork.o):
            m.d.comb += o.ready.eq(ready[index])
        m.d.sync += had.eq(Mux(moves, 0, had | takes))
        rules = [_changed(m, f"o_{index}", o) for index, o in enumerate(fork.o)]
        if fork.eager:
            m.d.comb += fork.clear.eq(self.clear)
            with m.If(self.clear):
                m.d.sync += had.eq(0)
            late = fork.i.valid & ((fork.to & ~had) != valid)
        else:
            late = fork.i.valid & ((fork.to & ~ready) == 0) & ~fork.i.ready
        unwanted = valid & (~fork.to | had | ~fork.i.valid.replicate(COUNT))
        left = moves & (fork.to & ~(had | takes)).any()
        payload = Cat(o.valid & (o.payload != fork.i.payload) for o in fork.o)
        m.d.comb += self.broken.eq(Cat(*rules, late, unwanted.any(), left, payload).any())
        return m


class WatchedJoin(wiring.Component):
    """A join of two inputs, the second needed or not.

    Members
    -------
    offer, payload: of each source, unless it still offers something else
    needs: whether the second input is needed, which stays until something moves
    take: whether the sink is ready
    broken: a rule of streams was broken, a transfer was lost, invented or kept waiting
    """

    def __init__(self) -> None:
        widths = {"offer": COUNT, "payload": COUNT * BITS, "needs": 1, "take": 1}
        super().__init__({**{name: In(width) for name, width in widths.items()}, "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = join = Join({"a": BITS, "b": BITS})
        inputs = (join.i_a, join.i_b)
        for index, i in enumerate(inputs):
            payload = self.payload.word_select(index, BITS)
            _source(m, f"i_{index}", i, self.offer[index], payload)
        needs, kept = Signal(), Signal()
        m.d.comb += [
            join.needs_b.eq(Mux(kept, needs, self.needs)),
            join.o.ready.eq(self.take),
        ]
        moves = join.o.valid & join.o.ready
        m.d.sync += [kept.eq(join.i_a.valid & ~moves), needs.eq(join.needs_b)]
        takes = [i.valid & i.ready for i in inputs]
        there = join.i_a.valid & (join.i_b.valid | ~join.needs_b)
        wrong = join.o.valid & (join.o.payload.a != join.i_a.payload)
        wrong |= join.o.valid & join.needs_b & (join.o.payload.b != join.i_b.payload)
        # The payload of an input that is not needed has no meaning, and may change.
        shown = Signal()
        payload = Signal(BITS)
        m.d.sync += [shown.eq(join.o.valid & ~moves), payload.eq(join.o.payload.a)]
        changed = shown & (~join.o.valid | (join.o.payload.a != payload))
        m.d.comb += self.broken.eq(
            changed
            | wrong
            | (there != join.o.valid)
            | (takes[0] != moves)
            | (takes[1] != (moves & join.needs_b))
        )
        return m


@pytest.mark.slow
@pytest.mark.parametrize("eager", [False, True])
def test_no_sequence_breaks_a_fork(eager: bool, tmp_path: Path) -> None:
    assert never_broken(WatchedFork(Fork(BITS, COUNT, eager=eager), patient=not eager), tmp_path)


@pytest.mark.slow
def test_a_lazy_fork_needs_patient_sinks(tmp_path: Path) -> None:
    """The same check finds the offer that is taken back when a sink is ready no longer."""
    assert not never_broken(WatchedFork(Fork(BITS, COUNT), patient=False), tmp_path)


@pytest.mark.slow
def test_no_sequence_breaks_a_join(tmp_path: Path) -> None:
    assert never_broken(WatchedJoin(), tmp_path)
