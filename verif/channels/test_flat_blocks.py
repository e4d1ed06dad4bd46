"""Whole blocks of an array at consecutive addresses, as spans of the channels in turn."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.channels.flat_blocks import FlatBlocks
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.geometries import EVERY, GEOMETRIES

BLOCKS = 40


def addresses(geometry: ChannelGeometry, *, stall: float, seed: str) -> list[int]:
    """Returns the addresses of the requested blocks, for two arrays at 0 in succession."""
    part, rng, found = FlatBlocks(geometry), random.Random(seed), list[int]()

    async def bench(sim: Any) -> None:
        for _ in range(2):
            sim.set(part.start, 1)
            sim.set(part.want, 0)
            await sim.tick()
            sim.set(part.start, 0)
            taken = 0
            while taken < BLOCKS:
                sim.set(part.want, int(rng.random() >= stall))
                sim.set(part.spans.ready, int(rng.random() >= stall))
                assert sim.get(part.spans.valid) == sim.get(part.want)
                moves = sim.get(part.spans.valid) & sim.get(part.spans.ready)
                assert sim.get(part.taken) == moves
                if moves:
                    span = part.spans.payload
                    assert sim.get(span.beats) == geometry.block_beats
                    block, channel = sim.get(span.block), sim.get(span.channel)
                    found.append(geometry.flat(0, channel, block * geometry.interleave))
                    taken += 1
                await sim.tick()

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("name", EVERY)
def test_blocks_are_at_consecutive_addresses(name: str, stall: float) -> None:
    geometry = GEOMETRIES[name]
    expected = [n * geometry.interleave for n in range(BLOCKS)]
    assert addresses(geometry, stall=stall, seed=name) == 2 * expected
