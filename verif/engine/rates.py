"""Measures an engine's utilisation on a large product, by its counters and by the bench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.engine import OPERANDS, UNITS, EngineConfig
from tilewright.sim.engine.driver import Counts
from tilewright.sim.engine.job import Job
from tilewright.sim.engine.model import EngineModel
from tilewright.verif.bench.device import AxiDevice, DeviceTimeout
from tilewright.verif.engine.jobs import Mismatch, check_job

EngineTimeout = DeviceTimeout


def unit_of(config: EngineConfig) -> str:
    """The catalogue's name of the engine with a configuration."""
    return next(unit.name for unit in UNITS if unit.config is type(config))


class EngineAxiDevice(AxiDevice[EngineConfig]):
    """An engine; parameters are those of :class:`AxiDevice`."""

    def __init__(self, config: EngineConfig, **settings: Any) -> None:
        emitted = emit(unit_of(config), config)
        super().__init__(emitted, config, outstanding=config.outstanding, **settings)

    def watch(self) -> None:
        """Records the matrix unit's input and the traffic of the managers from now on."""
        self._ask("watch")

    def seen(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The cycles in which the unit had an operation at its input, and whether it took it;
        the bytes that were read and written over each manager."""
        found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = self._ask("seen")
        return found


LEAST_CYCLES, MOST_CYCLES = 10_000, 1 << 16
"""Cycles that the unit works on a large product: at least, and where K is let go below M and N."""


def typical_operations(config: EngineConfig) -> list[str]:
    """One operation of each kind that differs in what it moves or in how long it takes."""
    kinds: dict[tuple[int, int, int], str] = {}
    for name, row in config.unit.operations.items():
        interval = config.unit.initiation_interval[name]
        kinds.setdefault((row.operand_bits, row.result_bits, interval), name)
    return list(kinds.values())


def _shape(config: EngineConfig, operation: str) -> tuple[int, int, int]:
    """M, N and K: whole blocks and chunks, two at least, and K as long as M or N.

    So that the blocks' loads and stores of C and D count, but not for more than in any product.
    """
    lanes = config.unit.operations[operation].operand_bits // config.unit.lane_bits
    rows, cols, depth = config.tile_shape
    down, across, deep = config.block
    step = [down * rows, across * cols, max(1, deep * depth // lanes)]
    interval = config.unit.initiation_interval[operation]
    m, n, k = 2 * step[0], step[1], 2 * step[2]
    while (cycles := (m // rows) * (n // cols) * (k * lanes // depth) * interval) < MOST_CYCLES:
        if k < min(m, n):
            k += step[2]
        elif cycles >= LEAST_CYCLES:
            break
        elif m <= n:
            m += step[0]
        else:
            n += step[1]
    return m, n, k


def large_product(config: EngineConfig, operation: str, *, transposed_b: bool = False) -> Job:
    """Returns a job with C. The four matrices follow each other, rows padded to whole beats."""
    row = config.unit.operations[operation]
    m, n, k = _shape(config, operation)
    widths = {"a": k * row.operand_bits, "b": (k if transposed_b else n) * row.operand_bits}
    widths |= dict.fromkeys("cd", n * row.result_bits)
    stride = {x: -(-width // config.data_bits) * config.beat_bytes for x, width in widths.items()}
    lines = {"a": m, "b": n if transposed_b else k, "c": m, "d": m}
    base, end = {}, 0
    for operand in OPERANDS:
        base[operand] = end
        end += lines[operand] * stride[operand]
    return Job(
        op=row.opcode,
        m=m,
        n=n,
        k=k,
        base=base,
        stride=stride,
        transposed_b=transposed_b,
        use_c=True,
    )


def bytes_of(job: Job) -> int:
    """Returns the address after the last byte of memory that a job needs."""
    return job.base["d"] + job.m * job.stride["d"]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Counts of a job.

    Parameters
    ----------
    operation, job: what was computed
    counts: by the engine's counters
    seen: the same but for ``cycles``, by the bench, at the unit's input and at the managers
    """

    operation: str
    job: Job
    counts: Counts
    seen: dict[str, int]

    @property
    def complaints(self) -> list[str]:
        """Counters that are not what the bench saw, one line each."""
        return [
            f"{self.operation}: {name} is {getattr(self.counts, name)}, the bench saw {value}"
            for name, value in self.seen.items()
            if getattr(self.counts, name) != value
        ]

    def as_json(self) -> dict[str, Any]:
        """The rate for machines."""
        sizes = {name: getattr(self.job, name) for name in "mnk"}
        return {
            "operation": self.operation,
            **sizes,
            "counters": vars(self.counts),
            "seen": self.seen,
        }

    def __str__(self) -> str:
        job, counts = self.job, self.counts
        span = counts.busy_cycles + counts.stalls
        witness = "the counters" if self.complaints else "counters and bench agree"
        return (
            f"{self.operation}, {job.m} x {job.n} x {job.k} with C, memory that answers at once: "
            f"{counts.operations} operations, busy in {counts.busy_cycles} of {span} cycles "
            f"({counts.utilisation:.1%}), {counts.cycles} cycles in all, "
            f"{counts.bytes_read} bytes read, {counts.bytes_written} written; {witness}"
        )


def measure(device: EngineAxiDevice, model: EngineModel, operation: str, job: Job) -> Rate:
    """Check a job and count what happens meanwhile. Raises Mismatch."""
    device.watch()
    counts = check_job(device, model, job).counts
    inputs, moved = device.seen()
    if not inputs:
        raise Mismatch(f"{job}: the bench saw no operation")
    cycles = [cycle for cycle, _ in inputs]
    seen = {
        "operations": sum(taken for _, taken in inputs),
        "busy_cycles": len(inputs),
        "stalls": cycles[-1] - cycles[0] + 1 - len(inputs),
        "bytes_read": sum(read for read, _ in moved),
        "bytes_written": sum(written for _, written in moved),
    }
    return Rate(operation=operation, job=job, counts=counts, seen=seen)
