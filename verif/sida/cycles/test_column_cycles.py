"""The column loader in the cycle model: every set in its cycle, and what is in it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.column_loading import Loading, on_model, on_rtl
from tilewright.verif.sida.load.configs import CONFIGS
from tilewright.verif.sida.load.matrices import Matrix, drawn
from tilewright.verif.timing.striped.pace import Pace, pattern

pytestmark = pytest.mark.long


def check(matrix: Matrix, seed: int, passes: int = 1) -> None:
    rng = np.random.default_rng(seed)
    pace = Pace.random(rng)
    takes = pattern(rng, 30_000, pace.wait)
    job = Loading(matrix, pace, takes, passes, seed)
    real = on_rtl(job)
    found = on_model(job, len(real.idle))
    assert found.sets == real.sets, seed
    assert found.leaves == real.leaves, seed
    assert found.idle == real.idle, seed


@pytest.mark.parametrize("name", slow_but([], CONFIGS, []))
def test_every_set_comes_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 8)):
        check(drawn(CONFIGS[name], f"cycles {name} {seed}"), seed, 1 + seed % 3)


@pytest.mark.long
def test_columns_of_an_element_or_none() -> None:
    """More of a block than a set may have, of two windows."""
    for seed in range(by_size(1, 1, 6)):
        rng = random.Random(f"short cycles {seed}")
        lengths = [rng.choice([0, 0, 1, 1, 2, 5]) for _ in range(90)]
        check(Matrix(CONFIGS["small"], lengths, rng), seed)
