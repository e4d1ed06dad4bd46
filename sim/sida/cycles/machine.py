"""Cycle model of the whole accelerator: its parts put together, and a job run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.sida import SidaConfig
from ...timing.compiled import compiled
from ...timing.dram import FLAT, MemoryModel
from ...timing.striped.bus import step
from ...timing.striped.state import Bus
from ..fit import check_modelled
from .compute import Compute, compute_step, set_up_compute
from .load.state import memory_bus, set_up_load
from .load.step import load_offers, load_step
from .report import SidaTimes, report
from .shared import set_up_shared
from .state import MACHINE

__all__ = ["SETTLED", "PassJob", "run_job"]

SETTLED = 1 << 24
"""Cycles behind a reset in which what it begins has ended, in any configuration."""

_PATIENCE = 1 << 20
"""Cycles without a beat or an instruction after which the model has come to a standstill."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PassJob:
    """A job that ends well.

    Parameters
    ----------
    registers: by name
    words: of the program
    pointers, rows: of the matrix by columns
    row_pointers, columns: of the matrix by rows; by columns, too, of a job with the transpose
    passes: that it does
    """

    registers: Mapping[str, int]
    words: Sequence[int]
    pointers: Ints
    rows: npt.NDArray[np.int32]
    row_pointers: Ints
    columns: npt.NDArray[np.int32]
    passes: int


@compiled
def _run(
    machines: Any, c: Compute, b: Bus, pointers: Any, rows: Any, row_pointers: Any, columns: Any,
    ended: int, patience: int,
) -> int:  # fmt: skip
    """The cycle in which the job has finished, the first one being 0; negative if it never does."""
    m = machines[0]
    now = moved = moved_at = 0
    while True:
        load_offers(m, b, now)
        finished = m.finished != 0 and m.quiet != 0
        compute_step(m, c, now)
        load_step(m, b, pointers, rows, row_pointers, columns, ended, now)
        step(b, now)
        if finished:
            return now
        now += 1
        if now - moved_at > patience:
            found = m.counts.instructions + m.counts.elements
            for number in range(b.c.readers):
                found += b.readers[number].beats
            if found == moved:
                return -now
            moved, moved_at = found, now


def run_job(
    config: SidaConfig,
    job: PassJob,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    phase: int = SETTLED,
) -> SidaTimes:
    """Run a job, behind a reset.

    ``memory``: of each channel; ``phase``: cycles from the reset to the job's first one. Raises
    RuntimeError if the model comes to a standstill, which no job that the hardware takes does.
    ``config``: one that :func:`check_modelled` takes.
    """
    check_modelled(config)
    machines = np.zeros(1, MACHINE)
    m = machines[0]
    registers = dict(job.registers)
    if registers["TRANSPOSED"]:
        # Panels are of columns.
        again = ("ROW_POINTERS", "COLUMN_NUMBERS", "ROW_VALUES")
        columns = ("COLUMN_POINTERS", "ROW_NUMBERS", "COLUMN_VALUES")
        registers |= {row: registers[name] for row, name in zip(again, columns, strict=True)}
    set_up_shared(m, config, registers)
    set_up_load(m, config, registers)
    compute = set_up_compute(m, config, registers, list(job.words), phase)
    channels = memory_bus(config, memory=memory, gigahertz=gigahertz)
    halves = (job.pointers, job.rows, job.row_pointers, job.columns)
    end = _run(machines, compute, channels, *halves, job.passes, _PATIENCE)
    if end < 0:
        raise RuntimeError(f"the cycle model has come to a standstill in cycle {-end}")
    return report(config, m, compute.held.asked, channels, end, gigahertz)
