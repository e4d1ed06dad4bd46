"""A delay in a memory."""

from __future__ import annotations

from typing import Any

import pytest
from tilewright.hw.stream.delay_ring import DelayRing
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.stream.simulated import simulate


@pytest.mark.parametrize("cycles", [2, 3, 4, 9])
def test_words_come_so_many_cycles_later(cycles: int) -> None:
    ring = DelayRing(7, cycles)
    words = [(37 * n + 5) % 128 for n in range(40)]
    found = []

    async def bench(sim: Any) -> None:
        for word in words:
            sim.set(ring.i, word)
            found.append(sim.get(ring.o))
            await sim.tick()

    simulate(ring, bench)
    assert found[cycles:] == words[:-cycles]


def test_refusal() -> None:
    assert refusal(lambda: DelayRing(7, 1)) == "`cycles` must be at least 2, not 1"
