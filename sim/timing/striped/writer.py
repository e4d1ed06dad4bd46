"""Cycle model of ``StripedWriter``: extents and lines in, blocks to the channels, cycle for cycle.

What is asked here is known from registers, as they are at the beginning of a cycle, but for
`takes_extent`, which sees whether a line is put in the same one.
"""

from __future__ import annotations

from ..compiled import inlined
from .state import DIVISION, Bus
from .store import put_block, store_free, store_step

__all__ = [
    "put_extent",
    "put_line",
    "takes_extent",
    "takes_line",
    "writer_idle",
    "writer_step",
    "writer_works",
]


@inlined
def takes_line(b: Bus) -> bool:
    """Whether a line is taken in this cycle."""
    return b.writer[0].accepts != 0


@inlined
def put_line(b: Bus) -> None:
    """Hand in the next line; it is taken."""
    b.writer[0].puts = 1


@inlined
def _ends(b: Bus) -> bool:
    """Whether the next line is the extent's last."""
    return b.writer[0].left < b.c.line_blocks * b.c.interleave


@inlined
def takes_extent(b: Bus) -> bool:
    """Whether an extent is taken in this cycle; to be asked when it is known whether a line is."""
    record = b.writer[0]
    takes: bool = record.active == 0 or (record.puts != 0 and _ends(b))
    if b.c.stages == 1 or takes:
        return takes and record.inside != b.c.requests
    full = 0
    for stage in range(DIVISION):
        full += b.divided[stage, 0]
    return full != DIVISION and record.inside != b.c.requests


@inlined
def put_extent(b: Bus, address: int, count: int) -> None:
    """Hand in where the lines to come go, ``count`` bytes from ``address`` on; it is taken."""
    record = b.writer[0]
    record.asked = 1
    record.ask_block = address >> b.c.block_shift
    record.ask_left = count - 1


@inlined
def writer_idle(b: Bus) -> bool:
    """Whether nothing is inside, or owed by the bus."""
    record = b.writer[0]
    return record.active == 0 and record.inside == 0 and record.busy == 0


@inlined
def _begin(b: Bus, block: int, left: int) -> None:
    """The next extent."""
    record = b.writer[0]
    record.active = 1
    record.channel = block % b.c.channels
    record.block = block
    record.left = left


@inlined
def _extents(b: Bus, free: bool) -> None:
    """Extents on their way; ``free``: the one at hand ends, or there is none."""
    record = b.writer[0]
    if b.c.stages == 1:
        if record.asked:
            _begin(b, record.ask_block, record.ask_left)
    elif record.asked or record.inside:
        last = DIVISION - 1
        if free and b.divided[last, 0]:
            _begin(b, b.divided[last, 1], b.divided[last, 2])
            b.divided[last, 0] = 0
            record.inside -= 1
        for stage in range(last, 0, -1):
            if b.divided[stage - 1, 0] and not b.divided[stage, 0]:
                for field in range(3):
                    b.divided[stage, field] = b.divided[stage - 1, field]
                b.divided[stage - 1, 0] = 0
        if record.asked:
            b.divided[0, 0] = 1
            b.divided[0, 1] = record.ask_block
            b.divided[0, 2] = record.ask_left
            record.inside += 1
    record.asked = 0


@inlined
def _put(b: Bus) -> None:
    """A line's blocks to the registers of their channels, which are free."""
    record = b.writer[0]
    channel, left = record.channel, record.left
    record.bytes += min(left + 1, b.c.line_blocks * b.c.interleave)
    for index in range(b.c.line_blocks):
        if left >= 0:
            beats = (min(left, b.c.interleave - 1) >> b.c.beat_shift) + 1
            put_block(b, channel, record.block + index, beats)
            record.busy |= 1 << channel
        left -= b.c.interleave
        channel = channel + 1 if channel + 1 < b.c.channels else 0
    record.channel = channel
    record.block += b.c.line_blocks
    record.left = left


@inlined
def _accepts(b: Bus) -> bool:
    """Whether all channels of the next line have room."""
    record = b.writer[0]
    if not record.active:
        return False
    channel = record.channel
    for index in range(b.c.line_blocks):
        if record.left >= index * b.c.interleave and not store_free(b, channel):
            return False
        channel = channel + 1 if channel + 1 < b.c.channels else 0
    return True


@inlined
def writer_works(b: Bus) -> bool:
    """Whether a cycle changes anything."""
    return b.writer[0].asked != 0 or not writer_idle(b)


@inlined
def writer_step(b: Bus, now: int) -> None:
    """A cycle of the writer and of its way to the memory."""
    record = b.writer[0]
    busy = 0
    for channel in range(b.c.channels):
        if record.busy >> channel & 1:
            busy |= store_step(b, channel, now) << channel
    record.busy = busy
    free = not record.active
    if record.puts:
        record.puts = 0
        free = _ends(b)
        _put(b)
        if free:
            record.active = 0
    _extents(b, free)
    record.accepts = _accepts(b)
