"""The walk over the rows of an operand: long loops, and distances over the whole address width."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tilewright.hw.engine.layouts import Sizes
from tilewright.hw.engine.operand_walk import RowWalker
from tilewright.hw.spec.engine import SIZE_BITS
from tilewright.verif.engine.jobs import CONFIGS
from tilewright.verif.native.parts import NativeParts

CONFIG = CONFIGS["small"]
RTL = NativeParts("row_walk", {"walker": lambda: RowWalker(CONFIG)})
LEVELS = "ijk"
DISTANCES = ("base", "step_i", "step_j", "step_k", "step_row")


def rows_of(inputs: dict[str, int], row_last: int, beat_last: int) -> Iterator[tuple[int, ...]]:
    """Address, last beat, row, whether it is the block's last, buffer; and the three ends."""
    ends = [inputs[f"{level}_last"] for level in LEVELS]
    blocks = (
        (i, j, k)
        for i in range(ends[0] + 1)
        for j in range(ends[1] + 1)
        for k in range(ends[2] + 1)
    )
    for number, place in enumerate(blocks):
        address = inputs["base"]
        address += sum(inputs[f"step_{x}"] * n for x, n in zip(LEVELS, place, strict=True))
        at_ends = [n == end for n, end in zip(place, ends, strict=True)]
        for row in range(row_last + 1):
            at = (address + row * inputs["step_row"]) % (1 << CONFIG.addr_bits)
            yield at, beat_last, row, row == row_last, number % 2, *at_ends


def check_walk(
    lasts: tuple[int, ...],
    rng: random.Random,
    *,
    pauses: float = 0.0,
    stop_after: int | None = None,
) -> None:
    """Compare a walk, or its beginning, with the loops; ``pauses`` of ready and of the credit."""
    sizes = Sizes(CONFIG)
    inputs = {name: rng.getrandbits(CONFIG.addr_bits) for name in DISTANCES}
    inputs |= {f"{level}_last": last for level, last in zip(LEVELS, lasts, strict=True)}
    row_last = rng.randrange(1 << sizes.row_bits) if pauses else 0
    beat_last = rng.randrange(1 << sizes.beat_bits)

    async def bench(sim: Any) -> None:
        walker = RTL["walker"]
        row_of = walker.o.payload
        for name, value in (*inputs.items(), ("row_last", row_last), ("beat_last", beat_last)):
            sim.set(getattr(walker, name), value)
        sim.set(walker.o.ready, 1)
        assert not sim.get(walker.running)
        sim.set(walker.start, 1)
        await sim.tick()
        sim.set(walker.start, 0)
        credit = ready = True
        sim.set(walker.credit, 1)
        for number, wanted in enumerate(rows_of(inputs, row_last, beat_last)):
            if number == stop_after:
                sim.set(walker.stop, 1)
                await sim.tick()
                sim.set(walker.stop, 0)
                break
            first = wanted[2] == 0
            while pauses:
                credit, ready = rng.random() >= pauses, rng.random() >= pauses
                sim.set(walker.credit, credit)
                sim.set(walker.o.ready, ready)
                valid = not first or credit
                assert (sim.get(walker.o.valid), sim.get(walker.claim)) == (
                    valid,
                    valid and ready and first,
                )
                if valid and ready:
                    break
                await sim.tick()
            assert sim.get(walker.running)
            assert sim.get(walker.o.valid)
            found = sim.get(row_of)
            ends = [sim.get(getattr(walker, f"at_{level}_last")) for level in LEVELS]
            names = ("address", "last_beat", "row", "last", "buffer")
            assert (*(found[name] for name in names), *ends) == wanted, number
            await sim.tick()
        assert not sim.get(walker.running)
        assert not sim.get(walker.o.valid)

    RTL.simulate("walker", bench)


def test_row_walk_of_short_loops() -> None:
    rng = random.Random(1)
    for _ in range(12):
        lasts = tuple(rng.randrange(4) for _ in LEVELS)
        check_walk(lasts, rng, pauses=0.3)
        check_walk(lasts, rng, pauses=0.3, stop_after=rng.randrange(8))


@pytest.mark.parametrize("level", range(3))
def test_row_walk_of_a_long_loop(level: int) -> None:
    """Ends with every bit of the count both 0 and 1."""
    rng = random.Random(2)
    bits = (SIZE_BITS, SIZE_BITS, Sizes(CONFIG).k_bits)[level]
    longest = (0x96B5 & (1 << bits) - 1, ~0x96B5 & (1 << bits) - 1)
    for last in longest:
        check_walk(tuple(last if n == level else 0 for n in range(3)), rng)
