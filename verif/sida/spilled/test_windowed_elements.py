"""The late part of the second product with w in memory, bit for bit: whatever is on chip of it,
and however long the memory takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.held.matrices import SHAPES
from tilewright.verif.sida.held.pass_bench import drawn_passes
from tilewright.verif.sida.spilled.configs import DEVICES, few
from tilewright.verif.sida.spilled.windowed_bench import run_windowed

pytestmark = pytest.mark.long

EVERY = slow_but(["two rows"], DEVICES, ["two rows", "semirings"])
MEMORIES: list[dict[str, Any]] = [
    {"latency": 20, "stall": 0.2, "gap": 0.3},
    {"latency": 1},
    {"latency": 150, "stall": 0.8},
    {"latency": 4, "gap": 0.3},
]


@pytest.mark.parametrize("name", EVERY)
def test_the_sums_are_the_model_s(name: str) -> None:
    """Passes one after the other, and of the transpose between them."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 8)):
        rng = np.random.default_rng(seed)
        names = list(SHAPES) if by_size(0, 0, 1) else ["hubs", "band"]
        size = int(rng.integers(20, 40))
        given = drawn_passes(config, seed, names, size)
        given[1:1] = drawn_passes(config, seed + 1, ["power", "empty"], size // 2, transposed=True)
        run_windowed(config, given, seed=seed, **MEMORIES[seed % len(MEMORIES)])


@pytest.mark.long
def test_a_size_of_one_and_all_that_there_may_be() -> None:
    """As many rows as the accelerator takes, eight times what is on chip."""
    config = DEVICES["two rows"]
    given = [one for size in (1, 4, 64) for one in drawn_passes(config, size, ["sparse"], size)]
    run_windowed(config, given, latency=10)


@pytest.mark.long
def test_where_there_is_room_each_row_comes_once() -> None:
    """And with less room some come again, as rows of a slot alternate."""
    ample = few(vector_words=64)
    size = 37
    given = drawn_passes(ample, 3, ["lower"], size)
    (found,) = run_windowed(ample, given, latency=30)
    late = given[0].matrix.columns // 4
    assert found.counts["missed"] == len(np.unique(late))
    scarce = few(vector_words=8)
    (again,) = run_windowed(scarce, given, latency=30)
    assert again.counts["missed"] > found.counts["missed"]


@pytest.mark.slow
def test_a_clear_forgets_everything() -> None:
    """Whenever it comes, in an exchange or while all goes to memory: what follows is as if nothing
    had been before."""
    config = few(vector_words=16)
    for at in by_size([150], [150, 330], list(range(1, 700, 13))):
        given = drawn_passes(config, at, ["hubs"], 30, clear_at=at, transposed=at % 2 == 0)
        given += drawn_passes(config, at + 1, ["band"], 18)
        run_windowed(config, given, latency=12, stall=0.2, gap=0.1, seed=at)


def test_a_slot_without_a_row_is_not_read() -> None:
    """Elements on their way are, then."""
    config = DEVICES["two rows a step"]
    given = drawn_passes(config, 10, ["half"], 25)
    run_windowed(config, given, seed=1, latency=4, stall=0.8, gap=0.3)


@pytest.mark.slow
def test_a_memory_that_takes_little() -> None:
    """Columns go no further than there is room for what they begin with."""
    config = few(subtensor=16, vector_words=16)
    run_windowed(config, drawn_passes(config, 5, ["empty"], 64), stall=0.97)
