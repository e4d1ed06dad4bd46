"""Cycle model of the whole accelerator: its parts put together, and a job run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.tensaurus import TensaurusConfig
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, MemoryModel
from ...timing.jobs import ended, looks, stands_still, watch
from ...timing.striped.bus import beats_read, look_at_ports, step, use_ports
from ...timing.striped.memory import Bus, Reader, Writer, bus
from ...timing.striped.writer import put_extent, put_line, takes_extent, takes_line, writer_idle
from ..result.kernel import Kernel
from .compute_array import array_step
from .operands import fetch_tiles, load_matrices, skid_step
from .state import COUNTS, MACHINE, READERS, SKIDS, set_up_array, set_up_load, set_up_store
from .stores import (
    add_sums,
    is_finished,
    leave_for_memory,
    store_tiles,
    walk_output,
    walks,
    write_sums,
)
from .tensor import load_tensor, slots_step

_BEFORE = 1
"""Cycles before the start in which rows are said to wait for slots."""
_BEHIND = 2
"""Cycles from the start to the last one that counts, beyond those between them."""


@dataclass(frozen=True, kw_only=True)
class TensorCycles:
    """A job.

    Parameters
    ----------
    counts: the counter registers, by their names in lower case
    tiles: of the job
    memory_read, memory_written: bytes that each channel's memory moved: whole accesses, or beats of
        a flat memory
    gigahertz: clock of the accelerator
    """

    counts: dict[str, int]
    tiles: int
    memory_read: tuple[int, ...]
    memory_written: tuple[int, ...]
    gigahertz: float

    @property
    def cycles(self) -> int:
        """Cycles of the job."""
        return self.counts["cycles"]

    @property
    def microseconds(self) -> float:
        """Microseconds that the job takes."""
        return self.cycles / self.gigahertz / 1000

    @property
    def operations_per_second(self) -> float:
        """Multiplications and additions of lanes that count."""
        if not self.cycles:
            return 0.0
        return self.counts["operations"] * self.gigahertz * 1e9 / self.cycles


def report(
    config: TensaurusConfig, kernel: Kernel, m: Any, bus: Any, end: int, tiles: int,
    gigahertz: float,
) -> TensorCycles:  # fmt: skip
    """Makes the report of a machine ``m`` that has finished in cycle ``end`` after its start."""
    rows = m["rows"][: config.rows]
    counts = {name: int(rows[name].sum()) for name in COUNTS}
    counts["wait_slots"] += _BEFORE * config.rows
    first, last, busy = (int(m[name]) for name in ("first_at", "last_at", "busy"))
    values = 1 if kernel.name == "mv" else config.unit_values
    beat_bytes = config.geometry.beat_bytes
    read = [int(count) * beat_bytes for count in bus.readers["beats"]]
    counts |= {
        "cycles": end + _BEHIND,
        "busy_cycles": busy,
        "stalls": last - first + 1 - busy if busy else 0,
        "operations": 2 * values * counts["products"],
        "bytes_read": sum(read),
        "bytes_written": int(m["sent"]),
        **{f"bytes_{name}": count for name, count in zip(READERS, read, strict=True)},
        "drains": int(m["drains"]),
    }
    return TensorCycles(
        counts=counts,
        tiles=tiles,
        memory_read=tuple(int(count) for count in bus.channels["read"]),
        memory_written=tuple(int(count) for count in bus.channels["written"]),
        gigahertz=gigahertz,
    )


_LIST_BLOCKS, _LIST_REQUESTS = 2, 2
_PATIENCE = 1 << 20
"""Cycles without a product or a byte after which the model has come to a standstill."""


@dataclass(frozen=True)
class TileJob:
    """The content of memory and of the registers that a job reads.

    Parameters
    ----------
    kernel, dense, direct: as the registers say them
    regions: by mode, where its operand begins in its scratchpad
    list_address: of the tiles' descriptions
    tiles: of type ``TILE``
    content: bytes, in which a tile's stream begins at its ``stream``
    """

    kernel: Kernel
    dense: bool
    direct: bool
    regions: Mapping[int, int]
    list_address: int
    tiles: npt.NDArray[np.void]
    content: npt.NDArray[np.uint8]


@inlined
def _parts_step(m: Any, tiles: Any, content: Any, now: int, half: int) -> None:
    """A cycle of what loads and computes."""
    fetch_tiles(m)
    load_matrices(m, tiles, now)
    array_step(m, now, half)
    load_tensor(m, tiles, content)
    for number in range(m.height):
        slots_step(m, m.rows[number])
    for number in range(len(SKIDS)):
        skid_step(m.skids[number])


@compiled
def _run(machines: Any, tiles: Any, content: Any, b: Bus, phase: int, watch: Any) -> int:
    """The cycle in which the job has finished, counted from its start; negative if it never
    does."""
    m = machines[0]
    now = 0
    half = phase % m.height
    while True:
        look_at_ports(m.ports, b)
        m.line_accepts = takes_line(b)
        m.writer_idle = writer_idle(b)
        finished = is_finished(m)
        busy = walks(m)
        if m.direct:
            write_sums(m)
        else:
            walk_output(m)
        if m.puts_line:
            put_line(b)
        if m.walk_asks and takes_extent(b):
            put_extent(b, m.walk_address, m.walk_bytes)
            m.walk_asks = 0
        store_tiles(m, tiles, busy, now)
        if m.direct:
            for channel in range(b.c.channels):
                m.answers[channel] = b.stores[channel].answers_out
            add_sums(m)
        _parts_step(m, tiles, content, now, half)
        if m.direct:
            leave_for_memory(m, tiles)
        use_ports(m.ports, b)
        step(b, now)
        if finished:
            return now
        if now == 0:
            # The pulse that starts the job.
            m.list_asks = 1
            m.list_cuts = 1
        now += 1
        half = half + 1 if half + 1 < m.height else 0
        if looks(watch, now):
            moved = m.drains + m.last_at + m.sent + m.check_tile + m.row_tiles[0]
            if stands_still(watch, now, moved + beats_read(b)):
                return -now


def run_job(
    config: TensaurusConfig,
    job: TileJob,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 2.0,
    phase: int = 0,
) -> TensorCycles:
    """Run a job of at least one tile, behind a reset.

    ``memory``: of each channel; ``phase``: cycles from the reset to the job's start, modulo rows,
    which decide whose turn it is at the scratchpads. Raises RuntimeError as :func:`ended`.
    """
    machines = np.zeros(1, MACHINE)
    m = machines[0]
    set_up_array(m, config, job.kernel, job.regions)
    set_up_load(m, config, job.kernel, job.dense)
    set_up_store(m, config, job.kernel, job.direct)
    m["tiles"], m["list_address"] = len(job.tiles), job.list_address
    lines = {"line_blocks": config.line_blocks}
    loader = Reader(**lines, outstanding=config.outstanding)
    fetcher = Reader(**lines, outstanding=_LIST_BLOCKS, requests=_LIST_REQUESTS)
    adder = Reader(**lines, outstanding=config.memory_reads, requests=max(2, config.memory_slots))
    channels = bus(
        config.geometry,
        readers=[fetcher, loader, loader, adder],
        writer=Writer(**lines, outstanding=config.outstanding, blocks=2),
        memory=memory,
        gigahertz=gigahertz,
    )
    end = ended(_run(machines, job.tiles, job.content, channels, phase, watch(_PATIENCE)))
    return report(config, job.kernel, m, channels, end, len(job.tiles), gigahertz)
