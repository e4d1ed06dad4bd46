"""Random jobs for the engine, run on its RTL and on its model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tilewright.hw.spec.engine import OPERANDS, EngineConfig
from tilewright.sim.device.protocol import JobError
from tilewright.sim.engine.driver import Driver, EngineDevice
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd

EngineRtl = JobRtl[EngineConfig]
"""Device that runs the jobs."""

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
    """Draws a legal job whose matrices are apart in memory, except that C may be D.

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
