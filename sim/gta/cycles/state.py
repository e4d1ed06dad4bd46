"""State of the cycle model, as arrays that compiled code works on.

Names are those of the registers of the hardware, where there is one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import BANKS, COLS, GtaConfig, limbs
from ....hw.spec.jobs.gta import COUNTERS, LIST_BURSTS, beat_bytes, burst_beats
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, KINDS
from ...timing.dram import Channels, MemoryModel, Timing, channels, timing
from .commands import Job

__all__ = ["FOLDS", "LIST", "OPERANDS", "RING", "Gta", "Shape", "set_up"]

LIST, OPERANDS = range(2)
"""The readers."""

RING = 256
"""Places of a ring: more than bursts, or EXECUTEs, that are under way."""

FOLDS = 512
"""Folds of a region whose results are kept in mind: more than have not left the array."""

_LIST_BYTES = 256
"""Of a burst of the list."""

_DEEP = 16
"""So many addresses of a writer are a memory."""


class Shape(NamedTuple):
    """What does not change, in numbers for compiled code.

    ``chunk``: bytes that are dealt out in a cycle; ``words``: beats of a command; ``burst``,
    ``buffer``, ``addresses``, ``deep``: of the writer; ``most``: EXECUTEs that may be under way;
    ``widest``: log2 of the most limbs; ``channels``: that the memory has, the last one of results.
    """

    lanes: int
    regions: int
    commands: int
    beat: int
    chunk: int
    words: int
    octets: int
    burst: int
    buffer: int
    addresses: int
    deep: int
    most: int
    widest: int
    stages: int
    channels: int
    flat: int
    latency: int
    access_bytes: int
    page_bytes: int
    read_queue: int
    write_queue: int


def _fields(*names: str) -> Any:
    return np.dtype([(name, np.int64) for name in names])


_READER = _fields(
    *("outstanding", "burst", "buffer"),
    # The splitter's request and its burst, the burst on its way to the arbiter; in beats.
    *("active", "place", "left", "split", "split_place", "split_beats"),
    *("issued", "issued_place", "issued_beats"),
    # Bursts under way, beats of the buffer that are promised, in it, and at its output.
    *("under", "reserved", "level", "valid"),
    # In this cycle: what is asked for and taken at either end; the arbiter's answer.
    *("asks", "ask_place", "ask_beats", "accepts", "takes", "granted"),
    # Bursts that the memory has taken, and that it has sent.
    *("bursts", "whole"),
)
_WALK = _fields(
    # Requests for rows: those left, the next one; the command at hand and the one behind it.
    *("left", "place", "beats", "stride", "asked", "kept"),
    *("held", "held_command", "spare", "spare_command"),
    # The command that is walked: rows and bytes of the row that are left, and where it is.
    *("active", "rows_left", "bytes_left", "at", "lane", "entry", "bank"),
)
_MACHINE = np.dtype(
    [
        # The list: what of a command is there, commands that are left, whether one waits.
        *_fields("words", "left", "cut", "asked_left", "waits").descr,
        # Its check: state, cycles to go, the command that is looked at.
        *_fields("state", "wait", "number").descr,
        # The three queues: commands put in, taken out, in the memory, at the output.
        *[(name, np.int64, len(KINDS)) for name in ("put", "got", "level", "valid", "wants")],
        *[(name, np.int64, len(KINDS)) for name in ("puts", "pops", "passed", "complete")],
        # The arbiter.
        *_fields("served", "held", "held_reader", "spare", "spare_reader").descr,
        # Bursts that the memory sends, by count; beats of the first one that are left.
        *_fields("sends_in", "sends_out", "sending", "comes", "comes_last").descr,
        # LOADs: the chunk on its way.
        *_fields("chunk", "chunk_result", "chunk_lane", "chunk_ends", "loaded").descr,
        # STOREs: parts that are read and not taken on, the last two cycles' reads, parts in the
        # queue and at its output.
        *_fields("owed", "read_1", "read_2", "waiting_in", "waiting_out", "waiting").descr,
        *_fields("waiting_valid", "narrow", "narrow_part", "upper", "at").descr,
        # The beat at the end of them; STOREs that were sent.
        *_fields("beat", "beat_ends", "sent").descr,
        # The writer: splitter, burst at `aw`, beats in its buffer and without a burst.
        *_fields("w_active", "w_place", "w_left", "w_split", "w_split_place").descr,
        *_fields("w_split_beats", "aw", "aw_place", "aw_beats", "stored", "w_level").descr,
        *_fields("w_valid", "addresses", "address", "w_accepts", "w_takes").descr,
        # Bursts at `aw` taken, whose data are sent, whose data the memory has, answered.
        *_fields("lengths_in", "lengths_out", "w_sent", "w", "w_last").descr,
        *_fields("arrived", "written", "answers_in", "answers_out").descr,
        # EXECUTEs under way: begun, complete.
        *_fields("begun", "ended", "first_at", "gap").descr,
        ("counts", np.dtype([(name, np.int64) for name in COUNTERS])),
    ]
)
_REGION = _fields(
    *("rows", "cols", "lanes"),
    # The command taken last, and where its folds are; see `FoldSequencer`.
    *("command", "fresh", "active", "stay", "wait", "last", "tail", "steady", "row", "col"),
    # The fold whose sums stay; folds; commands whose end is known, and that have ended.
    *("fold_rows", "fold_last", "fold_reads", "folds_in", "folds_out", "dones_in", "dones_out"),
    *("quiet_at", "running"),
)


class Gta(NamedTuple):
    """Everything.

    ``m`` [0]; ``readers``; ``walks`` [LOADs, STOREs]; ``commands``; ``order`` [kind, n]: which
    command; ``regions``; ``folds`` [region, n] -> (first step of column 0, steps, limbs, steps
    without results, reads, last row's ..); ``dones`` [region, n]; ``places`` [lane] -> (region,
    row, column); ``parts`` [n]: parts of rows on their way; ``under`` [n] -> (region, it has
    ended); ``held`` [n] -> (place, beats): in the arbiter; ``sends`` [n] -> (reader, beats, cycle); ``asked`` [reader, n] -> (beats, parts that the
    memory has not served); ``lengths`` [n] -> (place, beats); ``answers`` [n]: cycle.
    """

    c: Shape
    m: Any
    readers: Any
    walks: Any
    commands: Any
    order: Any
    regions: Any
    folds: Any
    dones: Any
    places: Any
    parts: Any
    under: Any
    held: Any
    sends: Any
    asked: Any
    lengths: Any
    answers: Any
    delays: Any
    dram: Channels
    times: Timing


def _delays(config: GtaConfig) -> npt.NDArray[np.int64]:
    """By column, cycles from a step of column 0 to that of the group that ends in it."""
    sizes = [limbs(name) for name in config.integers] or [1]
    found = []
    for column in range(COLS):
        fits = [size for size in sizes if (column + 1) % size == 0] or [1]
        found.append(column + max(fits).bit_length() - 1)
    return np.array(found, np.int64)


def set_up(config: GtaConfig, job: Job, memory: MemoryModel, gigahertz: float) -> Gta:
    """An accelerator at the beginning of a job."""
    beat, burst = beat_bytes(config), burst_beats(config)
    deep = config.outstanding >= _DEEP
    c = Shape(
        lanes=config.lanes,
        regions=len(job.regions),
        commands=len(job.commands),
        beat=beat,
        chunk=min(16, beat),
        words=-(-COMMAND_BYTES // beat),
        octets=beat // 8,
        burst=burst,
        buffer=2 * burst,
        addresses=config.outstanding - deep,
        deep=int(deep),
        most=max(4, 2 * config.lanes),
        widest=int(_delays(config)[COLS - 1]) - (COLS - 1),
        stages=config.adder_stages,
        channels=config.managers,
        flat=int(memory.flat),
        latency=memory.latency,
        access_bytes=memory.access_bytes,
        page_bytes=memory.page_bytes,
        read_queue=memory.read_queue,
        write_queue=memory.write_queue,
    )
    readers = np.zeros(2, _READER)
    of_list = min(_LIST_BYTES // beat, burst)
    readers[LIST]["outstanding"], readers[OPERANDS]["outstanding"] = LIST_BURSTS, config.outstanding
    readers["burst"] = of_list, burst
    readers["buffer"] = LIST_BURSTS * of_list, 2 * burst
    m = np.zeros(1, _MACHINE)
    m["left"] = m["asked_left"] = len(job.commands)
    readers[LIST]["asks"] = 1
    readers[LIST]["ask_place"] = job.address // beat
    readers[LIST]["ask_beats"] = len(job.commands) * c.words
    regions = np.zeros(len(job.regions), _REGION)
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
        readers=readers,
        walks=np.zeros(2, _WALK),
        commands=job.commands,
        order=order,
        regions=regions,
        folds=zeros(len(regions), FOLDS, 8),
        dones=zeros(len(regions), RING),
        places=places,
        parts=zeros(16),
        under=zeros(RING, 2),
        held=zeros(2, 2),
        sends=zeros(RING, 3),
        asked=zeros(2, RING, 2),
        lengths=zeros(RING, 2),
        answers=zeros(RING),
        delays=_delays(config),
        dram=channels(memory, config.managers),
        times=timing(memory, gigahertz),
    )


assert BANKS == COLS
