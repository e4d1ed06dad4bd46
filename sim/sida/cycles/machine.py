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
from ...timing.jobs import ended, looks, stands_still, watch
from ...timing.striped.bus import beats_read, step
from ...timing.striped.memory import Bus
from ..fit import check_modelled
from .compute import MACHINE, Compute, compute_step, set_up_compute, set_up_shared
from .load_half import load_offers, load_step
from .load_state import COUNTS, READERS, memory_bus, set_up_load

_BEHIND = 2
"""Cycles from the start of a job to its last counted one, beyond those between them."""

_STREAMS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("pointers", "rows", "values", "vectors", "program")},
    "again": ("again_pointers", "again_columns", "again_values"),
}


@dataclass(frozen=True, kw_only=True)
class SidaTimes:
    """A job.

    Parameters
    ----------
    counts: the counter registers, by their names in lower case, but for ``ended``
    memory_read, memory_written: bytes that each channel's memory moved: whole accesses, or beats of
        a flat memory
    moved_with_columns: bytes of lines that were taken, and of what was written, in column_cycles
    asked: of each panel the first pass in which it was read again, from 1; 0: none
    gigahertz: clock of the accelerator
    """

    counts: dict[str, int]
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    moved_with_columns: int
    asked: tuple[int, ...]
    gigahertz: float

    @property
    def microseconds(self) -> float:
        """Time of the job in microseconds."""
        return self.counts["cycles"] / self.gigahertz / 1000


def report(
    config: SidaConfig, m: Any, asked: Any, bus: Any, end: int, gigahertz: float
) -> SidaTimes:
    """Reports a machine ``m`` that has finished in cycle ``end``; the job's first cycle is 0.
    ``asked`` is that of ``Held``."""
    counts = {name: int(m["counts"][name]) for name in COUNTS}
    first, last, busy = (int(m[name]) for name in ("first_at", "last_at", "busy"))
    beat_bytes = config.geometry.beat_bytes
    beats = dict(zip(READERS, bus.readers["beats"].tolist(), strict=True))
    read = {
        f"bytes_{name}": beat_bytes * sum(beats[reader] for reader in readers)
        for name, readers in _STREAMS.items()
    }
    products = 2 if m["second_product"] else 1
    counts |= {
        "cycles": end + _BEHIND,
        "busy_cycles": busy,
        "stalls": last - first + 1 - busy if busy else 0,
        "operations": 2 * products * counts["elements"],
        "bytes_read": sum(read.values()),
        **read,
        "bytes_written": int(bus.writer["bytes"][0]),
        "passes_done": int(m["passes_done"]),
    }
    return SidaTimes(
        counts=counts,
        memory_read=tuple(int(moved) for moved in bus.channels["read"]),
        memory_written=tuple(int(moved) for moved in bus.channels["written"]),
        moved_with_columns=int(m["moved_with_columns"]),
        asked=tuple(asked.tolist()),
        gigahertz=gigahertz,
    )


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
    passes: int, watch: Any,
) -> int:  # fmt: skip
    """The cycle in which the job has finished, the first one being 0; negative if it never does."""
    m = machines[0]
    now = 0
    while True:
        load_offers(m, b, now)
        finished = m.finished != 0 and m.quiet != 0
        compute_step(m, c, now)
        load_step(m, b, pointers, rows, row_pointers, columns, passes, now)
        step(b, now)
        if finished:
            return now
        now += 1
        if looks(watch, now):
            moved = m.counts.instructions + m.counts.elements + beats_read(b)
            if stands_still(watch, now, moved):
                return -now


def run_job(
    config: SidaConfig,
    job: PassJob,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    phase: int = SETTLED,
) -> SidaTimes:
    """Runs a job after a reset.

    ``memory``: of each channel; ``phase``: cycles from the reset to the job's first one. Raises
    RuntimeError as :func:`ended`. ``config``: one that :func:`check_modelled` takes.
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
    end = ended(_run(machines, compute, channels, *halves, job.passes, watch(_PATIENCE)))
    return report(config, m, compute.held.asked, channels, end, gigahertz)
