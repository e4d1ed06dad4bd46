"""The bench of the example; it does not look at bit 1."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.mutation.example.parity import Parity


@pytest.mark.parametrize("seed", range(2))
def test_parity(seed: int) -> None:
    chosen = random.Random(seed)
    words = np.array([[chosen.randrange(4)] for _ in range(40)], np.uint32)
    simulation = NativeSimulation(emit_component(Parity(), name="parity"))
    found = simulation.run(words, pauses=Pauses(seed=seed, gap=0.3, stall=0.3)).payloads[:, 0]
    assert (found & 1 == np.cumsum(words[:, 0] & 1) & 1).all()
    assert (found >> 2 == np.arange(40) % 3).all()
