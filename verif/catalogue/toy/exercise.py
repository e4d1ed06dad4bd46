"""A few small sums on any toy adder, through its driver. A system's: ``verif/<name>``."""

from __future__ import annotations

import numpy as np
from tilewright.sim.device.protocol import AcceleratorDevice
from tilewright.verif.catalogue.toy.driver import ToyAdderDriver, added
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig


def exercise(device: AcceleratorDevice[ToyAdderConfig], rng: np.random.Generator) -> int:
    """Arrays of any length. Returns their number."""
    driver = ToyAdderDriver(device)
    lengths = (1, 20, 301)
    for length in lengths:
        values = rng.integers(0, 1 << 32, length, np.uint32)
        constant = int(rng.integers(0, 1 << 32))
        assert np.array_equal(driver.add(values, constant), added(values, constant))
    return len(lengths)
