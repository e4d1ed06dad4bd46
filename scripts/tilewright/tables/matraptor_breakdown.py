"""The table of what the cycles of MatRaptor's lanes go to, by the cycle model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..hw.spec.host.activity import note_config
from ..synth.tables import Row, Table, Tables

if TYPE_CHECKING:
    from ..sim.matraptor.cycles.rows import Cycles
    from ..sim.timing.dram import MemoryModel

__all__ = ["SIZES", "matraptor_breakdown"]

SIZES = (1_000_000, 10_000_000)
"""Products that are asked for."""
HARDWARE = {"16 queues": {"queues": 16}, "and 256 bursts": {"queues": 16, "outstanding": 256}}
"""Configurations with more of something than the default one."""
_SEED = 11
Progress = Callable[[str], None]


def matraptor_breakdown(
    target: str, progress: Progress = lambda said: None, *, sizes: Sequence[int] = SIZES
) -> Tables:
    """Squares of generated matrices on the default configuration, at 2 GHz, with HBM channels.

    A table for each length of an access: products, jobs, cycles and their ratio to the bound, to it
    if channels and lanes had equal shares, then what the cycles of all lanes went to, in percent.
    One more, of the smallest matrices on ``HARDWARE``, with 64-byte accesses.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    if target != "cmos":
        raise UserError(f"matraptor-breakdown is computed by a model: no --target, not {target!r}")
    from ..sim.timing.dram import HBM, HBM_32
    from .generated_matrices import KINDS

    parts = []
    for memory in (HBM, HBM_32):
        found, columns = [], []
        for kind in KINDS:
            for size in sizes:
                progress(f"{kind}, {size:,} products, {memory.name}")
                found.append(_measure(kind, size, memory))
                columns.append(f"{kind}, {sum(job.operations for job in found[-1]) / 1e6:.1f} M")
        name = f"matraptor-breakdown, {memory.access_bytes}-byte accesses"
        parts.append(Table(name, "model", columns, _rows(found)))
    found, columns = [], []
    for kind in KINDS:
        for what, changes in HARDWARE.items():
            progress(f"{kind}, {sizes[0]:,} products, {what}")
            found.append(_measure(kind, sizes[0], HBM, **changes))
            columns.append(f"{kind}, {what}")
    parts.append(Table("matraptor-breakdown, more hardware", "model", columns, _rows(found)))
    return Tables("matraptor-breakdown", parts)


def _measure(kind: str, size: int, memory: MemoryModel, **changes: Any) -> list[Cycles]:
    """The jobs of a matrix's square that ended well; ``changes``: of the default configuration."""
    from ..hw.spec.matraptor import MatRaptorConfig
    from ..sim.matraptor.driver import SparseDriver
    from ..sim.matraptor.model import MatRaptorModel
    from ..sim.sparse.c2sr import from_csr
    from .generated_matrices import KINDS

    config = MatRaptorConfig(**changes)
    note_config("matraptor", config.resolved())
    operand = from_csr(KINDS[kind](size, _SEED), config.layout)
    model = MatRaptorModel(config, 1 << 32, channel=memory)
    SparseDriver(model).multiply(operand, operand)
    return model.cycles


def _rows(found: list[list[Cycles]]) -> list[Row]:
    from ..sim.matraptor.cycles.state import REASONS

    cycles = [sum(job.cycles for job in jobs) for jobs in found]
    bounds = [sum(job.bound.cycles for job in jobs) for jobs in found]
    even = [sum(job.bound.cycles_even for job in jobs) for jobs in found]
    merged = [sum(job.merge_steps for job in jobs) / 1e6 for jobs in found]
    none = [None] * len(found)
    rows = [
        Row("jobs", none, [len(jobs) for jobs in found], 0),
        Row("cycles", none, cycles, 0),
        Row("ratio to the bound", none, [x / y for x, y in zip(cycles, bounds, strict=True)], 3),
        Row("the same, evenly spread", none, [x / y for x, y in zip(cycles, even, strict=True)], 3),
        Row("merge steps, million", none, merged, 1),
    ]
    for name, words in REASONS.items():
        shares = []
        for jobs in found:
            spent = sum(job.lane_cycles[name] for job in jobs)
            shares.append(100 * spent / sum(job.lanes * job.cycles for job in jobs))
        rows.append(Row(f"{words}, %", none, shares, 1))
    return rows
