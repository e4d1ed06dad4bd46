"""Compares the queues with those of Amaranth's library; a delay in a memory."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.sim import Simulator
from tilewright.hw.stream.queue import DeepQueue, Queue
from tilewright.hw.stream.ring import DelayRing
from tilewright.verif.kit.commands import refusal
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.quick


BITS = 16


@pytest.mark.parametrize("depth", [2, 5, 8])
@pytest.mark.parametrize(
    ("queue", "library", "output"), [(Queue, SyncFIFO, 0), (DeepQueue, SyncFIFOBuffered, 1)]
)
def test_equal_in_every_cycle(queue: Any, library: Any, output: int, depth: int) -> None:
    """Both accept, offer and hold the same under random gaps and stalls.

    ``output``: transfers at the output, which only the library's depth includes.
    """
    m, chosen = Module(), random.Random(depth)
    m.submodules.ours = ours = queue(BITS, depth)
    m.submodules.theirs = theirs = library(width=BITS, depth=depth + output)
    taken = 0

    async def bench(sim: Any) -> None:
        nonlocal taken
        for cycle in range(400):
            # Times in which the queue fills, and times in which it empties.
            share = 0.8 if cycle // 50 % 2 else 0.2
            valid, ready = chosen.random() < share, chosen.random() < 1 - share
            word = chosen.getrandbits(BITS)
            for name, value in (("valid", valid), ("payload", word)):
                sim.set(getattr(ours.i, name), value)
                sim.set(getattr(theirs.w_stream, name), value)
            sim.set(ours.o.ready, ready)
            sim.set(theirs.r_stream.ready, ready)
            assert sim.get(ours.i.ready) == sim.get(theirs.w_stream.ready)
            assert sim.get(ours.o.valid) == sim.get(theirs.r_stream.valid)
            if sim.get(ours.o.valid):
                assert sim.get(ours.o.payload) == sim.get(theirs.r_stream.payload)
                taken += ready
            await sim.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert taken > 60


CYCLES = [2, 3, 4, 9]
RTL = NativeParts("delay_rings", {f"ring_{n}": partial(DelayRing, 7, n) for n in CYCLES})


@pytest.mark.parametrize("cycles", CYCLES)
def test_words_come_so_many_cycles_later(cycles: int) -> None:
    ring = RTL[f"ring_{cycles}"]
    words = [(37 * n + 5) % 128 for n in range(40)]
    found = []

    async def bench(sim: Any) -> None:
        for word in words:
            sim.set(ring.i, word)
            found.append(sim.get(ring.o))
            await sim.tick()

    RTL.simulate(f"ring_{cycles}", bench)
    assert found[cycles:] == words[:-cycles]


def test_refusal() -> None:
    assert refusal(lambda: DelayRing(7, 1)) == "`cycles` must be at least 2, not 1"
