"""Accelerators' activity counters: cycles in which something happens, and numbers of bits set."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.job.activity import Activity, count, ones
from tilewright.hw.spec.registers.register_map import COUNTER_BITS
from tilewright.verif.native.parts import NativeParts

WIDTHS = (1, 2, 3, 7, 16)


class Counters(wiring.Component):
    """Counts of single steps, and of the bits that are set; ``ones_<n>``: the bits of a vector."""

    def __init__(self) -> None:
        self.clear: Any
        members: dict[str, wiring.Member] = {"clear": In(1)}
        for width in WIDTHS:
            members |= {
                f"bits_{width}": In(width),
                f"ones_{width}": Out(width.bit_length()),
                f"total_{width}": Out(COUNTER_BITS),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for width in WIDTHS:
            step = ones(getattr(self, f"bits_{width}"))
            m.d.comb += getattr(self, f"ones_{width}").eq(step)
            count(m, self, f"total_{width}", step)
        return m


RTL = NativeParts("activity", {"activity": Activity, "counters": Counters})


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_activity(share: float) -> None:
    """Cycles between the first and the last active one, in every cycle; a clear forgets all."""
    part, chosen = RTL["activity"], random.Random(f"{share}")

    async def bench(sim: Any) -> None:
        active: list[bool] = []
        for _ in range(4000):
            clear, now = chosen.random() < 0.002, chosen.random() < share
            sim.set(part.clear, int(clear))
            sim.set(part.active, int(now))
            await sim.tick()
            active.append(now)
            if clear:
                active.clear()
            found = sim.get(part.busy_cycles), sim.get(part.stalls)
            if any(active):
                first, last = active.index(True), len(active) - active[::-1].index(True)
                busy = sum(active)
                assert found == (busy, last - first - busy)
            else:
                assert found == (0, 0)

    RTL.simulate("activity", bench)


def test_counts() -> None:
    part, chosen = RTL["counters"], random.Random(1)

    async def bench(sim: Any) -> None:
        totals = dict.fromkeys(WIDTHS, 0)
        for _ in range(3000):
            clear = chosen.random() < 0.002
            sim.set(part.clear, int(clear))
            for width in WIDTHS:
                bits = chosen.getrandbits(width)
                sim.set(getattr(part, f"bits_{width}"), bits)
                assert sim.get(getattr(part, f"ones_{width}")) == bits.bit_count()
                totals[width] = 0 if clear else totals[width] + bits.bit_count()
            await sim.tick()
            for width, total in totals.items():
                assert sim.get(getattr(part, f"total_{width}")) == total

    RTL.simulate("counters", bench)
