"""State of the cycle model, as arrays that compiled code works on.

Times are cycles after the one in which the parts are started. All that is known of the future is
there as a time: a part is looked at again only when one that was not known has become so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.engine import EngineConfig
from ....hw.spec.matrix_unit import Operation
from ...timing.dram import Channels, MemoryModel, Timing, channels, timing
from ..job import Job
from .walks import ADDRESS_BITS, WALK, Grid, walks

__all__ = ["KNOWN", "NEVER", "PENDING", "RING", "Shape", "State", "set_up", "shape"]

NEVER = 1 << 62
"""A cycle that does not come, or is not known yet."""

RING = 512
"""Places of a ring: more than beats of a buffer and bursts under way."""

KNOWN = 4
"""Chunks, blocks and rows whose times are kept: two buffers of each, four rows to store."""

PENDING = 64
"""Bursts to write on their way to a DRAM: more than are under way."""

_DEEP = 16
"""So many addresses of a writer are a memory."""


class Shape(NamedTuple):
    """What does not change in a job, in numbers for compiled code.

    ``readers``: operands that are read; ``interval``, ``latency``: of the unit; ``staged``: its
    operations wait in a register before they are begun. ``addresses``, ``deep``: of the writer's
    queue of addresses, and whether that is a memory. The rest of the memory is that of a DRAM.
    """

    readers: int
    managers: int
    use_c: int
    interval: int
    latency: int
    staged: int
    outstanding: int
    burst_beats: int
    buffer_beats: int
    addresses: int
    deep: int
    beat_shift: int
    mask: int
    flat: int
    answer: int
    access_bytes: int
    page_bytes: int
    read_queue: int
    write_queue: int


def _fields(*names: str) -> list[tuple[str, Any]]:
    return [(name, np.int64) for name in names]


_READER = np.dtype(
    WALK
    + _fields(
        "manager",
        # Where the walk is; blocks that were begun; whether all rows have left.
        *("i", "j", "k", "row", "begun", "done"),
        # Of the row at hand: beats that are left, the address of the next one, whether the block
        # ends with it, and when it left.
        *("left", "address", "block_end", "row_at"),
        # Of the burst at hand: whether it is at the splitter's output, when it was put there, its
        # address and beats, whether the block ends with it, when it was issued and when it asks for
        # the bus.
        *("split", "split_at", "burst_address", "beats_now", "ends", "issued_at", "asks_at"),
        # When the last one was granted, bursts that were, and all their beats.
        *("granted_at", "bursts", "issued"),
        # The burst that holds the beat that is looked for in the buffer; the beats before it.
        *("room_burst", "room_beats"),
        # Bursts that are on their way (of a DRAM), blocks that have come, and that are free again.
        *("sent", "loaded", "freed"),
    )
)
_MANAGER = np.dtype(
    _fields(
        # The next cycle of the arbiter, the reader served last; when `r` is free.
        *("grants_at", "turn", "free_at"),
        # Granted bursts at `ar` (at most two) and when the last two were taken.
        *("waiting", "taken_at", "before_at"),
        # When the controller may decide next, and has decided last; bursts to write that have come,
        # and that it has taken.
        *("serves_at", "served_at", "arrived", "taken_writes"),
        *("read", "written"),
    )
)
_UNIT = np.dtype(
    _fields(
        # Rows and columns of tiles, k tiles: of a whole block, and of the last one.
        *("down", "down_end", "across", "across_end", "deep", "deep_end"),
        *("i_last", "j_last", "k_last", "i", "j", "k", "chunk", "block", "done"),
        # Of the last operation: accepted, begun; of the first: when it left the sequencer.
        *("accepted_at", "begun_at", "first_at"),
        *("busy", "operations"),
        # Of the block at hand: operations.
        "in_block",
    )
)
_STORE = np.dtype(
    WALK
    + _fields(
        # The walk of rows, as a reader's; when the last one left.
        *("i", "j", "row", "begun", "done", "row_at", "rows_in"),
        # Rows that were read, and the beat of the one that is; the last beat's times.
        *("rows_out", "beat", "read_at", "put_at", "puts"),
        # The row that is cut into bursts, and what is left of it; the burst at hand.
        *("rows_cut", "left", "address", "split", "split_at", "beats_now", "issued_at"),
        # Bursts that were issued; beats that left the buffer; times of the last ones.
        *("bursts", "sends", "taken_at", "queued_at", "answers", "answered_at"),
        # Blocks: computed, stored.
        *("computed", "stored", "bytes"),
    )
)
_ROW = np.dtype(_fields("at", "beats", "address", "block_end", "ended_at"))


class State(NamedTuple):
    """What changes.

    ``readers`` (of A, B, C), ``managers``, ``unit``, ``store``: records. The rest are rings, most
    of them of times. ``start``, ``beats`` [reader, burst]: when a burst's first beat is at ``r``;
    ``block`` [reader, burst]: whether it ends its block; ``parts`` [reader, burst]: requests of its
    that a DRAM has not served. ``loaded``, ``freed`` [reader, block]: when a block came, and when
    its buffer was freed. ``results``: of the unit, by operation. ``computed``, ``stored`` [block].
    ``rows``: of D; ``puts``, ``leaves`` [beat]: into the writer's buffer, from its output;
    ``queued``, ``answers`` [burst]: addresses, responses. Of DRAMs ``asks``: at ``ar`` [manager, 2,
    (reader, burst, address, beats, cycle)]; ``arriving``: to be written [manager, burst, (address,
    beats, cycle)].
    """

    readers: Any
    managers: Any
    unit: Any
    store: Any
    start: Any
    beats: Any
    block: Any
    parts: Any
    loaded: Any
    freed: Any
    results: Any
    computed: Any
    stored: Any
    rows: Any
    puts: Any
    leaves: Any
    queued: Any
    answers: Any
    asks: Any
    arriving: Any
    dram: Channels
    times: Timing


def shape(
    config: EngineConfig, operation: Operation, job: Job, memory: MemoryModel, interval: int | None
) -> Shape:
    """Of a job on an engine; ``interval``: cycles of an operation, if not the unit's own."""
    burst, own = config.burst_beats, config.unit.initiation_interval[operation.name]
    taken = own if interval is None else interval
    outstanding = config.outstanding
    deep = outstanding >= _DEEP
    return Shape(
        readers=2 + job.use_c,
        managers=config.managers,
        use_c=int(job.use_c),
        interval=taken,
        latency=config.unit.latency[operation.name] - own + taken,
        staged=int(getattr(config.unit, "data_assignment", "") == "pipelined"),
        outstanding=outstanding,
        burst_beats=burst,
        buffer_beats=max(2 * burst, min(128, outstanding * burst)),
        addresses=outstanding - deep,
        deep=int(deep),
        beat_shift=config.beat_bytes.bit_length() - 1,
        mask=(1 << min(config.addr_bits, ADDRESS_BITS)) - 1,
        flat=int(memory.flat),
        answer=memory.latency,
        access_bytes=memory.access_bytes,
        page_bytes=memory.page_bytes,
        read_queue=memory.read_queue,
        write_queue=memory.write_queue,
    )


def set_up(
    config: EngineConfig,
    operation: Operation,
    job: Job,
    c: Shape,
    memory: MemoryModel,
    gigahertz: float,
    turn: int,
) -> State:
    """Of an engine at the beginning of a job; ``turn``: see :func:`run_job`."""
    found = walks(config, operation, job)
    readers, store, unit = (
        np.zeros(n, kind) for n, kind in ((3, _READER), (1, _STORE), (1, _UNIT))
    )
    for name, _ in WALK:
        readers[name], store[name] = found[name][:3], found[name][3]
    readers["manager"], readers["asks_at"] = config.channels, NEVER
    readers["done"][c.readers :] = 1
    for times in ("granted_at", "split_at", "issued_at"):
        readers[times] = -1
    cut = Grid(config, operation, job)
    lengths = zip((cut.m, cut.n, cut.k), (cut.down, cut.across, cut.deep), config.tile_shape,
                  strict=True)  # fmt: skip
    for level, (size, length, tile) in zip(("down", "across", "deep"), lengths, strict=True):
        unit[level], unit[f"{level}_end"] = length // tile, ((size - 1) % length) // tile + 1
    unit["i_last"], unit["j_last"], unit["k_last"] = cut.last
    for times in ("accepted_at", "begun_at"):
        unit[times] = -c.interval - 1
    unit["first_at"] = NEVER

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    slots = 1
    while slots <= c.latency + 4:
        slots *= 2
    managers = np.zeros(3, _MANAGER)
    managers["turn"] = [[turn, 0, 0], [turn, 2, 0], [0, 1, 2]][config.managers - 1]
    return State(
        readers=readers,
        managers=managers,
        unit=unit,
        store=store,
        start=np.full((3, RING), NEVER),
        beats=zeros(3, RING),
        block=zeros(3, RING),
        parts=zeros(3, RING),
        loaded=zeros(3, KNOWN),
        freed=zeros(3, KNOWN),
        results=zeros(slots),
        computed=zeros(KNOWN),
        stored=zeros(KNOWN),
        rows=np.zeros(2 * KNOWN, _ROW),
        puts=zeros(RING),
        leaves=zeros(RING),
        queued=zeros(RING),
        answers=np.full(RING, NEVER),
        asks=zeros(3, 2, 5),
        arriving=zeros(3, PENDING, 3),
        dram=channels(memory, config.managers),
        times=timing(memory, gigahertz),
    )
