"""Beats of whole blocks, of which the wanted ones are used: each in time, none of the others."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.channels.held_block import HeldBlock
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.geometries import EVERY, GEOMETRIES


@dataclass(frozen=True)
class Use:
    """Beat ``beat`` of block ``block``, used once; ``done``: not again."""

    block: int
    beat: int
    done: bool


def draw_uses(rng: random.Random, geometry: ChannelGeometry, blocks: int) -> list[Use]:
    """Draws one or more uses of every block in ascending order; some beats are never used, some
    several times. A beat that is used again is done only with its last use.
    """
    uses = []
    for block in range(blocks):
        beats = sorted(rng.choices(range(geometry.block_beats), k=rng.randint(1, 6)))
        for this, following in zip(beats, [*beats[1:], None], strict=True):
            uses.append(Use(block, this, this != following and rng.random() < 0.7))
    return uses


class Run:
    """Runs the component and records its output at every use, and the cycle of each.

    Parameters
    ----------
    gap: share of the cycles in which no beat comes, and in which nothing is taken
    ends: after the last use the rest of the blocks is discarded
    """

    def __init__(self, geometry: ChannelGeometry, uses: list[Use], *, gap: float, seed: str):
        self._geometry, self._uses, self._gap = geometry, uses, gap
        self._random = random.Random(seed)
        self._blocks = uses[-1].block + 1
        self.seen: list[int] = []
        self.cycles: list[int] = []
        self.left = self._blocks * geometry.block_beats
        self.part = HeldBlock(geometry)
        simulator = Simulator(self.part)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._bench)
        simulator.run()

    def word(self, block: int, beat: int) -> int:
        return block << 8 | beat

    async def _bench(self, sim: Any) -> None:
        part, beats = self.part, self.part.beats
        length = self._geometry.block_beats
        total, sent, held, used = self.left, 0, False, 0
        for cycle in range(40 * total + 100):
            held = sent < total and (held or self._random.random() >= self._gap)
            sim.set(beats.valid, int(held))
            if held:
                block, beat = divmod(sent, length)
                last = int(beat == length - 1)
                sim.set(beats.payload, {"data": self.word(block, beat), "last": last})
            use = self._uses[used] if used < len(self._uses) else None
            before = self._uses[used - 1].block if used else -1
            sim.set(part.want, int(use is not None))
            sim.set(part.discard, int(use is None))
            if use is not None:
                sim.set(part.next, int(use.block != before))
                sim.set(part.beat, use.beat)
                sim.set(part.done, int(use.done))
            takes = sim.get(part.here) == 1 and self._random.random() >= self._gap
            sim.set(part.take, int(takes))
            if takes:
                assert use is not None, "a beat is there that nobody wants"
                self.seen.append(sim.get(beats.payload.data))
                self.cycles.append(cycle)
                used += 1
            if held and sim.get(beats.ready):
                sent, held = sent + 1, False
            await sim.tick()
            if sent == total and used == len(self._uses):
                break
        self.left = total - sent


@pytest.mark.parametrize("gap", [0.0, 0.4])
@pytest.mark.parametrize("name", EVERY)
def test_every_use_sees_its_beat(name: str, gap: float) -> None:
    """Shows each use its beat; all beats leave, the last block's when it is discarded."""
    geometry = GEOMETRIES[name]
    uses = draw_uses(random.Random(f"uses {name}"), geometry, 25)
    # A use that keeps the last beat of a block would keep the block for ever.
    uses = [
        Use(use.block, use.beat, use.done or (use.beat == geometry.block_beats - 1 and ends))
        for use, ends in zip(uses, _ends(uses), strict=True)
    ]
    run = Run(geometry, uses, gap=gap, seed=f"held {name} {gap}")
    assert run.seen == [run.word(use.block, use.beat) for use in uses]
    assert run.left == 0


def _ends(uses: list[Use]) -> list[bool]:
    """Marks each use that is the last of its block."""
    following = [use.block for use in uses[1:]]
    return [use.block != after for use, after in zip(uses, [*following, None], strict=True)]


@pytest.mark.parametrize("name", EVERY)
def test_a_beat_every_cycle(name: str) -> None:
    """Uses each beat once, and one per cycle."""
    geometry = GEOMETRIES[name]
    uses = [Use(block, beat, True) for block in range(8) for beat in range(geometry.block_beats)]
    run = Run(geometry, uses, gap=0.0, seed=name)
    assert run.cycles == list(range(len(uses)))
