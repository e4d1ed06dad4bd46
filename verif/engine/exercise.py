"""Products on any engine, through its driver: a few small ones, and large ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from tilewright.sim.engine.driver import Driver, EngineDevice
from tilewright.sim.engine.matrices import container_bits, formats_of
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.engine.jobs import EngineRtl, check_job, fill, random_job

_MOST = 48, 48, 48
"""M, N and K."""

_SHAPE = 3, 5, 3
"""M, N and K: multiples of no tile."""

Words = npt.NDArray[np.uint64]


def exercise(device: EngineDevice, rng: np.random.Generator) -> int:
    """Every operation, with B as it is and without C, and with B transposed and C: any patterns,
    held against the model. Returns the number of products."""
    m, n, k = _SHAPE
    count = 0
    for operation, rest in product(device.config.unit.operations, (False, True)):
        element, result = formats_of(device.config, operation)
        words = [
            rng.integers(0, 1 << 64, shape, np.uint64) >> np.uint64(64 - container_bits(format))
            for shape, format in (((m, k), element), ((k, n), element), ((m, n), result))
        ]
        model = EngineModel(device.config, device.memory_bytes)
        found, expected = (_computed(d, operation, words, rest) for d in (device, model))
        assert np.array_equal(found, expected), operation
        count += 1
    return count


def _computed(device: EngineDevice, operation: str, words: list[Words], rest: bool) -> Words:
    """D, with B transposed and C if the ``rest`` is to be exercised."""
    m, n, k = _SHAPE
    driver = Driver(device)
    element, result = formats_of(device.config, operation)
    a, b = driver.matrix(m, k, element), driver.matrix(k, n, element, transposed=rest)
    c, d = driver.matrix(m, n, result), driver.matrix(m, n, result)
    for matrix, content in zip((a, b, *([c] if rest else [])), words, strict=False):
        driver.load_words(matrix, content)
    driver.mmo(operation, d, a, b, c if rest else None)
    return driver.store_words(d)


def soak(device: EngineRtl, rng: np.random.Generator) -> None:
    """Runs two products of any operations, the second on the memory that the first one left."""
    model = EngineModel(device.config, device.memory_bytes)
    fill(rng, device, model)
    for _ in range(2):
        check_job(device, model, random_job(rng, device.config, device.memory_bytes, most=_MOST))
