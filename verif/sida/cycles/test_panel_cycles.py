"""The row loader in the cycle model: every part of a row in its cycle, and what is in it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.row_loading import Reloading, on_model, on_rtl
from tilewright.verif.sida.load.configs import CONFIGS
from tilewright.verif.sida.load.matrices import drawn
from tilewright.verif.sida.load.panels import asked_of
from tilewright.verif.timing.striped.pace import Pace, pattern

pytestmark = pytest.mark.long

KINDS = {**CONFIGS, "one panel": replace(CONFIGS["a set a step"], subtensor=256)}


@pytest.mark.parametrize("name", slow_but([], KINDS, []))
def test_every_part_comes_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 6)):
        matrix = drawn(KINDS[name], f"panels {name} {seed}")
        asked = asked_of(matrix, random.Random(seed), by_size(4, 4, 8))
        rng = np.random.default_rng(seed)
        pace = Pace.random(rng)
        offers, takes = pattern(rng, 30_000, pace.gap), pattern(rng, 30_000, pace.wait)
        job = Reloading(matrix, asked, pace, offers, takes, seed)
        real = on_rtl(job)
        found = on_model(job, len(real.idle))
        assert found.asked == real.asked, seed
        assert found.parts == real.parts, seed
        assert found.leaves == real.leaves, seed
        assert found.idle == real.idle, seed
