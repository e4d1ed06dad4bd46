"""Designs with sparse operands as hardware, from memory to memory: random jobs beside the model,
whatever the memory does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import by_size, cases, slow_but

from ..designs import SPARSE
from ..unit.jobs import check_case, largest_case_bytes, random_case
from .drawn import FORMS, DrawnSparse

FORMATS = ("int8", "int16", "fp8e5m2", "fp16", "bf16", "fp32", "fp64")

_CHOSEN = {
    "sparse/spmv": "fp16",
    "sparse/spmv_ciss": "int8",
    "sparse/spmm": "int8",
    "sparse/spmttkrp": "int16",
    "sparse/hadamard": "bf16",
    "sparse/union": "int8",
}
"""A format of each by default; all at length."""

_MOST = 3
"""Iterations of an outermost loop."""


def _config(name: str, fmt: str, **changes: Any) -> T2sConfig:
    return T2sConfig(design=name, format=fmt, **{"largest": 2, "outstanding": 2, **changes})


def _device(config: T2sConfig) -> NativeAccelerator[T2sConfig]:
    size = max(1 << 14, 2 * largest_case_bytes(config, _MOST))
    return NativeAccelerator(emit(T2S, config), config, memory_bytes=size)


def _run(config: T2sConfig, seed: int, jobs: int) -> None:
    rng = np.random.default_rng(seed)
    with _device(config) as device:
        for number in range(jobs):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, device.memory_bytes, _MOST))


@pytest.mark.parametrize(
    "name", slow_but([], SPARSE, ["sparse/spmv_ciss", "sparse/spmm", "sparse/union"])
)
def test_random_jobs(name: str) -> None:
    _run(_config(name, _CHOSEN[name]), seed=1, jobs=cases(200))


@pytest.mark.parametrize("kernel", slow_but([], FORMS, ["wide", "of vectors"]))
def test_random_mappings(kernel: str) -> None:
    """Elements, rows, buffers, levels, orders and semirings at random."""
    for seed in range(by_size(1, 1, 8)):
        fmt = ("int8", "fp16", "int16")[seed % 3]
        try:
            _run(DrawnSparse(kernel=kernel, seed=seed, format=fmt), seed, jobs=cases(80))
        except Exception as error:
            raise AssertionError(f"{kernel}, seed {seed}, {fmt}: {error}") from error


@pytest.mark.long
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", SPARSE)
def test_all_formats(name: str, fmt: str) -> None:
    _run(_config(name, fmt, largest=3), seed=5, jobs=60)


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        {"data_bits": 64, "managers": 3},
        {"data_bits": 512, "outstanding": 8, "addr_bits": 64},
        {"managers": 2, "trip_bits": 4, "pipeline": 1},
        {"sizes": "II=1,III=1,KK=1,JJ=1,JJJ=1", "pipeline": 6},
        {"sizes": "II=5,III=7,KK=9,JJ=3,JJJ=5", "largest": 0},
        {"sizes": "II=8,III=2,KK=16,JJ=8,JJJ=2", "largest": 0, "pipeline": 2},
    ],
)
def test_other_sizes(changes: dict[str, Any]) -> None:
    _run(_config("sparse/spmm", "int8", **changes), seed=6, jobs=60)
