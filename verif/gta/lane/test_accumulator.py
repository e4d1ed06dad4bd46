"""The multi-precision accumulator alone: it adds any limbs at their weights."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.gta.lane.multi_precision_accumulator import (
    MultiPrecisionAccumulator,
    sum_bits,
    unit_delay,
)
from tilewright.hw.spec.gta import COLS, GtaConfig, limbs
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.long

SETS = [
    ("int8", "int16", "int32", "int64"),
    ("int8",),
    ("int16", "int32"),
    ("int8", "int64"),
    ("int64",),
]


def partial_sums(rng: random.Random, config: GtaConfig, count: int) -> list[list[int]]:
    """Sums of each column, one after the other, the ends of their range among others."""
    half = 1 << (config.partial_bits - 1)
    return [
        [rng.choice([-half, half - 1, rng.randint(-half, half - 1)]) for _ in range(COLS)]
        for _ in range(count)
    ]


def run(config: GtaConfig, size: int, seed: int) -> None:
    """Groups of ``size`` columns, each column a cycle later than the one before it."""
    rng = random.Random(seed)
    part = MultiPrecisionAccumulator(config)
    count = 6 * size
    sums = partial_sums(rng, config, count)
    groups = range(size - 1, COLS, size)
    compared = 0

    async def bench(sim: Any) -> None:
        nonlocal compared
        sim.set(part.limbs_log, size.bit_length() - 1)
        for cycle in range(count + COLS + 8):
            for c in range(COLS):
                at = cycle - c
                sim.set(part.sums[c], sums[at][c] if 0 <= at < count else rng.getrandbits(20))
            first = 0
            for c in groups:
                at = cycle - c - unit_delay(config, c)
                first |= (0 <= at < count and at % size == 0) << c
                done = at - size
                if 0 <= done < count and done % size == 0:
                    total = sum(
                        sums[done + i][c + 1 - size + j] << 8 * (size - 1 - i + j)
                        for i in range(size)
                        for j in range(size)
                    )
                    bits = sum_bits(config, c)
                    assert sim.get(part.o)[f"column_{c}"] == total % (1 << bits), (cycle, c)
                    compared += 1
            sim.set(part.first, first)
            await sim.tick()

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert compared == count // size * len(groups)


@pytest.mark.parametrize("formats", slow_but(SETS[:1], SETS))
def test_groups(formats: tuple[str, ...]) -> None:
    """Sums groups of every size of the configuration, over the whole range of the columns."""
    config = GtaConfig(formats=formats)
    for seed, name in enumerate(config.integers):
        run(config, limbs(name), seed)
