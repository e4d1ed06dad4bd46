"""State of the cycle model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import BANKS, COLS, GtaConfig, limbs
from ....hw.spec.jobs.gta import LIST_BURST_BYTES, LIST_BURSTS, beat_bytes, burst_beats
from ....hw.spec.jobs.gta_commands import COMMAND_BYTES, KINDS
from ...timing.dram import Channels, MemoryModel, Timing, channels, timing
from .commands import Job
from .records import MACHINE, READER, REGION, WALK

__all__ = [
    "FLOATS",
    "FOLDS",
    "INTEGERS",
    "LIST",
    "OPERANDS",
    "RING",
    "VECTORS",
    "Gta",
    "Shape",
    "set_up",
]

LIST, OPERANDS = range(2)
"""The readers."""

RING = 256
"""Places of a ring: more than bursts, or EXECUTEs, that are under way."""

FOLDS = 512
"""Folds of a region whose results are kept in mind: more than have not left the array."""

INTEGERS, FLOATS, VECTORS = range(3)
"""Kinds of folds."""

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


class Gta(NamedTuple):
    """Everything.

    ``m`` [0]; ``readers``; ``walks`` [LOADs, STOREs]; ``commands``; ``order`` [kind, n]: which
    command; ``regions``; ``folds`` [region, n] -> (cycle of its first step, steps, limbs, steps
    without results, whether sums are read, rows in use, its kind, when it has ended, planes of
    vectors, of others: every how many-th sum is read; the first result, 1 if those before it
    follow);
    ``dones`` [region, n]: when EXECUTEs end; ``planes``: of :class:`Job`; ``places`` [lane] ->
    (region, row, column); ``parts`` [n]: parts of rows on their way; ``under`` [n] -> (region, it
    has ended); ``held`` [n] -> (place, beats): in the arbiter; ``sends`` [n] -> (reader, beats,
    cycle); ``asked`` [reader, n] -> (beats, parts that the memory has not served); ``lengths`` [n]
    -> (place, beats); ``answers`` [n]: cycle; ``delays`` [column]: cycles from a step of column 0.
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
    planes: Any
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
    readers = np.zeros(2, READER)
    of_list = min(LIST_BURST_BYTES // beat, burst)
    readers[LIST]["outstanding"], readers[OPERANDS]["outstanding"] = LIST_BURSTS, config.outstanding
    readers["burst"] = of_list, burst
    readers["buffer"] = LIST_BURSTS * of_list, 2 * burst
    m = np.zeros(1, MACHINE)
    m["left"] = m["asked_left"] = len(job.commands)
    readers[LIST]["asks"] = 1
    readers[LIST]["ask_place"] = job.address // beat
    readers[LIST]["ask_beats"] = len(job.commands) * c.words
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
        readers=readers,
        walks=np.zeros(2, WALK),
        commands=job.commands,
        order=order,
        regions=regions,
        folds=zeros(len(regions), FOLDS, 11),
        dones=zeros(len(regions), RING),
        planes=job.planes,
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
