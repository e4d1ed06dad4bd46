"""Measures steady passes of a sequence of jobs, to compare with ideal accelerators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ....hw.spec.sida import SidaConfig
from ...device.driver import Placement
from ...timing.dram import FLAT, MemoryModel
from ..driver import bank_span
from ..fit import check_fit
from ..images import late_step, program_words
from ..iterations.jobs import Job, Setup
from ..iterations.problem import Problem
from ..references import Demand, Machine, Spent, demand_of_job, fused, ideal, oracle
from ..result.products import Columns
from ..sequence_driver import ARRAYS, NOTHING, job_registers, sum_of
from .machine import PassJob, run_job


@dataclass(frozen=True, kw_only=True)
class SteadyPass:
    """Pass of two iterations between other passes.

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
        """Cycles of the pass."""
        return self.counts["cycles"]

    @property
    def bandwidth(self) -> float:
        """Share of the memory's."""
        return (self.counts["bytes_read"] + self.counts["bytes_written"]) / self.peak_bytes

    @property
    def loaded_ahead(self) -> float:
        """Upper bound of the speedup if the matrix's elements are loaded ahead: the memory is then
        not idle while columns arrive, and the rest of the pass is shorter by as much."""
        return self.peak_bytes / (self.peak_bytes - self.idle_bytes)


def steady_pass(
    config: SidaConfig,
    problem: Problem,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    rows: str = "late",
) -> SteadyPass:
    """Measures a steady pass with the cycle model; ``rows``: what is in memory by rows, see
    ``images.ROWS``. Raises as :func:`run_job`, ValueError if ``rows`` is none of ``ROWS`` or the
    matrix has too many rows."""
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
    """Returns the demand of so many iterations of a problem."""
    return Demand(
        size=problem.matrix.size,
        elements=len(problem.matrix.rows),
        iterations=iterations,
        program=problem.program,
        value_bytes=config.format.bits // 8,
    )


def _job(config: SidaConfig, problem: Problem, passes: int, late: int | None) -> PassJob:
    """Builds a job with its arrays placed as by a driver; ``late``: see ``matrix_images``."""
    matrix, size = problem.matrix, problem.matrix.size
    check_fit(config, size, (), 0)
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
    """Returns the arrays of a matrix for a :class:`PassJob`; ``late``: see ``matrix_images``."""
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
    """Appends one element, so that arrays of a matrix without elements are not empty."""
    return np.append(numbers, 0).astype(np.int32)


_NO_STOP = {"STOP_1": 0, "STOP_2": 0, "LIMIT": 0}


def steady_jobs(
    config: SidaConfig,
    setup: Setup,
    jobs: Sequence[Job],
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    rows: str = "late",
) -> SteadyPass:
    """Measures all jobs, each after a reset, with the cycle model. Those of one program on one
    matrix take the same. Raises as :func:`steady_pass`."""
    late = late_step(config, rows)
    places = _places(config, setup, late)
    width = config.channels * config.geometry.beat_bytes
    machine = Machine(bytes_a_cycle=width, lanes=config.pes)
    counts, idle = [], 0
    limits = dict.fromkeys((ideal, fused, oracle), Spent(bytes=0, cycles=0.0))
    first = {(job.program, job.matrix, job.second): job for job in reversed(jobs)}
    for kind, times in Counter((job.program, job.matrix, job.second) for job in jobs).items():
        job = first[kind]
        found = run_job(config, _pass(setup, job, places, late), memory=memory, gigahertz=gigahertz)
        counts += [found.counts] * times
        if job.matrix is not None:
            most = width * found.counts["column_cycles"]
            idle += times * max(0, most - found.moved_with_columns)
        demand = demand_of_job(setup, job, config.format.bits // 8)
        for reference in limits:
            limits[reference] += _times(reference(machine, demand), times)
    total = sum_of(counts)
    return SteadyPass(
        counts=total,
        ideal=limits[ideal],
        fused=limits[fused],
        oracle=limits[oracle],
        peak_bytes=width * total["cycles"],
        idle_bytes=idle,
    )


def _times(spent: Spent, times: int) -> Spent:
    return Spent(bytes=times * spent.bytes, cycles=times * spent.cycles)


def _places(config: SidaConfig, setup: Setup, late: int | None) -> dict[str, int]:
    """Addresses as a driver gives them."""
    value = config.format.bits // 8
    pointers, vector = 4 * (setup.size + 1), value * setup.size
    sizes = {f"{NOTHING} pointers": pointers}
    for name, matrix in setup.matrices.items():
        count = len(matrix.rows)
        again = count if late is None else int(matrix.late(late).sum())
        each = (pointers, 4 * count, value * count, pointers, 4 * again, value * again)
        sizes |= {f"{name} {array}": one for array, one in zip(ARRAYS, each, strict=True)}
    for name, program in setup.programs.items():
        sizes[f"program {name}"] = 4 * len(program_words(program)[0])
    sizes["scalars"] = 32 * value
    sizes |= {f"vector {name}": vector for name in setup.vectors}
    place = Placement(0, 1 << config.addr_bits, config.line_bytes, span=bank_span(config))
    return place.fit(sizes, "the problem")


def _pass(setup: Setup, job: Job, places: dict[str, int], late: int | None) -> PassJob:
    matrix = _nothing(setup.size) if job.matrix is None else setup.matrices[job.matrix]
    return PassJob(
        registers=_NO_STOP
        | {f"VECTOR_{number}": 0 for number in range(16)}
        | job_registers(setup, job, places),
        words=program_words(setup.programs[job.program], second=job.second)[0],
        **job_arrays(matrix, late),
        passes=1,
    )


def _nothing(size: int) -> Columns:
    nothing = np.zeros(0, np.int64)
    return Columns(
        pointers=np.zeros(size + 1, np.int64), rows=nothing, values=np.zeros(0, np.uint64)
    )
