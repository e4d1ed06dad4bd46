"""A delay in a memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tilewright.hw.stream.ring import DelayRing
from tilewright.verif.kit.commands import refusal
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.quick

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
