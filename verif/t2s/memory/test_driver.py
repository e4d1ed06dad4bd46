"""Tensors through the driver, on the model: results against NumPy, refusals, counters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.jobs.t2s import job_spec
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.device.driver import NoRoom
from tilewright.sim.device.protocol import JobError
from tilewright.sim.t2s.checking import random_operands
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.interpreter import interpret
from tilewright.sim.t2s.job import Job, job_at
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sizes import iterations
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.job_checks import wrong_values
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.t2s.hardware_numbers import HardwareNumbers

from ..designs import IN_HARDWARE, bounds_of, by_numpy

GEMM = T2sConfig(design="gemm", largest=2)


def driver_of(config: T2sConfig = GEMM, memory_bytes: int = 1 << 16) -> Driver:
    return Driver(T2sModel(config, memory_bytes))


def check_whole_numbers(name: str, largest: int) -> None:
    """Compares sums of whole numbers, which are exact in any order."""
    config = T2sConfig(design=name, largest=largest, data_bits=64, format="fp32")
    bounds = bounds_of(IN_HARDWARE[name])
    operands = random_operands(config.plan.program, bounds, seed=2)
    numbers: dict[str, Any] = {one: n.astype(np.int64) for one, n in operands.items()}
    driver = driver_of(config, 1 << 23)
    result = driver.compute(**numbers)
    assert result.dtype == np.float32
    assert np.array_equal(result, by_numpy(name, operands))
    # The bounds say the same, in every order of the operands.
    again = driver.compute(bounds, **dict(reversed(numbers.items())))
    assert np.array_equal(again, result)


@pytest.mark.parametrize("largest", [2, 3])
@pytest.mark.parametrize("name", IN_HARDWARE)
def test_whole_numbers(name: str, largest: int) -> None:
    check_whole_numbers(name, largest)


@pytest.mark.long
@pytest.mark.parametrize("name", IN_HARDWARE)
def test_sizes_as_they_ship(name: str) -> None:
    check_whole_numbers(name, largest=0)


@pytest.mark.parametrize("name", slow_but(["ttmc"], IN_HARDWARE))
def test_patterns(name: str) -> None:
    """The driver runs random numbers; results are bit-identical to the program's functions,
    computed one by one."""
    config = T2sConfig(design=name, largest=3, format="fp32")
    program, bounds = config.plan.program, bounds_of(IN_HARDWARE[name])
    rng = np.random.default_rng(3)
    words = {
        one: rng.standard_normal(given.shape).astype(np.float32).view(np.uint32)
        for one, given in random_operands(program, bounds, seed=0).items()
    }
    result = driver_of(config, 1 << 18).run_words(bounds, **words)
    arithmetic = HardwareNumbers(config.plan.element.arithmetic)
    operands = {one: given.astype(object) for one, given in words.items()}
    if program.start:
        operands[program.start] = arithmetic.started(words[program.start])
    assert np.array_equal(result, interpret(program, bounds, operands, arithmetic=arithmetic))


MAPPING = """
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, jj, kkk = indices("i j k jj kkk")
A, B = tensor("A", "{format}", i, k), tensor("B", "{format}", k, j)
C = compute("C", "{format}", i, j, sum_over=k, semiring="{semiring}")[A[i, k] * B[k, j]]
C.accumulate(stall="allowed")
C.tile(j, (jj, 3)).tile(k, (kkk, 4))
C.order(i, j, k, jj, kkk).unroll(jj).vectorise(kkk)
"""


@pytest.mark.parametrize(
    ("format", "semiring", "dtype"),
    [("int8", "mma", np.int32), ("fp16", "maxmin", np.float32), ("fp64", "mma", np.float64)],
)
def test_formats(format: str, semiring: str, dtype: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MAPPING.format(format=format, semiring=semiring))
    rng = np.random.default_rng(4)
    a, b = rng.integers(-9, 9, (5, 7)), rng.integers(-9, 9, (7, 8))
    driver = driver_of(T2sConfig(design=str(file)))
    found = driver.compute(A=a, B=b)
    wanted = a @ b if semiring == "mma" else np.minimum(a[:, :, None], b).max(axis=1)
    assert found.dtype == dtype
    assert np.array_equal(found, wanted)


def test_counts() -> None:
    """The loops are counted by hand: tiles of 4 x 4 x 4 on 2 x 2 elements."""
    driver = driver_of()
    driver.compute(A=np.ones((10, 13)), B=np.ones((13, 11)))
    tiles = 3 * 3 * 4
    counts = driver.counts
    element = GEMM.plan.program.function("C")
    bounds = {"i": 10, "j": 11, "k": 13}
    assert counts.operations == tiles * 2 * 2 * 2 == iterations(element, bounds)
    assert counts.bytes_read == tiles * (4 * 4 + 4 * 4) * 4
    assert counts.bytes_written == 9 * 16 * 4
    assert (counts.cycles, counts.utilisation) == (0, 0.0)


A34: npt.NDArray[Any] = np.ones((3, 4))
B45: npt.NDArray[Any] = np.ones((4, 5))


@pytest.mark.parametrize(
    ("operands", "text"),
    [
        ({"A": A34}, "operands must be A, B; B is missing"),
        ({"A": A34, "B": B45, "C": B45}, "operands must be A, B, not 'C'"),
        (
            {"A": A34, "B": A34},
            "B must have 4 places for k, its dimension 0, not 3: k = 4 in A",
        ),
        ({"A": A34 * 1j, "B": B45}, "numbers of fp32 must be real, not 1j"),
    ],
    ids=["missing", "unknown", "shape", "complex"],
)
def test_refused(operands: dict[str, Any], text: str) -> None:
    driver = driver_of()
    with refused(ValueError, text):
        driver.compute(**operands)


def test_too_many_iterations() -> None:
    driver = driver_of(T2sConfig(design="gemm", largest=1, trip_bits=4))
    assert driver.compute(A=np.ones((15, 1)), B=np.ones((1, 1))).shape == (15, 1)
    with refused(ValueError, "bound of i must be at most 15, not 16"):
        driver.compute(A=np.ones((16, 1)), B=np.ones((1, 1)))


def test_too_little_memory() -> None:
    driver = driver_of(memory_bytes=512)
    text = "768 bytes of memory are needed for the images of A, B, C; 512 are left"
    with refused(NoRoom, text):
        driver.compute(A=np.ones((8, 8)), B=np.ones((8, 8)))
    with pytest.raises(TypeError, match="words must be integers"):
        driver.run_words(A=A34, B=B45)


def small_job() -> Job:
    bounds = {"i": 3, "j": 4, "k": 5}
    base = {"A": 0, "B": 1024, "C": 2048}
    return job_at(GEMM, bounds, base)


SPEC = job_spec(GEMM)
WRONG = wrong_values(SPEC, small_job().registers(GEMM))


@pytest.mark.parametrize("rule", SPEC.checks, ids=lambda rule: f"{rule.error}-{rule.register}")
def test_a_job_that_cannot_run(rule: Any) -> None:
    device = T2sModel(GEMM, 1 << 12)
    driver = Driver(device)
    registers = small_job().registers(GEMM)
    registers[rule.register] = WRONG[rule]
    job = Job.of_registers(GEMM, registers)
    with pytest.raises(JobError) as raised:
        driver.submit(job)
    offset = SPEC.registers[rule.register].offset
    assert (raised.value.error, raised.value.detail) == (rule.error, offset)
    assert driver.counts.operations == 0


@pytest.mark.parametrize(
    ("tensor", "most", "error", "detail"),
    [
        ("A", 4080 - 128, "bus_read", 4080),
        ("B", 4080 - 128, "bus_read", 4080),
        # A beat's address is not told of a write but its burst's.
        ("C", 4080 - 64, "bus_write", 4080 - 48),
    ],
)
def test_behind_the_memory(tensor: str, most: int, error: str, detail: int) -> None:
    driver, job = driver_of(memory_bytes=4080), small_job()
    driver.submit(replace(job, base={**job.base, tensor: most}))
    for beyond, where in ((most + 16, detail), (1 << 20, 1 << 20)):
        with pytest.raises(JobError) as raised:
            driver.submit(replace(job, base={**job.base, tensor: beyond}))
        assert (raised.value.error, raised.value.detail) == (error, where)


def test_another_device() -> None:
    """Registers of another accelerator are found out."""
    device = T2sModel(GEMM)
    device._values["ID"] = 1
    with refused(ValueError, "the device's ID must be 0x32545754, not 0x1"):
        Driver(device)
