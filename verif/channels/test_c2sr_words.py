"""Pairs and entries that are taken out of beats, against their bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from tilewright.hw.channels.c2sr_words import entry_of, pair_of
from tilewright.hw.spec.c2sr import PAIR_BYTES, VALUES, C2srLayout


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
