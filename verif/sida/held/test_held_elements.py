"""The late part of the second product, bit for bit, whatever the buffer and the timing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.held.matrices import SHAPES
from tilewright.verif.sida.held.pass_bench import Pass, Seen, drawn_passes, run_passes

pytestmark = pytest.mark.long


def small(**changes: Any) -> SidaConfig:
    given: dict[str, Any] = {
        "pes": 4,
        "subtensor": 4,
        "buffer_words": 64,
        "vector_words": 64,
        "value": "fp32",
        "semirings": ("mma",),
    }
    return SidaConfig(**{**given, **changes})


DEVICES = {
    "tiny": small(),
    "ample": small(subtensor=8, buffer_words=4096),
    "semirings": small(value="int32", semirings=("mma", "minplus", "orand"), adder_stages=1),
    "fp16": small(subtensor=8, buffer_words=128, value="fp16", multiplier_stages=1),
    "one panel": small(subtensor=64, adder_stages=2),
    "eight": small(pes=8, subtensor=8, buffer_words=256),
}
EVERY = slow_but(["tiny"], DEVICES, ["tiny", "semirings"])


def ran(config: SidaConfig, given: list[Pass], **others: Any) -> list[Seen]:
    seen = run_passes(config, given, **others)
    for one, found in zip(given, seen, strict=True):
        late = one.matrix.rows // config.subtensor + 2 > one.matrix.columns // config.subtensor
        late |= one.transposed
        assert found.counts["most"] <= min(config.buffer_words, int(late.sum()))
    return seen


@pytest.mark.parametrize("name", EVERY)
def test_the_sums_are_the_model_s(name: str) -> None:
    """Passes one after the other, with gaps and without."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 4)):
        rng = np.random.default_rng(seed)
        names = list(SHAPES) if by_size(0, 0, 1) else ["hubs", "band", "lower", "empty"]
        given = drawn_passes(config, seed, names, int(rng.integers(17, 30)))
        ran(config, given, gap=0.3 * (seed % 2 == 0), seed=seed)


def test_a_size_of_one_and_less_than_a_step() -> None:
    config = small(subtensor=8)
    for size in by_size([9], [9], [1, 2, 7, 9]):
        ran(config, drawn_passes(config, size, ["dense"], size), gap=0.2)


@pytest.mark.parametrize("name", EVERY)
def test_the_sums_of_the_transpose(name: str) -> None:
    """Likewise, and from pass to pass of the other kind; first values that come from elsewhere do
    not count."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 4)):
        rng = np.random.default_rng(seed)
        names = list(SHAPES) if by_size(0, 0, 1) else ["upper", "dense", "empty"]
        size = int(rng.integers(13, 22))
        given = drawn_passes(config, seed, names, size, transposed=True)
        ran(config, [*given, *drawn_passes(config, seed, ["hubs"], size), given[0]],
            gap=0.3 * (seed % 2 == 0), seed=seed)  # fmt: skip


def test_elements_of_the_transpose_wait_a_few_steps() -> None:
    """Those of three steps at most, so that nothing is lost where there is space for them."""
    config = small(buffer_words=512)
    given = drawn_passes(config, 3, ["half"], 27, transposed=True)
    (found,) = ran(config, given)
    steps = np.bincount(given[0].matrix.columns // config.subtensor)
    assert found.asked == []
    assert found.counts["most"] <= np.convolve(steps, np.ones(3, int)).max()


@pytest.mark.slow
def test_nothing_is_lost_where_there_is_space() -> None:
    """And from four words a bank up what is lost is asked for, once each, the highest first."""
    shape = ["half"]
    ample = small(buffer_words=1024)
    (found,) = ran(ample, drawn_passes(ample, 1, shape, 20))
    assert found.asked == []
    least = small(buffer_words=64)
    (found,) = ran(least, drawn_passes(least, 1, shape, 20))
    assert found.asked
    assert found.asked == sorted(found.asked)
    assert found.asked[-1] == 19 // least.subtensor
    assert found.ahead > 2


@pytest.mark.slow
def test_a_clear_forgets_everything() -> None:
    """Whenever it comes: what follows is as if nothing had been before."""
    config = small()
    for at in by_size([150], [150], list(range(1, 330, 7))):
        given = drawn_passes(config, at, ["hubs"], 22, clear_at=at, transposed=at % 2 == 0)
        given += drawn_passes(config, at + 1, ["band"], 18)
        ran(config, given, gap=0.2, seed=at)
