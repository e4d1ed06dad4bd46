"""A few small products on any MatRaptor, through its driver."""

from __future__ import annotations

import numpy as np
from tilewright.sim.matraptor.driver import MODES, SparseDevice, SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.verif.matraptor.cases import random_matrix

__all__ = ["exercise"]

_SHAPES = (1, 1, 1), (9, 7, 8)
"""Rows of A, of B, and columns of B."""


def exercise(device: SparseDevice, rng: np.random.Generator) -> int:
    """Products in every mode of the device, held against the model. Returns their number."""
    config = device.config
    count = 0
    for mode in MODES if config.outer_product else MODES[:1]:
        for rows, inner, cols in _SHAPES:
            a = random_matrix(rng, config, (rows, inner), 0.4)
            b = random_matrix(rng, config, (inner, cols), 0.4)
            model = MatRaptorModel(config, device.memory_bytes)
            found, expected = (
                SparseDriver(on).multiply(a, b, mode=mode).patterns() for on in (device, model)
            )
            for one, other in zip(found, expected, strict=True):
                assert np.array_equal(one, other), mode
            count += 1
    return count
