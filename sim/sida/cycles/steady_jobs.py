"""What a sequence of jobs takes: beside ideal accelerators of the same memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ....hw.spec.sida import SidaConfig
from ...device.placement import Placement
from ...timing.dram import FLAT, MemoryModel
from ..bank_span import bank_span
from ..images import late_step, program_words
from ..iterations.jobs import Job, Setup
from ..references import Machine, Spent, demand_of_job, fused, ideal, oracle
from ..result.products import Columns
from ..sequence_driver import sum_of
from ..sequence_registers import ARRAYS, NOTHING, job_registers
from .machine import PassJob, run_job
from .steady import SteadyPass, job_arrays

__all__ = ["steady_jobs"]

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
    """All of them, each behind a reset, by the cycle model. Those of one program on one matrix take
    the same. Raises as :func:`steady_pass`."""
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
