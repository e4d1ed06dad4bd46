"""The engine's model against plain NumPy and against single operations of the unit's model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.engine import (
    OPERANDS,
    EngineConfig,
    M3xuEngineConfig,
    Simd2EngineConfig,
)
from tilewright.hw.spec.jobs.engine import WITH_C, job_spec
from tilewright.hw.spec.registers.job_spec import Check
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.device.protocol import RegisterError
from tilewright.sim.engine.cycles import machine
from tilewright.sim.engine.driver import Driver
from tilewright.sim.engine.job import Job, JobFailure, run_job
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.timing.memories import FLAT
from tilewright.sim.units.any_unit import mixed_operations
from tilewright.verif.kit.job_checks import wrong_values
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.oracles.graphs import matrix_product

pytestmark = pytest.mark.quick

FP16 = Simd2EngineConfig(tile=4, block_rows=2, block_cols=2, block_depth=2)
INT8 = Simd2EngineConfig(tile=2, format="int8")
COMPLEX = M3xuEngineConfig(rows=2, cols=4, depth=8)
SPEC = job_spec(FP16)
WRONG = wrong_values(SPEC, {"FLAGS": 2})

SHAPES = [(1, 1, 1), (4, 4, 4), (5, 3, 9), (13, 17, 6)]

Bytes = npt.NDArray[np.uint8]


def place(memory: Bytes, job: Job, operand: str, matrix: npt.NDArray[Any]) -> None:
    """Put a matrix, row by row, where the job says."""
    for row, content in enumerate(matrix):
        start = job.base[operand] + row * job.stride[operand]
        line = np.ascontiguousarray(content).view(np.uint8)
        memory[start : start + len(line)] = line


def take(memory: Bytes, job: Job, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """D, row by row."""
    width = job.n * np.dtype(dtype).itemsize
    rows = [memory[job.base["d"] + r * job.stride["d"] :][:width] for r in range(job.m)]
    return np.array(rows).view(dtype)


def job_of(config: EngineConfig, name: str, shape: tuple[int, int, int], **flags: bool) -> Job:
    """A job with room between all rows and matrices."""
    m, n, k = shape
    return Job(
        op=config.opcodes[name],
        m=m,
        n=n,
        k=k,
        base={x: 0x200 + 0x4000 * i for i, x in enumerate(OPERANDS)},
        stride={x: 0x100 + 8 * i * config.beat_bytes for i, x in enumerate(OPERANDS)},
        **flags,
    )


def check(config: EngineConfig, name: str, job: Job, types: tuple[Any, Any]) -> None:
    """Compares products of small whole numbers, whose results are exact in every format."""
    rng = np.random.default_rng([job.m, job.n, job.k])
    memory = rng.integers(0, 256, 0x10800, dtype=np.uint8)
    a = rng.integers(-3, 4, (job.m, job.k)).astype(types[0])
    b = rng.integers(-3, 4, (job.k, job.n)).astype(types[0])
    c = rng.integers(-40, 40, (job.m, job.n)).astype(types[1])
    place(memory, job, "a", a)
    place(memory, job, "b", b.T if job.transposed_b else b)
    place(memory, job, "c", c)
    before = memory.copy()
    run_job(config, memory, job)
    expected = matrix_product(
        name, a.astype(types[1]), b.astype(types[1]), c if job.use_c else None
    )
    np.testing.assert_array_equal(take(memory, job, types[1]), expected)
    outside = np.ones(len(memory), np.bool_)
    for row in range(job.m):
        start = job.base["d"] + row * job.stride["d"]
        outside[start : start + expected[row].nbytes] = False
    np.testing.assert_array_equal(memory[outside], before[outside])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", list(FP16.opcodes))
@pytest.mark.parametrize("transposed_b", [False, True])
def test_semirings_of_fp16(name: str, shape: tuple[int, int, int], transposed_b: bool) -> None:
    for use_c in (False, True):
        job = job_of(FP16, name, shape, transposed_b=transposed_b, use_c=use_c)
        check(FP16, name, job, (np.float16, np.float32))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["mma", "minplus", "maxmin", "addnorm"])
def test_semirings_of_integers(name: str, shape: tuple[int, int, int]) -> None:
    job = job_of(INT8, name, shape, use_c=True)
    check(INT8, name, job, (np.int8, np.int32))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["fp16", "fp32", "fp32c"])
def test_wide_elements(mode: str, shape: tuple[int, int, int]) -> None:
    types = {"fp16": (np.float16, np.float32), "fp32": (np.float32, np.float32)}
    for transposed_b in (False, True):
        job = job_of(COMPLEX, mode, shape, transposed_b=transposed_b, use_c=True)
        check(COMPLEX, "mma", job, types.get(mode, (np.complex64, np.complex64)))


@pytest.mark.parametrize("name", ["mma", "minplus"])
def test_is_a_chain_of_the_units_operations(name: str) -> None:
    """Uses fractions, so that every rounding shows: k tiles in ascending order, c passed along."""
    config = Simd2EngineConfig(tile=2, accumulator="fp16")
    job = job_of(config, name, (2, 2, 12), use_c=True)
    rng = np.random.default_rng(7)
    memory = np.zeros(0x10800, np.uint8)
    a, b = rng.normal(size=(2, 12)).astype(np.float16), rng.normal(size=(12, 2)).astype(np.float16)
    c = rng.normal(size=(2, 2)).astype(np.float16)
    for operand, matrix in zip("abc", (a, b, c), strict=True):
        place(memory, job, operand, matrix)
    run_job(config, memory, job)
    total = c.view(np.uint16).astype(np.uint64)[np.newaxis]
    for k in range(0, 12, 2):
        left = a.view(np.uint16)[np.newaxis, :, k : k + 2]
        right = b.view(np.uint16)[np.newaxis, k : k + 2]
        total, _ = mixed_operations(config.unit, np.array([job.op]), left, right, total)
    np.testing.assert_array_equal(take(memory, job, np.uint16), total[0])


def test_a_format_without_infinities_repeats_its_first_k() -> None:
    """fp8e4m3 has no neutral value for min-plus; every number is far above the padding of zeros."""
    config = Simd2EngineConfig(tile=4, format="fp8e4m3")
    assert config.unit.operations["minplus"].padding is None
    job = job_of(config, "minplus", (3, 2, 5))
    memory = np.zeros(0x10800, np.uint8)
    one = 0x38
    for operand, rows, cols in (("a", 3, 5), ("b", 5, 2)):
        place(memory, job, operand, np.full((rows, cols), one, np.uint8))
    run_job(config, memory, job)
    np.testing.assert_array_equal(take(memory, job, np.float32), np.full((3, 2), 2.0))


@pytest.mark.parametrize("shape", SHAPES)
def test_counts(shape: tuple[int, int, int]) -> None:
    """Operations and beats by walking the blocks."""
    m, n, k = shape
    job = job_of(FP16, "mma", shape, use_c=True)
    outcome = run_job(FP16, np.zeros(0x10800, np.uint8), job)
    rows, cols, depth = (x * y for x, y in zip(FP16.block, FP16.tile_shape, strict=True))
    operations = beats = 0
    for i in range(0, m, rows):
        for j in range(0, n, cols):
            high, wide = min(rows, m - i), min(cols, n - j)
            beats += high * -(-wide * 32 // 64)
            for start in range(0, k, depth):
                deep = min(depth, k - start)
                beats += high * -(-deep * 16 // 64) + deep * -(-wide * 16 // 64)
                operations += -(-high // 4) * -(-wide // 4) * -(-deep // 4)
    assert (outcome.operations, outcome.bytes_read) == (operations, beats * 8)
    assert outcome.bytes_written == m * n * 4


def write(model: EngineModel, name: str, value: int) -> None:
    JobRegisters(model, job_spec(model.config)).write(name, value)


def read(model: EngineModel, name: str) -> int:
    return JobRegisters(model, job_spec(model.config)).read(name)


def ready(config: EngineConfig = FP16) -> EngineModel:
    """A model with a legal job in its registers."""
    model = EngineModel(config, 0x10800)
    job = job_of(config, "mma", (3, 3, 3), use_c=True)
    JobRegisters(model, job_spec(config)).write_all(job.registers)
    return model


@pytest.mark.parametrize("rule", SPEC.checks, ids=lambda rule: f"{rule.error}-{rule.register}")
def test_a_job_that_cannot_run(rule: Check) -> None:
    model = ready()
    before = model.memory.copy()
    write(model, rule.register, WRONG[rule])
    write(model, "CTRL", 1 | 4)
    assert read(model, "STATUS") == 4 | SPEC.code(rule.error) << 8
    assert read(model, "ERROR_DETAIL") == SPEC.registers[rule.register].offset
    assert model.irq()
    np.testing.assert_array_equal(model.memory, before)
    # C's registers mean nothing without C.
    write(model, "FLAGS", 0)
    write(model, "STATUS", 6)
    write(model, "CTRL", 1)
    assert (read(model, "STATUS") == 2) == (rule.when == WITH_C)


def test_registers() -> None:
    model = ready()
    registers = SPEC.registers
    assert read(model, "ID").to_bytes(4, "little") == b"TWTE"
    assert registers["CONFIG0"].get(read(model, "CONFIG0"), "lane_bits") == 16
    assert not model.irq()
    write(model, "CTRL", 1)
    assert (read(model, "STATUS"), read(model, "CTRL"), model.irq()) == (2, 0, False)
    write(model, "CTRL", 4)
    assert model.irq()
    write(model, "STATUS", 4)
    assert model.irq()
    write(model, "STATUS", 2)
    assert (read(model, "STATUS"), model.irq()) == (0, False)
    write(model, "CTRL", 1 | 2)
    assert read(model, "STATUS") == 0
    write(model, "D_BASE", 0x12_3456_7890)
    assert read(model, "D_BASE") == 0x12_3456_7890
    for offset in (registers["ID"].offset, registers["CYCLES"].offset, 0x18, 0x81):
        with pytest.raises(RegisterError, match=f"offset {offset:#x}$"):
            model.write_register(offset, 0)
    with pytest.raises(RegisterError, match=r"^there is no register at offset 0x18$"):
        model.read_register(0x18)
    with pytest.raises(IndexError, match=r"^2 bytes at 0x107ff lie outside of 0x10800$"):
        model.read_memory(0x107FF, 2)


@pytest.mark.parametrize(("operand", "error"), [("a", "bus_read"), ("d", "bus_write")])
def test_a_job_behind_the_end_of_memory(operand: str, error: str) -> None:
    job = job_of(FP16, "mma", (3, 3, 3))
    job.base[operand] = 0x10800
    with pytest.raises(JobFailure) as raised:
        run_job(FP16, np.zeros(0x10800, np.uint8), job)
    assert (raised.value.error, raised.value.detail) == (error, 0x10800)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tile": 3}, "`tile` must be a power of two in 2..16, not 3"),
        ({"data_bits": 96}, "`data_bits` must be a power of two in 64..512, not 96"),
        ({"managers": 4}, "`managers` must be an integer in 1..3, not 4"),
        ({"block_rows": 3}, "`block_rows` must be a power of two in 0..64, not 3"),
        (
            {"tile": 2, "format": "int8", "block_depth": 2},
            "`block_depth` must be 0 or at least 4 for whole beats of 64 bits, not 2",
        ),
        ({"format": "fp16", "accumulator": "int32"}, None),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str | None) -> None:
    with pytest.raises(ValueError, match=r"^`") as raised:
        Simd2EngineConfig(**parameters)
    assert message is None or str(raised.value) == message


@pytest.mark.parametrize("bits", slow_but([64], [64, 128, 256, 512], [128]))
def test_automatic_blocks_leave_the_loads_half_of_the_time(bits: int) -> None:
    for tile in (2, 4, 8):
        config = Simd2EngineConfig(tile=tile, data_bits=bits)
        rows, cols, depth = config.block
        lanes = config.beat_lanes
        operations = rows * cols * depth
        assert rows * tile * depth * tile // lanes <= operations / 2
        assert cols * tile * depth * tile // lanes <= operations / 2
        assert rows * cols >= config.sum_cycles


@pytest.mark.slow
def test_jobs_that_are_alike_have_the_counters_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run once each, but where the manager that reads has read another operand last."""
    run, ran = machine.run_job, []

    def counted(*given: Any, **more: Any) -> Any:
        ran.append(more["turn"])
        return run(*given, **more)

    monkeypatch.setattr(machine, "run_job", counted)
    config = replace(FP16, managers=1)
    kept, fresh = (EngineModel(config, 1 << 16, channel=FLAT) for _ in range(2))
    a, b, c = np.ones((13, 21)), np.ones((21, 17)), np.ones((13, 17))
    for addend in (None, c, None, None, c, c, None, c):
        fresh._known.clear()
        for model in (kept, fresh):
            Driver(model).compute("mma", a, b, addend)
        assert kept.cycles[-1] == fresh.cycles[-1]
    assert len(kept.cycles) == len(fresh.cycles) == 8
    assert 8 + 2 <= len(ran) <= 8 + 4
