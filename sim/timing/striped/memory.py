"""Cycle model of striped memory: what a channel's memory does with bursts.

A flat memory sends a burst's first beat ``latency`` cycles after its address was taken, a beat a
cycle, in order; and its response to a write so many cycles after the last beat. A DRAM's reads come
in the order in which its controller serves them; writes are answered as by the flat memory, when
they are in its queue.
"""

from __future__ import annotations

from ..compiled import inlined
from ..dram import push, serve
from .state import Bus

_SLOTS = 1 << 16
"""More than a reader has; a tag is a reader and a slot."""


@inlined
def _send(b: Bus, channel: int, reader: int, slot: int, soonest: int) -> None:
    """A block's beats at ``r``, one a cycle, the first not before ``soonest``."""
    record = b.channels[channel]
    end = max(soonest, record.free_at) + b.c.block_beats
    record.free_at = end
    b.whole[reader, channel, slot] = end


@inlined
def _page(b: Bus, block: int) -> int:
    """Returns the page in its channel of a block of flat memory."""
    return block // b.c.channels * b.c.interleave // b.c.page_bytes


@inlined
def _accesses(b: Bus, beats: int) -> int:
    """Returns the number of accesses that move so many beats from the start of a block."""
    return ((beats << b.c.beat_shift) - 1) // b.c.access_bytes + 1


@inlined
def free_for_read(b: Bus, channel: int) -> bool:
    """Returns whether the memory accepts an address."""
    return b.c.flat != 0 or b.dram.count[channel, 0] < b.c.read_queue


@inlined
def read(b: Bus, channel: int, reader: int, slot: int, block: int, now: int) -> None:
    """The memory takes the address of a block."""
    if b.c.flat:
        b.channels[channel].read += b.c.interleave
        _send(b, channel, reader, slot, now + b.c.latency)
    else:
        accesses = _accesses(b, b.c.block_beats)
        b.channels[channel].read += accesses * b.c.access_bytes
        push(b.dram, channel, 0, _page(b, block), accesses, reader * _SLOTS + slot)
    b.units[reader, channel].beats += b.c.block_beats
    b.readers[reader].beats += b.c.block_beats


@inlined
def free_for_data(b: Bus, channel: int) -> bool:
    """Returns whether the memory accepts the first beat of a burst."""
    return b.c.flat != 0 or b.dram.count[channel, 1] < b.c.write_queue


@inlined
def write(b: Bus, channel: int, block: int, beats: int) -> None:
    """The memory has all beats of a burst."""
    if b.c.flat:
        b.channels[channel].written += beats << b.c.beat_shift
    else:
        accesses = _accesses(b, beats)
        b.channels[channel].written += accesses * b.c.access_bytes
        push(b.dram, channel, 1, _page(b, block), accesses, 0)


@inlined
def serve_dram(b: Bus, channel: int, now: int) -> None:
    """The controller's next access, if it is time to decide on one."""
    if b.dram.count[channel, 0] + b.dram.count[channel, 1]:
        tag, wrote, ready = serve(b.times, b.dram, channel, float(now))
        if tag >= 0 and not wrote:
            soonest = int(ready + b.times.controller) + 1
            _send(b, channel, tag // _SLOTS, tag % _SLOTS, soonest)
