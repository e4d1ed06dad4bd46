"""The text of a design in the hardware's arithmetic equals its model's results from images, bit for
bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.interpreter import interpret
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sizes import shape_of
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.oracles import stimuli
from tilewright.verif.t2s.designs import SPARSE, bounds_of
from tilewright.verif.t2s.hardware_numbers import HardwareNumbers

pytestmark = pytest.mark.long


@pytest.mark.parametrize("format", ["fp32", "fp16"])
@pytest.mark.parametrize("name", SPARSE)
def test_designs(name: str, format: str) -> None:
    """Floats whose sums depend on their order, infinities and NaN among them."""
    config = T2sConfig(design=name, largest=3, format=format, data_bits=64)
    design, bounds = config.plan, bounds_of(SPARSE[name])
    arithmetic = design.element.arithmetic
    fmt = arithmetic.element
    assert isinstance(fmt, FloatFormat)
    for seed in range(by_size(1, 3, 20)):
        rng = np.random.default_rng(seed)
        words: dict[str, Any] = {}
        entries: dict[str, Any] = {}
        for one in design.program.tensors:
            if one.image or one.name == design.program.result:
                continue
            shape = shape_of(one.dimensions, bounds)
            special = stimuli.values(rng, "special", shape, fmt)
            ordinary = stimuli.values(rng, "moderate", shape, fmt)
            drawn = np.where(rng.random(shape) < 0.03, special, ordinary).astype(np.uint64)
            words[one.name], entries[one.name] = drawn.astype(object), drawn
            if one.sparse:
                there = rng.random(shape) < 0.4
                words[one.name][~there] = None
                places = np.argwhere(there).astype(np.int64)
                entries[one.name] = Entries(shape=shape, places=places, words=drawn[there])
        wanted = Driver(T2sModel(config)).run_words(**entries)
        found = interpret(design.program, bounds, words, arithmetic=HardwareNumbers(arithmetic))
        assert np.array_equal(found, wanted), (name, format, seed)
