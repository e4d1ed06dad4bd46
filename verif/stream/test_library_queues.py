"""Compares the queues with those of Amaranth's library, an independent implementation."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.sim import Simulator
from tilewright.hw.stream.queue import DeepQueue, Queue

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
