"""Fork and join between streams that keep the rules, for every sequence of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.stream.fork import Fork
from tilewright.hw.stream.join import Join
from tilewright.verif.stream.proof import never_broken

BITS = 2
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
