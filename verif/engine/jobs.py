"""Random jobs for the engine, run on its RTL and on its model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tilewright.hw.spec.engine import OPERANDS, EngineConfig, M3xuEngineConfig, Simd2EngineConfig
from tilewright.hw.spec.host.words import not_one_of
from tilewright.registry import entries
from tilewright.sim.device.protocol import JobError
from tilewright.sim.engine.driver import Driver, EngineDevice
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd


def product_job(
    config: EngineConfig,
    operation: str,
    m: int,
    n: int,
    k: int,
    *,
    use_c: bool = False,
    transposed_b: bool = False,
    spread: int = 0,
) -> Job:
    """Returns a product whose matrices follow each other as ``Driver`` places them, with C in D's
    place.

    Parameters
    ----------
    operation: its name
    m, n, k: sizes, ``k`` in elements
    use_c, transposed_b: as the registers say them
    spread: bytes between a row and the next one, a multiple of a beat. In a DRAM rows whose
        distance is a power of two are all in one bank; a page between them brings them apart

    Raises ValueError if the engine does not have the operation, or ``spread`` is no multiple.
    """
    known, beat = config.unit.operations, config.beat_bytes
    if operation not in known:
        raise ValueError(not_one_of("`operation`", known, operation))
    if spread % beat or spread < 0:
        raise ValueError(f"`spread` must be a multiple of {beat}, not {spread}")
    found = known[operation]
    right = (n, k) if transposed_b else (k, n)
    shapes = {
        "a": (m, k * found.operand_bits),
        "b": (right[0], right[1] * found.operand_bits),
        "d": (m, n * found.result_bits),
    }
    base, stride, address = {}, {}, 0
    for name, (rows, bits) in shapes.items():
        stride[name] = -(-bits // config.data_bits) * beat + spread
        base[name] = address
        address += rows * stride[name]
    base["c"], stride["c"] = base["d"], stride["d"]
    return Job(
        op=found.opcode,
        m=m,
        n=n,
        k=k,
        base=base,
        stride=stride,
        transposed_b=transposed_b,
        use_c=use_c,
    )


MEMORY_BYTES = 1 << 16

CONFIGS: dict[str, EngineConfig] = {
    # Blocks of 2 x 2 x 2 tiles: small matrices have many blocks, and hazards of every kind.
    "small": Simd2EngineConfig(**entries()["engine_simd2"].small),
    "simd2": Simd2EngineConfig(tile=4, block_rows=2, block_cols=2, block_depth=2),
    "three_managers": Simd2EngineConfig(
        tile=4, ops=("mma", "maxmul"), managers=3, outstanding=2, block_rows=4, block_depth=1
    ),
    # No infinities to pad with; a beat is wider than a tile each way.
    "fp8": Simd2EngineConfig(
        tile=2,
        format="fp8e4m3",
        ops=("mma", "minplus", "maxmin", "minmul"),
        data_bits=128,
        pipeline=2,
    ),
    "wide_results": Simd2EngineConfig(
        tile=2, format="int8", accumulator="int64", ops=("mma", "minplus"), managers=3
    ),
    "narrow_results": Simd2EngineConfig(tile=2, accumulator="fp16", ops=("mma", "maxplus")),
    # A tile is wider than a beat each way; a block is one tile, whose sums are always waited for.
    "large_tile": M3xuEngineConfig(
        rows=2,
        cols=8,
        depth=8,
        modes=("bf16",),
        alignment_bits=26,
        pipeline=1,
        block_rows=1,
        block_cols=1,
        block_depth=1,
    ),
    # An element is as wide as a beat.
    "fp64": Simd2EngineConfig(tile=2, format="fp64", ops=("minmax", "maxmin"), managers=2),
    "two_steps": M3xuEngineConfig(rows=4, cols=4, depth=4, modes=("fp16", "fp32"), managers=3),
    # A word of C lies in several memories.
    "complex": M3xuEngineConfig(
        rows=2,
        cols=4,
        depth=8,
        modes=("fp16", "bf16", "fp32c"),
        data_bits=256,
        addr_bits=64,
        block_rows=32,
        block_cols=8,
    ),
    "every_mode": M3xuEngineConfig(
        rows=4, cols=2, depth=4, managers=2, outstanding=1, block_rows=1, block_depth=1
    ),
}


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
