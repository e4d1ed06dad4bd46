"""Checks where the placer puts words of arrays in channels against their byte addresses."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from tilewright.hw.channels.array_readers import HeldBlock, entry_of, pair_of
from tilewright.hw.channels.beat_packer import WordPlacer
from tilewright.hw.spec.c2sr import PAIR_BYTES, VALUES, C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.placed_words import (
    EVERY,
    GEOMETRIES,
    base_of,
    draw_words,
    placed,
    word_sizes,
)
from tilewright.verif.channels.streams import StreamRun
from tilewright.verif.kit.sampling import by_size

LATENCY = 2
STEPS = by_size((1, 3), (1, 3, 16), (1, 2, 3, 4, 8, 16))


@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.3, 0.4)])
@pytest.mark.parametrize("name", EVERY)
def test_places(name: str, gap: float, stall: float) -> None:
    """Places words in order, one per cycle without stalls."""
    geometry, rng = GEOMETRIES[name], random.Random(f"places {name} {gap}")
    for word_bytes in word_sizes(geometry):
        for step in STEPS:
            part = WordPlacer(geometry, word_bytes=word_bytes, step=step)
            base = base_of(rng, geometry)
            words = [
                word for _ in range(3) for word in draw_words(rng, geometry, word_bytes, step, 20)
            ]
            run = StreamRun(
                part,
                {"i": words},
                ["o"],
                wires={"base": base},
                cycles=260,
                gap=gap,
                stall=stall,
                watched=["empty"],
                seed=step,
            )
            how = {"word_bytes": word_bytes, "step": step}
            assert run.payloads("o") == [placed(geometry, base, word, **how) for word in words]
            assert run.ports == {"empty": 1}
            if not gap:
                assert [cycle for cycle, _ in run.found["o"]] == list(range(LATENCY, LATENCY + 60))


@pytest.mark.parametrize("slots", [2, 3, 8])
def test_slots_go_along(slots: int) -> None:
    geometry, rng = GEOMETRIES["eight channels"], random.Random(slots)
    words = [{**word, "slot": rng.randrange(slots)} for word in draw_words(rng, geometry, 8, 1, 40)]
    part = WordPlacer(geometry, word_bytes=8, step=1, slots=slots)
    run = StreamRun(part, {"i": words}, ["o"], cycles=200, gap=0.2, stall=0.2)
    assert [found["slot"] for found in run.payloads("o")] == [word["slot"] for word in words]


@pytest.mark.parametrize("clear_at", range(6))
def test_clear_forgets_all(clear_at: int) -> None:
    geometry, rng = GEOMETRIES["three channels"], random.Random(7)
    words = draw_words(rng, geometry, 8, 1, 20)
    part = WordPlacer(geometry, word_bytes=8, step=1)
    run = StreamRun(
        part, {"i": words}, ["o"], cycles=20, stall=0.3, clear_at=clear_at, watched=["empty"]
    )
    assert all(cycle < clear_at for cycle, _ in run.found["o"])
    assert run.ports == {"empty": 1}


# Pairs and entries that are taken out of beats, against their bytes.


def at_every_place(words: Any, count: int, beat: int, beat_bits: int) -> list[tuple[int, ...]]:
    """Returns the values of ``words(beat, number)`` for each number."""
    m, data, number = Module(), Signal(beat_bits), Signal(range(max(2, count)))
    taken = [Signal(64, name=f"word_{n}") for n in range(2)]
    for wire, value in zip(taken, words(data, number), strict=True):
        m.d.comb += wire.eq(value)
    found: list[tuple[int, ...]] = []

    async def bench(sim: Any) -> None:
        sim.set(data, beat)
        for place in range(count):
            sim.set(number, place)
            found.append(tuple(sim.get(wire) for wire in taken))

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize("beat_bytes", [8, 16, 64])
def test_pairs(beat_bytes: int) -> None:
    """Length in the low half, pointer in the high one."""
    beat = random.Random(beat_bytes).randbytes(beat_bytes)
    expected = [
        tuple(int.from_bytes(beat[at + n : at + n + 4], "little") for n in (0, 4))
        for at in range(0, beat_bytes, PAIR_BYTES)
    ]
    word = int.from_bytes(beat, "little")
    assert at_every_place(pair_of, len(expected), word, 8 * beat_bytes) == expected


@pytest.mark.parametrize("index_bits", [16, 32])
@pytest.mark.parametrize("value", VALUES)
def test_entries(value: str, index_bits: int) -> None:
    """The value first, then the column, then what is not looked at."""
    layout = C2srLayout(value=value, index_bits=index_bits)
    value_bytes, index_bytes = layout.format.bits // 8, index_bits // 8
    for beat_bytes in (16, 64):
        beat = random.Random(f"{value} {index_bits}").randbytes(beat_bytes)
        expected = [
            (
                int.from_bytes(beat[at : at + value_bytes], "little"),
                int.from_bytes(beat[at + value_bytes :][:index_bytes], "little"),
            )
            for at in range(0, beat_bytes, layout.entry_bytes)
        ]
        word = int.from_bytes(beat, "little")
        found = at_every_place(
            lambda data, number: entry_of(layout, data, number),
            len(expected),
            word,
            8 * beat_bytes,
        )
        assert found == expected


# Beats of whole blocks, of which the wanted ones are used: each in time, none of the others.


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
