"""Functions of words and initial values as hardware: random jobs beside the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.driver import Driver
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import cases, slow_but

from ..word_kinds import KINDS, written
from .jobs import check_case, largest_case_bytes, random_case

pytestmark = pytest.mark.long

FORMATS = ("int8", "fp16", "fp8e5m2", "fp32")

CHOSEN = {"bias": "fp16", "operands": "int8"}
"""Formats of those that the default run has; at length all have all."""


@pytest.mark.parametrize("kind", slow_but([], KINDS, list(CHOSEN)))
def test_random_jobs(kind: str, tmp_path: Path) -> None:
    _run(kind, CHOSEN.get(kind, "bf16"), tmp_path, seed=1, jobs=cases(40))


@pytest.mark.long
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_formats(kind: str, fmt: str, tmp_path: Path) -> None:
    _run(kind, fmt, tmp_path, seed=2, jobs=20)


def _run(kind: str, fmt: str, folder: Path, *, seed: int, jobs: int) -> None:
    config = T2sConfig(design=str(written(kind, folder)), format=fmt, outstanding=2)
    rng = np.random.default_rng(seed)
    size = max(1 << 14, 2 * largest_case_bytes(config, 2))
    with NativeAccelerator(emit(T2S, config), config, memory_bytes=size) as device:
        for number in range(jobs):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, size))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_numbers(kind: str, tmp_path: Path) -> None:
    """The driver's result equals NumPy's, for numbers whose negatives int8 can hold."""
    config = T2sConfig(design=str(written(kind, tmp_path)), format="int8")
    rng = np.random.default_rng(5)
    a, b = rng.integers(-127, 128, (7, 9)), rng.integers(-127, 128, (9, 8))
    t = rng.integers(-(2**20), 2**20, (7, 8))
    # Factors have 8 bits, initial values of sums have 32.
    u = rng.integers(-127, 128, 8)
    given: dict[str, Any] = {"A": a, "B": b, "T": t, "U": u}
    with NativeAccelerator(emit(T2S, config), config, memory_bytes=1 << 16) as device:
        names = {one.tensor for one in config.plan.loaders}
        found = Driver(device).compute(**{name: given[name] for name in names})
    assert np.array_equal(found, KINDS[kind][1](a, b, t, u))
