"""What a pass of a computation takes once it runs: beside ideal accelerators of the same memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ....hw.spec.sida import SidaConfig
from ...device.placement import Placement
from ...timing.dram import FLAT, MemoryModel
from ..bank_span import bank_span
from ..images import late_step, program_words
from ..iterations.problem import Problem
from ..references import Demand, Machine, Spent, fused, ideal, oracle
from ..result.products import Columns
from .machine import PassJob, run_job

__all__ = ["SteadyPass", "job_arrays", "steady_demand", "steady_pass"]


@dataclass(frozen=True, kw_only=True)
class SteadyPass:
    """One pass between others, of two iterations.

    Parameters
    ----------
    counts: what the counters of a job of two passes have more than those of a job of one; ``held``
        is the most that waits
    ideal, fused, oracle: what two iterations take there
    peak_bytes: of the memory, in as many cycles
    idle_bytes: that the memory could have moved besides until the last columns were there
    """

    counts: dict[str, int]
    ideal: Spent
    fused: Spent
    oracle: Spent
    peak_bytes: int
    idle_bytes: int

    @property
    def cycles(self) -> int:
        """That it takes."""
        return self.counts["cycles"]

    @property
    def bandwidth(self) -> float:
        """Share of the memory's."""
        return (self.counts["bytes_read"] + self.counts["bytes_written"]) / self.peak_bytes

    @property
    def loaded_ahead(self) -> float:
        """How many times as fast a pass is at most if the matrix's elements are loaded ahead: the
        memory is not idle while columns come, and what follows is shorter by as much."""
        return self.peak_bytes / (self.peak_bytes - self.idle_bytes)


def steady_pass(
    config: SidaConfig,
    problem: Problem,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    rows: str = "late",
) -> SteadyPass:
    """By the cycle model; ``rows``: what is in memory by rows, see ``images.ROWS``. Raises as
    :func:`run_job`, ValueError if ``rows`` is none of ``ROWS``."""
    late = late_step(config, rows)
    one, two = (
        run_job(config, _job(config, problem, passes, late), memory=memory, gigahertz=gigahertz)
        for passes in (1, 2)
    )
    counts = {name: two.counts[name] - one.counts[name] for name in two.counts}
    counts["held"] = two.counts["held"]
    moved = two.moved_with_columns - one.moved_with_columns
    width = config.channels * config.geometry.beat_bytes
    machine = Machine(bytes_a_cycle=width, lanes=config.pes)

    def spent(reference: object) -> Spent:
        assert callable(reference)
        four, before = (reference(machine, steady_demand(config, problem, n)) for n in (4, 2))
        return Spent(bytes=four.bytes - before.bytes, cycles=four.cycles - before.cycles)

    return SteadyPass(
        counts=counts,
        ideal=spent(ideal),
        fused=spent(fused),
        oracle=spent(oracle),
        peak_bytes=width * counts["cycles"],
        idle_bytes=max(0, width * counts["column_cycles"] - moved),
    )


def steady_demand(config: SidaConfig, problem: Problem, iterations: int) -> Demand:
    """So many iterations of a problem."""
    return Demand(
        size=problem.matrix.size,
        elements=len(problem.matrix.rows),
        iterations=iterations,
        program=problem.program,
        value_bytes=config.format.bits // 8,
    )


def _job(config: SidaConfig, problem: Problem, passes: int, late: int | None) -> PassJob:
    """With its arrays in memory as a driver puts them; ``late``: see ``matrix_images``."""
    matrix, size = problem.matrix, problem.matrix.size
    elements, value = len(matrix.rows), config.format.bits // 8
    again = elements if late is None else int(matrix.late(late).sum())
    words, entry = program_words(problem.program)
    sizes = {
        "COLUMN_POINTERS": 4 * (size + 1), "ROW_NUMBERS": 4 * elements,
        "COLUMN_VALUES": value * elements, "ROW_POINTERS": 4 * (size + 1),
        "COLUMN_NUMBERS": 4 * again, "ROW_VALUES": value * again, "X": value * size,
        "SCALARS": 32 * value, "PROGRAM_BASE": 4 * len(words),
        **{f"VECTOR_{n}": value * size for n in range(16)},
    }  # fmt: skip
    registers = {
        "ROWS": size, "PASSES": passes, "FIRST": problem.semirings[0].opcode,
        "SECOND": problem.semirings[1].opcode, "SECOND_PRODUCT": 1, "WORDS": len(words),
        "ENTRY": entry, "STOPS": 0, "STOP_1": 0, "STOP_2": 0, "LIMIT": 0,
        "TRANSPOSED": int(problem.transposed),
    }  # fmt: skip
    memory = Placement(0, 1 << config.addr_bits, config.line_bytes, span=bank_span(config))
    registers |= memory.fit(sizes, "the problem")
    return PassJob(
        registers=registers,
        words=words,
        **job_arrays(matrix, late, transposed=problem.transposed),
        passes=passes,
    )


def job_arrays(matrix: Columns, late: int | None, *, transposed: bool = False) -> dict[str, Any]:
    """What a :class:`PassJob` has of a matrix; ``late``: see ``matrix_images``."""
    pointers, rows = matrix.pointers, _padded(matrix.rows)
    if transposed:
        return {"pointers": pointers, "rows": rows, "row_pointers": pointers, "columns": rows}
    size, count = matrix.size, len(matrix.rows)
    by_rows = np.ones(count, np.bool_) if late is None else matrix.late(late)
    places = (matrix.rows[by_rows], matrix.columns[by_rows])
    stored = csr_array((np.zeros(len(places[0]), np.int8), places), shape=(size, size))
    return {
        "pointers": pointers,
        "rows": rows,
        "row_pointers": stored.indptr.astype(np.int64),
        "columns": _padded(stored.indices),
    }


def _padded(numbers: np.ndarray) -> np.ndarray:
    """One more, where elements of a matrix without any would be."""
    return np.append(numbers, 0).astype(np.int32)
