"""State of the cycle model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import BANKS, COLS, GtaConfig, limbs
from ....hw.spec.jobs.gta import COUNTERS, LIST_BURST_BYTES, LIST_BURSTS, beat_bytes, burst_beats
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, KINDS
from ...timing.bursts.state import Managers, Reader, Writer, managers
from ...timing.dram import MemoryModel
from ...timing.parts import QUEUE, RING_QUEUE, SKID, fields, record
from .commands import Job

# Fields of the records have the names of the hardware's registers, where there is one.

WALK = np.dtype(
    [
        # Requests for rows: those left, the next one; the one before it, if it waits.
        *fields("left", "place", "beats", "stride", "asked", "kept"),
        *fields("held", "held_place", "held_beats"),
        # The command at hand and the one behind it, by their numbers, as ``place``.
        ("command", SKID),
        # The command that is walked: rows and bytes of the row that are left, and where it is.
        *fields("active", "rows_left", "bytes_left", "at", "lane", "entry", "bank"),
    ]
)
MACHINE = np.dtype(
    [
        # The list: what of a command is there, commands that are left, whether one waits.
        *fields("words", "left", "cut", "asked_left", "waits"),
        # Its check: state, cycles to go, the command that is looked at.
        *fields("state", "wait", "number"),
        # The three queues; commands taken out of them, and for what the first one waits.
        ("queues", QUEUE, len(KINDS)),
        *[(name, np.int64, len(KINDS)) for name in ("got", "wants", "puts", "pops")],
        *[(name, np.int64, len(KINDS)) for name in ("passed", "complete")],
        # LOADs: the chunk on its way.
        *fields("chunk", "chunk_result", "chunk_lane", "chunk_ends", "loaded"),
        # STOREs: parts that are read and not taken on, the last two cycles' reads, the queue of
        # parts, the narrower behind it.
        *fields("owed", "read_1", "read_2"),
        ("waiting", RING_QUEUE),
        *fields("narrow", "narrow_part", "upper", "at"),
        # The beat at the end of them; STOREs that were sent.
        *fields("beat", "beat_ends", "sent"),
        # EXECUTEs under way: begun, complete.
        *fields("begun", "ended", "gap"),
        ("counts", record(*COUNTERS)),
    ]
)
REGION = record(
    *("rows", "cols", "lanes"),
    # The command taken last, and where its folds are; see `FoldSequencer`.
    *("command", "fresh", "active", "stay", "wait", "last", "tail", "steady", "row", "col"),
    # The fold whose sums stay, and its first result to leave; folds; commands whose end is known,
    # and that have ended.
    *("fold_rows", "fold_last", "fold_reads", "fold_first"),
    *("folds_in", "folds_out", "dones_in", "dones_out"),
    # Vectors: a command waits; cycles before another one; those left; those until it is quiet.
    *("v_waits", "v_early", "v_left", "v_tail"),
    # Cycles in which the last one began just now; where its results are.
    *("v_near", "v_results", "v_end"),
    *("quiet_at", "running"),
)


LIST, OPERANDS = range(2)
"""The readers."""

RING = 256
"""Places of a ring: more than EXECUTEs that are under way."""

PARTS = 16
"""Parts of rows that a ring holds: more than are on their way."""

FOLDS = 512
"""Folds of a region whose results are kept in mind: more than have not left the array."""

INTEGERS, FLOATS, VECTORS = range(3)
"""Kinds of folds."""


class Shape(NamedTuple):
    """The constants of a simulation, in numbers for compiled code.

    ``chunk``: bytes that are dealt out in a cycle; ``words``: beats of a command; ``most``:
    EXECUTEs that may be under way; ``widest``: log2 of the most limbs.
    ``second_rank``: whether sums that stay leave through one.
    """

    lanes: int
    regions: int
    commands: int
    chunk: int
    words: int
    octets: int
    most: int
    widest: int
    second_rank: int
    stages: int


class Gta(NamedTuple):
    """Everything.

    ``m`` [0]; ``walks`` [LOADs, STOREs]; ``commands``; ``order`` [kind, n]: which command;
    ``regions``; ``folds`` [region, n] -> (cycle of its first step, steps, limbs, steps without
    results, whether sums are read, rows in use, its kind, when it has ended, planes of vectors, of
    others: every how many-th sum is read; the first result, 1 if those before it follow);
    ``dones`` [region, n]: when EXECUTEs end; ``planes``: of :class:`Job`; ``places`` [lane] ->
    (region, row, column); ``parts`` [n]: parts of rows on their way; ``under`` [n] -> (region, it
    has ended); ``delays`` [column]: cycles from a step of column 0; ``b``: the managers, the first
    one with both readers, the last one with the writer.
    """

    c: Shape
    m: Any
    walks: Any
    commands: Any
    order: Any
    regions: Any
    folds: Any
    dones: Any
    planes: Any
    places: Any
    parts: Any
    under: Any
    delays: Any
    b: Managers


def _delays(config: GtaConfig) -> npt.NDArray[np.int64]:
    """Returns by column the cycles from a step of column 0 to that of the group that ends there."""
    sizes = [limbs(name) for name in config.integers] or [1]
    found = []
    for column in range(COLS):
        fits = [size for size in sizes if (column + 1) % size == 0] or [1]
        found.append(column + max(fits).bit_length() - 1)
    return np.array(found, np.int64)


def _managers(config: GtaConfig, memory: MemoryModel, gigahertz: float) -> Managers:
    beat, burst = beat_bytes(config), burst_beats(config)
    of_list = min(LIST_BURST_BYTES // beat, burst)
    sizes = {"burst": burst, "buffer": 2 * burst, "outstanding": config.outstanding}
    listed = Reader(burst=of_list, buffer=LIST_BURSTS * of_list, outstanding=LIST_BURSTS)
    return managers(
        [listed, Reader(**sizes)],
        Writer(**sizes),
        config.managers,
        beat=beat,
        memory=memory,
        gigahertz=gigahertz,
    )


def set_up(config: GtaConfig, job: Job, memory: MemoryModel, gigahertz: float) -> Gta:
    """An accelerator at the beginning of a job."""
    beat = beat_bytes(config)
    c = Shape(
        lanes=config.lanes,
        regions=len(job.regions),
        commands=len(job.commands),
        chunk=min(16, beat),
        words=-(-COMMAND_BYTES // beat),
        octets=beat // 8,
        most=max(4, 2 * config.lanes),
        widest=int(_delays(config)[COLS - 1]) - (COLS - 1),
        second_rank=int(config.second_rank),
        stages=config.adder_stages,
    )
    m = np.zeros(1, MACHINE)
    m["left"] = m["asked_left"] = len(job.commands)
    b = _managers(config, memory, gigahertz)
    b.readers[LIST]["asks"] = 1
    b.readers[LIST]["ask_place"] = job.address // beat
    b.readers[LIST]["ask_beats"] = len(job.commands) * c.words
    regions = np.zeros(len(job.regions), REGION)
    places = np.zeros((config.lanes, 3), np.int64)
    for number, region in enumerate(job.regions):
        regions[number]["rows"], regions[number]["cols"] = region.array
        regions[number]["lanes"] = len(region.lanes)
        for index, lane in enumerate(region.lanes):
            places[lane] = number, index // region.cols, index % region.cols
    order = np.zeros((len(KINDS), max(1, len(job.commands))), np.int64)
    for kind in range(len(KINDS)):
        found = np.flatnonzero(job.commands["kind"] == kind)
        order[kind, : len(found)] = found

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    return Gta(
        c=c,
        m=m,
        walks=np.zeros(2, WALK),
        commands=job.commands,
        order=order,
        regions=regions,
        folds=zeros(len(regions), FOLDS, 11),
        dones=zeros(len(regions), RING),
        planes=job.planes,
        places=places,
        parts=zeros(PARTS),
        under=zeros(RING, 2),
        delays=_delays(config),
        b=b,
    )


assert BANKS == COLS
