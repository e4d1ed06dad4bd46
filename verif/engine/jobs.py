"""Random jobs for the engine, run on its RTL and on its model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tilewright.hw.spec.engine import OPERANDS, EngineConfig
from tilewright.hw.spec.jobs.engine import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.device.protocol import JobError
from tilewright.sim.engine.driver import Driver, EngineDevice
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.engine.device import EngineAxiDevice
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd, soft_reset_after

__all__ = [
    "Bench",
    "EngineRtl",
    "Mismatch",
    "check_failure",
    "check_job",
    "check_reset",
    "differences",
    "fill",
    "random_job",
    "rows_of",
]


EngineRtl = JobRtl[EngineConfig]
"""What the jobs run on."""

_ORDINARY = 0.99
"""Share of the infinities and NaN among random patterns that are made finite."""


def _size(rng: np.random.Generator, tile: int, most: int) -> int:
    """A length: one, around a multiple of a tile, or anything."""
    kind = rng.integers(4)
    if kind == 0:
        return 1
    if kind == 1:
        return int(np.clip(tile * rng.integers(1, 5) + rng.integers(-1, 2), 1, most))
    return int(rng.integers(1, most + 1))


def random_job(
    rng: np.random.Generator,
    config: EngineConfig,
    memory_bytes: int,
    *,
    operation: str | None = None,
    most: tuple[int, int, int] = (24, 24, 24),
) -> Job:
    """A legal job whose matrices lie apart in memory, but for C, which may be D.

    Parameters
    ----------
    operation: its name; any, if None
    most: the greatest M, N and K
    """
    operations = config.unit.operations
    name = operation or str(rng.choice(list(operations)))
    row = operations[name]
    rows, cols, depth = config.tile_shape
    m, n, k = (_size(rng, x, y) for x, y in zip((rows, cols, depth), most, strict=True))
    transposed = bool(rng.integers(2))
    shapes = {
        "a": (m, k * row.operand_bits),
        "b": (n, k * row.operand_bits) if transposed else (k, n * row.operand_bits),
        "c": (m, n * row.result_bits),
        "d": (m, n * row.result_bits),
    }
    beat = config.beat_bytes
    base, stride, position = {}, {}, 0
    for operand in rng.permutation(OPERANDS).tolist():
        lines, bits = shapes[operand]
        stride[operand] = (-(-bits // config.data_bits) + int(rng.integers(0, 4))) * beat
        base[operand] = position + int(rng.integers(0, 40)) * beat
        position = base[operand] + lines * stride[operand]
    if position > memory_bytes:
        raise ValueError(f"the memory needs {position} bytes")
    if rng.integers(4) == 0:
        base["c"], stride["c"] = base["d"], stride["d"]
    return Job(
        op=row.opcode,
        m=m,
        n=n,
        k=k,
        base=base,
        stride=stride,
        transposed_b=transposed,
        use_c=bool(rng.integers(2)),
    )


def fill(rng: np.random.Generator, device: EngineDevice, model: EngineModel) -> None:
    """The same random bytes in both memories.

    Infinities and NaN are rare, as a result that is NaN says nothing about the other operands.
    """
    content = rng.integers(0, 256, device.memory_bytes, dtype=np.uint8)
    # The upper byte of such a value has these bits set, in any format of 16 bits or more.
    special = (content & 0x7C == 0x7C) & (rng.random(len(content)) < _ORDINARY)
    content[special] ^= 0x40
    model.write_memory(0, content.tobytes())
    device.write_memory(0, content.tobytes())


def _attempt(driver: Driver, job: Job) -> tuple[str, int]:
    try:
        driver.submit(job)
    except JobError as error:
        return error.error, error.detail
    return "none", 0


@dataclass(frozen=True)
class Difference:
    """Bytes that differ, for a message."""

    address: int
    got: int
    expected: int


def differences(device: EngineDevice, model: EngineModel) -> list[Difference]:
    """The bytes of the two memories that differ."""
    got = np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)
    wrong = np.flatnonzero(got != model.memory)
    return [Difference(int(i), int(got[i]), int(model.memory[i])) for i in wrong]


def check_job(device: EngineRtl, model: EngineModel, job: Job) -> Driver:
    """Run a job on both; memories, status and counters must be the same, the counted bytes those
    that went over the bus, and the bus quiet at the end.

    Returns the device's driver. Raises Mismatch.
    """
    hardware, software = Driver(QuietAtEnd(device)), Driver(model)
    expected = _attempt(software, job)
    before = device.moved
    found = _attempt(hardware, job)
    moved = np.subtract(device.moved, before).sum(axis=0).tolist()
    if found != expected:
        raise Mismatch(f"{job}: {found}, expected {expected}")
    wrong = differences(device, model)
    if wrong:
        raise Mismatch(f"{job}: {len(wrong)} bytes differ, first {wrong[:3]}")
    for name in ("operations", "bytes_read", "bytes_written"):
        got, want = getattr(hardware.counts, name), getattr(software.counts, name)
        if got != want:
            raise Mismatch(f"{job}: {name} is {got}, expected {want}")
    if moved != [hardware.counts.bytes_read, hardware.counts.bytes_written]:
        raise Mismatch(f"{job}: over the bus went {moved}, counters: {hardware.counts}")
    return hardware


def rows_of(config: EngineConfig, job: Job, operand: str) -> list[range]:
    """The addresses of the bytes of an operand, row by row as it lies in memory."""
    operation = next(x for x in config.unit.operations.values() if x.opcode == job.op)
    bits = operation.operand_bits if operand in "ab" else operation.result_bits
    shape = {"a": (job.m, job.k), "b": (job.k, job.n)}.get(operand, (job.m, job.n))
    lines, across = shape[::-1] if operand == "b" and job.transposed_b else shape
    starts = [job.base[operand] + line * job.stride[operand] for line in range(lines)]
    return [range(start, start + across * bits // 8) for start in starts]


def _adopt(device: EngineRtl, model: EngineModel, job: Job) -> None:
    """After a job that did not end: what is outside of D must be as it was; D may be anything,
    and the model takes it over."""
    inside = np.zeros(device.memory_bytes, np.bool_)
    for row in rows_of(device.config, job, "d"):
        inside[row.start : row.stop] = True
    wrong = [x for x in differences(device, model) if not inside[x.address]]
    if wrong:
        raise Mismatch(f"{job}: {len(wrong)} bytes outside of D changed, first {wrong[:3]}")
    model.write_memory(0, device.read_memory(0, device.memory_bytes))


def check_failure(device: EngineRtl, model: EngineModel, job: Job, error: str) -> int:
    """A job must end with a bus error and leave the rest of the memory alone; returns the detail.

    Raises Mismatch.
    """
    found, detail = _attempt(Driver(QuietAtEnd(device)), job)
    if found != error:
        raise Mismatch(f"{job}: {found}, expected {error}")
    _adopt(device, model, job)
    return detail


def check_reset(device: EngineRtl, model: EngineModel, job: Job, cycles: int) -> bool:
    """A soft reset some cycles after a job's start must bring the engine back to idle.

    Returns whether the job was broken off. Raises Mismatch.
    """
    registers = JobRegisters(device, job_spec(device.config))
    registers.write_all(job.registers)
    stopped = soft_reset_after(device, registers, cycles)
    _adopt(device, model, job)
    return stopped


class Bench:
    """An engine's RTL and its model with the same memory, and random numbers with a seed."""

    def __init__(self, device: EngineAxiDevice, seed: int) -> None:
        print(f"seed {seed}")
        self.device = device
        self.rng = np.random.default_rng(seed)
        self.model = EngineModel(device.config, device.memory_bytes)
        fill(self.rng, device, self.model)

    def jobs(self, count: int, most: tuple[int, int, int] = (24, 24, 24)) -> int:
        """Check random jobs; returns the cycles they took."""
        cycles = 0
        for number in range(count):
            if number % 10 == 9:
                fill(self.rng, self.device, self.model)
            job = random_job(self.rng, self.device.config, self.device.memory_bytes, most=most)
            cycles += check_job(self.device, self.model, job).counts.cycles
        assert self.device.faults == []
        return cycles
