"""State of the cycle model, as arrays that compiled code works on.

Times are cycles after the one in which the parts are started. All that is known of the future is
there as a time: a part is looked at again only when one that was not known has become so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.engine import OPERANDS, EngineConfig
from ....hw.spec.matrix_unit import Operation
from ...timing.dram import MemoryModel
from ..job import Job

ADDRESS_BITS = 62
"""Bits of an address that are kept; the higher ones decide nothing."""

WALK = [
    (name, np.int64)
    for name in (
        # Bytes from a position to the next one, by level; the last position of each.
        *("base", "step_i", "step_j", "step_k", "step_row"),
        *("i_last", "j_last", "k_last"),
        # Rows of a block and beats of a row, and those of the last position of a level (0: i, 1: j,
        # 2: k).
        *("rows", "rows_end", "rows_by", "beats", "beats_end", "beats_by"),
    )
]
"""Fields of an operand's record."""

_I, _J, _K = range(3)


class Grid:
    """The division of a job into blocks and chunks.

    Members
    -------
    down, across, deep: of a block, in rows, columns and lanes
    m, n, k: of the job, ``k`` in lanes
    last: the last block row, block column, and chunk of k
    """

    def __init__(self, config: EngineConfig, operation: Operation, job: Job) -> None:
        sizes = zip(config.block, config.tile_shape, strict=True)
        self.down, self.across, self.deep = (tiles * length for tiles, length in sizes)
        self.m, self.n = job.m, job.n
        self.k = job.k * operation.operand_bits // config.unit.lane_bits
        lengths = ((self.m, self.down), (self.n, self.across), (self.k, self.deep))
        self.last = tuple((size - 1) // length for size, length in lengths)


def _cut(size: int, length: int) -> tuple[int, int]:
    """Returns the length of all blocks but the last one, and that of the last one."""
    return length, (size - 1) % length + 1


def walks(config: EngineConfig, operation: Operation, job: Job) -> Any:
    """Records of type ``WALK`` of A, B, C and D."""
    cut = Grid(config, operation, job)
    element, result = operation.operand_bits, operation.result_bits
    lanes = element // config.unit.lane_bits
    k_rows = (cut.k // lanes, cut.deep // lanes)
    down, across = (job.m, cut.down), (job.n, cut.across)
    if job.transposed_b:
        right = (across, _J, k_rows, _K, element)
    else:
        right = (k_rows, _K, across, _J, element)
    shapes = {
        "a": (down, _I, k_rows, _K, element),
        "b": right,
        "c": (down, _I, across, _J, result),
        "d": (down, _I, across, _J, result),
    }
    found = np.zeros(len(OPERANDS), WALK)
    for record, name in zip(found, OPERANDS, strict=True):
        rows, rows_by, columns, columns_by, bits = shapes[name]
        stride = job.stride[name]
        record["base"] = job.base[name] % (1 << ADDRESS_BITS)
        record["step_row"] = stride
        steps = [0, 0, 0]
        steps[rows_by] = rows[1] * stride
        steps[columns_by] = columns[1] * bits // 8
        record["step_i"], record["step_j"], record["step_k"] = steps
        record["i_last"], record["j_last"], record["k_last"] = cut.last
        if name in "cd":
            record["k_last"] = 0
        record["rows_by"], record["beats_by"] = rows_by, columns_by
        record["rows"], record["rows_end"] = _cut(*rows)
        ends = (-(-length * bits // config.data_bits) for length in _cut(*columns))
        record["beats"], record["beats_end"] = ends
    return found


NEVER = 1 << 62
"""A cycle that does not come, or is not known yet."""

RING = 512
"""Places of a ring: more than beats of a buffer and bursts under way."""

KNOWN = 4
"""Chunks, blocks and rows whose times are kept: two buffers of each, four rows to store."""

RESULTS = 64
"""More than results of a block that are waited for at a time."""

PENDING = 64
"""Bursts to write on their way to a DRAM: more than are under way."""

_DEEP = 16
"""Least depth of a writer's address queue that is a memory."""


def _fields(*names: str) -> list[tuple[str, Any]]:
    return [(name, np.int64) for name in names]


_READER = np.dtype(
    WALK
    + _fields(
        "manager",
        # The position of the walk; blocks that were begun; whether all rows have left.
        *("i", "j", "k", "row", "begun", "done"),
        # The current row: beats that are left, the address of the next one, whether the block ends
        # with it, and when it left.
        *("left", "address", "block_end", "row_at"),
        # The current burst: whether it is at the splitter's output, when it was put there, its
        # address and beats, whether the block ends with it, when it was issued and when it requests
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
        # The last operation: when it moved into the feeder's register, was accepted, and begun;
        # when the first one was offered to the unit.
        *("moved_at", "accepted_at", "begun_at", "first_at"),
        *("busy", "operations"),
        # Operations of the current block.
        "in_block",
    )
)
_STORE = np.dtype(
    WALK
    + _fields(
        # The walk of rows, as a reader's; when the last one left.
        *("i", "j", "row", "begun", "done", "row_at", "rows_in"),
        # Rows that were read, and the beat of the one that is; the last beat's times: read, moved
        # into the scratchpad's register, put into the writer's buffer.
        *("rows_out", "beat", "read_at", "moved_at", "put_at", "puts"),
        # The row that is cut into bursts, and what is left of it; the burst at hand.
        *("rows_cut", "left", "address", "split", "split_at", "beats_now", "issued_at"),
        # Bursts that were issued; beats that left the buffer; times of the last ones.
        *("bursts", "sends", "taken_at", "answers", "answered_at"),
        # Blocks: computed, stored.
        *("computed", "stored"),
    )
)
_ROW = np.dtype(_fields("at", "beats", "address", "block_end", "ended_at"))


SHAPE = np.dtype(
    _fields(
        # Operands that are read; managers; whether C is one of the former.
        *("readers", "managers", "use_c"),
        # The unit; whether its operations wait in a register before they are begun.
        *("interval", "latency", "staged"),
        # A reader, and the writer; its address queue, and whether that is a memory.
        *("outstanding", "burst_beats", "buffer_beats", "addresses", "deep"),
        *("beat_shift", "mask"),
        # The memory; the last four apply to a DRAM.
        *("flat", "answer", "access_bytes", "page_bytes", "read_queue", "write_queue"),
    )
)
"""The constants of a job, in numbers for compiled code."""

STATE = np.dtype(
    [
        # Readers of A, B and C; managers.
        ("readers", _READER, 3),
        ("managers", _MANAGER, 3),
        ("unit", _UNIT),
        ("store", _STORE),
        # Rings by reader and burst: when its first beat is at `r`, its beats, whether it ends its
        # block, its requests that a DRAM has not served.
        *((name, np.int64, (3, RING)) for name in ("start", "beats", "block", "parts")),
        # Arrival of each block, by reader, and release of its buffer.
        *((name, np.int64, (3, KNOWN)) for name in ("loaded", "freed")),
        # Arrival of each operation's result.
        ("results", np.int64, RESULTS),
        # Completion of each block of D, and release of its buffer.
        *((name, np.int64, KNOWN) for name in ("computed", "stored")),
        ("rows", _ROW, 2 * KNOWN),
        # Times of each beat of D: into the writer's buffer, and from its output. Times of each
        # burst: into the address queue, and of its response.
        *((name, np.int64, RING) for name in ("puts", "leaves", "queued", "answers")),
        # DRAMs, by manager. Requests at `ar`: reader, burst, address, beats, time of arrival;
        # writes: address, beats, time.
        ("asks", np.int64, (3, 2, 5)),
        ("arriving", np.int64, (3, PENDING, 3)),
    ]
)
"""The variable state; most fields are times."""

# A record of either type, in compiled code.
Shape = Any
State = Any


def shape(
    config: EngineConfig, operation: Operation, job: Job, memory: MemoryModel, interval: int | None
) -> Any:
    """A record of type ``SHAPE``, in an array; ``interval``: cycles of an operation, if not the
    unit's own."""
    burst, own = config.burst_beats, config.unit.initiation_interval[operation.name]
    taken = own if interval is None else interval
    outstanding = config.outstanding
    deep = outstanding >= _DEEP
    values = {
        "readers": 2 + job.use_c,
        "managers": config.managers,
        "use_c": job.use_c,
        "interval": taken,
        "latency": config.unit.latency[operation.name] - own + taken,
        "staged": getattr(config.unit, "data_assignment", "") == "pipelined",
        "outstanding": outstanding,
        "burst_beats": burst,
        "buffer_beats": max(2 * burst, min(128, outstanding * burst)),
        "addresses": outstanding - deep,
        "deep": deep,
        "beat_shift": config.beat_bytes.bit_length() - 1,
        "mask": (1 << min(config.addr_bits, ADDRESS_BITS)) - 1,
        "flat": memory.flat,
        "answer": memory.latency,
        "access_bytes": memory.access_bytes,
        "page_bytes": memory.page_bytes,
        "read_queue": memory.read_queue,
        "write_queue": memory.write_queue,
    }
    assert values["latency"] // taken + 3 < RESULTS
    found = np.zeros(1, SHAPE)
    for name, value in values.items():
        found[name] = value
    return found


def set_up(config: EngineConfig, operation: Operation, job: Job, c: Any, turn: int) -> Any:
    """A record of type ``STATE``, in an array: an engine at the beginning of a job. ``c``: its
    shape; ``turn``: see :func:`run_job`."""
    found = np.zeros(1, STATE)
    readers, store, unit = found["readers"][0], found["store"], found["unit"]
    walked = walks(config, operation, job)
    for name, _ in WALK:
        readers[name], store[name] = walked[name][:3], walked[name][3]
    readers["manager"], readers["asks_at"] = config.channels, NEVER
    readers["done"][c["readers"][0] :] = 1
    for times in ("granted_at", "split_at", "issued_at"):
        readers[times] = -1
    cut = Grid(config, operation, job)
    lengths = zip((cut.m, cut.n, cut.k), (cut.down, cut.across, cut.deep), config.tile_shape,
                  strict=True)  # fmt: skip
    for level, (size, length, tile) in zip(("down", "across", "deep"), lengths, strict=True):
        unit[level], unit[f"{level}_end"] = length // tile, ((size - 1) % length) // tile + 1
    unit["i_last"], unit["j_last"], unit["k_last"] = cut.last
    for times in ("moved_at", "accepted_at", "begun_at"):
        unit[times] = -c["interval"][0] - 1
    unit["first_at"] = NEVER
    found["start"] = found["answers"] = NEVER
    found["managers"][0]["turn"] = [[turn, 0, 0], [turn, 2, 0], [0, 1, 2]][config.managers - 1]
    return found
