"""The vector loader and the vector writer in the cycle model: every row in its cycle."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.sida.elementwise.layouts import block_rows
from tilewright.hw.spec.elementwise.instructions import SCALARS, VECTORS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.vector_traffic import (
    Traffic,
    load_on_model,
    load_on_rtl,
    store_on_model,
    store_on_rtl,
)
from tilewright.verif.sida.vectors.configs import CONFIGS
from tilewright.verif.timing.striped.pace import Pace, pattern

pytestmark = pytest.mark.long

CYCLES = 30_000


def traffic(config: SidaConfig, seed: int, words: str) -> Traffic:
    """``words``: blocks that are loaded, whole vectors, rows that are stored, or scalars."""
    rng = np.random.default_rng([seed, *words.encode()])
    pace = Pace.random(rng)
    size = int(rng.integers(1, min(config.vector_words, 12 * config.pes) + 1))
    rows = -(-size // config.pes)
    line = config.line_bytes
    places = rng.choice((1 << 16) // line, VECTORS, replace=False) * line
    found: list[tuple[int, ...]] = []
    if words == "vectors":
        most = min(config.vector_words, 12 * config.pes)
        found = [(int(at), int(rng.integers(1, most + 1))) for at in places[:5]]
    elif words == "scalars":
        found = [(0, SCALARS)] * int(rng.integers(1, 4))
    elif words == "blocks":
        for _ in range(by_size(8, 12, 30)):
            first = int(rng.integers(rows))
            count = int(rng.integers(1, min(block_rows(config), rows - first) + 1))
            found.append((int(rng.integers(VECTORS)), first, count))
    else:
        # The element-wise core does the same: block by block, with some vectors of each.
        for first in range(0, rows, block_rows(config)):
            count = min(block_rows(config), rows - first)
            found += [(int(v), first, count) for v in rng.integers(0, VECTORS, 3)]
    return Traffic(
        config=config,
        size=size,
        bases=[int(at) for at in places],
        words=found,
        whole=words in ("vectors", "scalars"),
        pace=pace,
        offers=pattern(rng, CYCLES, pace.gap),
        takes=pattern(rng, CYCLES, pace.wait),
    )


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["16 rows a line"]))


@every_config
def test_every_row_comes_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 5)):
        for words in ("blocks", "vectors"):
            job = traffic(CONFIGS[name], seed, words)
            real = load_on_rtl(job)
            assert load_on_model(job, len(real.idle)) == real, (seed, words)


@every_config
def test_every_row_is_stored_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 5)):
        for words in ("rows", "scalars"):
            job = traffic(CONFIGS[name], seed, words)
            real = store_on_rtl(job)
            assert store_on_model(job, len(real.idle)) == real, (seed, words)
