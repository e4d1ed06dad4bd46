"""Cycle model of ``StripedReader``: requests in, lines out, cycle for cycle.

All that is asked here is known from registers, as they are at the beginning of a cycle; what is
handed in, or taken, becomes visible with the next one.
"""

from __future__ import annotations

from ..compiled import inlined
from .memory import BEHIND, NEVER, Bus


@inlined
def accepts(b: Bus, reader: int) -> bool:
    """Returns whether a request is accepted in this cycle."""
    return b.readers[reader].accepts != 0


@inlined
def ask(b: Bus, reader: int, address: int, count: int) -> None:
    """Hand in a request of ``count`` bytes from ``address`` on; it is taken."""
    record = b.readers[reader]
    record.asked = 1
    record.block = address >> b.c.block_shift
    record.blocks = (count + b.c.interleave - 1) >> b.c.block_shift
    record.channel = record.block % b.c.channels


@inlined
def has_line(b: Bus, reader: int) -> bool:
    """Returns whether a line is at the output."""
    return b.readers[reader].line != 0


@inlined
def is_last(b: Bus, reader: int) -> bool:
    """Returns whether the line at the output is the last one of its request."""
    return b.readers[reader].last != 0


@inlined
def take_line(b: Bus, reader: int) -> None:
    """Take it in this cycle."""
    b.readers[reader].takes = 1


@inlined
def reader_idle(b: Bus, reader: int) -> bool:
    """Returns whether no request is pending; all blocks that the bus owes belong to one."""
    return b.readers[reader].pending == 0


@inlined
def _assemble(b: Bus, reader: int) -> None:
    """A line to the output, of the blocks at the channels' heads."""
    record = b.readers[reader]
    if record.line and not record.takes:
        return
    if record.takes:
        record.pending -= record.last
        record.takes = 0
    record.line = 0
    if not record.waits:
        return
    place = record.waiting_out
    left = record.next_left if record.within else b.lines[reader, place, 0]
    first = record.next_channel if record.within else b.lines[reader, place, 1]
    channel = first
    for _ in range(min(left, record.line_blocks)):
        if not b.units[reader, channel].valid:
            return
        channel = channel + 1 if channel + 1 < b.c.channels else 0
    channel = first
    for _ in range(min(left, record.line_blocks)):
        b.units[reader, channel].valid = 0
        channel = channel + 1 if channel + 1 < b.c.channels else 0
    ends = left <= record.line_blocks
    record.line = 1
    record.last = ends
    record.within = not ends
    record.next_left = left - record.line_blocks
    record.next_channel = channel
    if ends:
        record.waits = 0
        record.waiting_out = place + 1 if place < record.requests else 0


@inlined
def _channel(b: Bus, reader: int, channel: int, now: int) -> None:
    """The reader of a channel: a block to its output, a request to ``ar``."""
    unit = b.units[reader, channel]
    may_ask = unit.waits and not unit.asks and unit.used != b.readers[reader].outstanding
    if not unit.valid and b.whole[reader, channel, unit.read_slot] <= now:
        b.whole[reader, channel, unit.read_slot] = NEVER
        unit.valid = 1
        unit.used -= 1
        following = unit.read_slot + 1
        unit.read_slot = following if following < b.readers[reader].outstanding else 0
    if may_ask:
        place = unit.waiting_out
        block = unit.next_block if unit.within else b.shares[reader, channel, place, 0]
        blocks = unit.next_blocks if unit.within else b.shares[reader, channel, place, 1]
        unit.asks = 1
        unit.ask_block = block
        unit.ask_slot = unit.slot
        b.channels[channel].asking += 1
        unit.used += 1
        unit.slot = unit.slot + 1 if unit.slot + 1 < b.readers[reader].outstanding else 0
        ends = blocks <= b.c.channels
        unit.within = not ends
        unit.next_block = block + b.c.channels
        unit.next_blocks = blocks - b.c.channels
        if ends:
            unit.waits = 0
            unit.waiting_out = place + 1 if place < BEHIND else 0
    if unit.waiting and not unit.waits:
        unit.waiting -= 1
        unit.waits = 1


@inlined
def _share(b: Bus, reader: int, channel: int, block: int, blocks: int) -> int:
    """Queues a channel's share of a run after the shares that wait; returns the channel's bit if
    its queue is full then."""
    unit = b.units[reader, channel]
    place = unit.waiting_out + unit.waits + unit.waiting
    place = place if place <= BEHIND else place - (BEHIND + 1)
    b.shares[reader, channel, place, 0] = block
    b.shares[reader, channel, place, 1] = blocks
    unit.waiting += 1
    return (unit.waiting == BEHIND) << channel


@inlined
def _fork(b: Bus, reader: int, full: int) -> int:
    """The run at the fork to all that have room for it; the queues that are full now.

    ``full``: those that are without it. Whether there was room is known from ``record.full``.
    """
    record = b.readers[reader]
    run = b.located[reader, b.c.stages - 1]
    if not run[0]:
        return full
    queue = b.c.channels
    channel = run[3]
    done = True
    for behind in range(min(run[2], b.c.channels)):
        if not record.forked >> channel & 1:
            if record.full >> channel & 1:
                done = False
            else:
                full |= _share(b, reader, channel, run[1] + behind, run[2] - behind)
                record.forked |= 1 << channel
        channel = channel + 1 if channel + 1 < b.c.channels else 0
    if not record.forked >> queue & 1:
        if record.full >> queue & 1:
            done = False
        else:
            place = record.waiting_out + record.waits + record.waiting
            place = place if place <= record.requests else place - (record.requests + 1)
            b.lines[reader, place, 0] = run[2]
            b.lines[reader, place, 1] = run[3]
            record.waiting += 1
            full |= (record.waiting == record.requests) << queue
            record.forked |= 1 << queue
    if done:
        run[0] = 0
        record.forked = 0
    return full


@inlined
def _move(b: Bus, reader: int, source: int, target: int) -> None:
    """Moves a request that is on its way to the fork."""
    before, here = b.located[reader, source], b.located[reader, target]
    for field in range(4):
        here[field] = before[field]
    before[0] = 0


@inlined
def _located(b: Bus, reader: int) -> bool:
    """Requests on their way to the fork; whether the first register would take one.

    The skid buffer at the fork is the last stage and, behind it in the array, its spare register.
    """
    record = b.readers[reader]
    last = b.c.stages - 1
    spare = b.c.stages
    takes = b.located[reader, spare, 0] == 0
    if not takes and not b.located[reader, last, 0]:
        _move(b, reader, spare, last)
    enters = spare if b.located[reader, last, 0] else last
    if last and takes and b.located[reader, last - 1, 0]:
        _move(b, reader, last - 1, enters)
    for stage in range(last - 1, 0, -1):
        if b.located[reader, stage - 1, 0] and not b.located[reader, stage, 0]:
            _move(b, reader, stage - 1, stage)
    if record.asked:
        first = b.located[reader, 0 if last else enters]
        first[0] = 1
        first[1] = record.block
        first[2] = record.blocks
        first[3] = record.channel
        record.asked = 0
        record.pending += 1
    for stage in range(last):
        if not b.located[reader, stage, 0]:
            return True
    return not b.located[reader, spare, 0]


@inlined
def reader_step(b: Bus, reader: int, now: int) -> None:
    """A cycle of a reader, behind that of the interconnects."""
    record = b.readers[reader]
    if not record.pending and not record.asked:
        return
    _assemble(b, reader)
    if record.waiting and not record.waits:
        record.waiting -= 1
        record.waits = 1
    full = 0
    for channel in range(b.c.channels):
        unit = b.units[reader, channel]
        if unit.used or unit.waits or unit.waiting:
            _channel(b, reader, channel, now)
            full |= (unit.waiting == BEHIND) << channel
    full |= (record.waiting == record.requests) << b.c.channels
    record.full = _fork(b, reader, full)
    record.accepts = _located(b, reader) and record.pending != record.requests
