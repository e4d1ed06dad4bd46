"""Designs with sparse operands as hardware, from memory to memory: random jobs beside the model,
whatever the memory does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.t2s import base_register, image_parts, job_spec, steps_register
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.model import T2sModel
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.job_checks import soft_reset_after
from tilewright.verif.kit.sampling import by_size, cases, slow_but

from ..designs import SPARSE
from ..unit.jobs import check_case, largest_case_bytes, random_case, run_case
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


@pytest.mark.slow
def test_a_soft_reset_at_any_time() -> None:
    """Nothing of a job that was broken off is in the next one: tokens, blocks, sums."""
    config = _config("sparse/spmm", "int8")
    rng = np.random.default_rng(2)
    broken_off = 0
    with _device(config) as device:
        for _ in range(cases(200)):
            device.behave(any_behaviour(rng))
            case = random_case(rng, config, device.memory_bytes, _MOST)
            device.write_memory(0, case.memory.tobytes())
            registers = JobRegisters(device, job_spec(config))
            registers.write_all(case.registers)
            broken_off += soft_reset_after(device, registers, int(rng.integers(600)))
            check_case(device, random_case(rng, config, device.memory_bytes, _MOST))
    assert broken_off > 0


@pytest.mark.slow
def test_bus_errors() -> None:
    """An image that ends behind the memory: the error is the model's, and the next job is right."""
    config = _config("sparse/spmm", "int8")
    rng = np.random.default_rng(3)
    said = set()
    with _device(config) as device:
        for number in range(cases(100)):
            device.behave(any_behaviour(rng))
            case = random_case(rng, config, device.memory_bytes, _MOST)
            part = image_parts(config)[number % 3]
            wrong = {base_register(part): device.memory_bytes}
            status = run_case(device, case, **wrong)
            model = T2sModel(config, device.memory_bytes)
            model.write_memory(0, case.memory.tobytes())
            wanted = JobRegisters(model, job_spec(config)).submit(case.registers | wrong)
            assert (status.error, status.detail) == (wanted.error, wanted.detail)
            said.add((part.tensor, status.error))
            check_case(device, random_case(rng, config, device.memory_bytes, _MOST))
    assert said == {("A", "bus_read"), ("B", "bus_read"), ("C", "bus_write")}


@pytest.mark.slow
def test_no_vectors() -> None:
    """An image has the end of a tile at least: a job without is refused."""
    config = _config("sparse/spmm", "int8")
    rng = np.random.default_rng(4)
    assert config.plan.sparse
    name = steps_register(config.plan.sparse.entries[0])
    with _device(config) as device:
        case = random_case(rng, config, device.memory_bytes)
        status = run_case(device, case, **{name: 0})
        registers = JobRegisters(device, job_spec(config))
        assert (status.error, status.detail) == ("zero_size", registers.register(name).offset)
        check_case(device, case)


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
