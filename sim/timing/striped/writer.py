"""Cycle model of ``StripedWriter``: extents and lines in, blocks to the channels, cycle for cycle.

What is asked here is known from registers, as they are at the beginning of a cycle, but for
`takes_extent`, which sees whether a line is put in the same one.
"""

from __future__ import annotations

from ..compiled import inlined
from ..parts import skid_full, skid_put
from .memory import DIVISION, Bus, free_for_data, write

# Cycle model of what writes a channel's blocks: ``BlockBeats`` and ``BurstWriter``.
#
# A memory that takes addresses at any time is supposed.


@inlined
def _answer(b: Bus, channel: int, now: int) -> None:
    """A response, and the address that it belongs to."""
    store = b.stores[channel]
    answered = False
    if store.answers_in != store.answers_out:
        place = store.answers_out & (b.answers.shape[1] - 1)
        answered = b.answers[channel, place] <= now
        store.answers_out += answered
    if not b.c.deep:
        store.addresses -= answered
    elif answered or not store.address:
        store.address = store.addresses != 0
        store.addresses -= store.address


@inlined
def _send(b: Bus, channel: int, now: int) -> None:
    """A beat to the memory, the next one to ``w``."""
    store = b.stores[channel]
    if store.w and (not store.w_first or free_for_data(b, channel)):
        store.w = 0
        if store.w_last:
            write(b, channel, store.w_block, store.w_beats)
            place = store.answers_in & (b.answers.shape[1] - 1)
            b.answers[channel, place] = now + b.c.latency
            store.answers_in += 1
    if not store.w and store.beat and store.lengths_in != store.lengths_out:
        place = store.lengths_out & (b.lengths.shape[1] - 1)
        store.w = 1
        store.w_first = store.sending == 0
        store.w_beats = b.lengths[channel, place, 0]
        store.w_block = b.lengths[channel, place, 1]
        store.sending += 1
        store.w_last = store.sending == store.w_beats
        if store.w_last:
            store.sending = 0
            store.lengths_out += 1
        store.beat = 0
    if store.buffered and not store.beat:
        store.buffered -= 1
        store.beat = 1


@inlined
def _issue(b: Bus, channel: int, room: bool) -> None:
    """Bursts to ``aw`` and on; ``room``: for an address."""
    store = b.stores[channel]
    if store.aw:
        place = store.lengths_in & (b.lengths.shape[1] - 1)
        b.lengths[channel, place, 0] = store.aw_beats
        b.lengths[channel, place, 1] = store.aw_block
        store.lengths_in += 1
        store.aw = 0
    if store.burst and room and store.stored >= store.burst_beats:
        store.burst = 0
        store.aw = 1
        store.aw_beats = store.burst_beats
        store.aw_block = store.burst_block
        store.stored -= store.burst_beats
        store.addresses += 1
    if store.request and not store.burst:
        store.request = 0
        store.burst = 1
        store.burst_beats = store.request_beats
        store.burst_block = store.request_block


@inlined
def _block(b: Bus, channel: int, room: bool) -> None:
    """A block's request, and a beat of it; ``room``: in the buffer."""
    store = b.stores[channel]
    asks = store.asked or not store.request
    if not store.asked and not store.request:
        store.request = 1
        store.request_beats = store.blocks.note
        store.request_block = store.blocks.place
    sends = store.sent or (room and store.index + 1 == store.blocks.note)
    if room and not store.sent:
        store.buffered += 1
        store.stored += 1
    if asks and sends:
        store.blocks.valid = 0
        skid_full(store.blocks)
        store.asked = 0
        store.sent = 0
        store.index = 0
    else:
        store.asked = asks
        store.sent = sends
        if room and not sends:
            store.index += 1


@inlined
def store_free(b: Bus, channel: int) -> bool:
    """Returns whether the register before the store accepts a block in the next cycle."""
    store = b.stores[channel]
    if b.c.skids:
        return store.blocks.spare == 0
    if not store.blocks.valid:
        return True
    issues = store.stored >= store.burst_beats and store.addresses != b.c.addresses
    asks = store.asked or not store.request or not store.burst or issues
    room = store.buffered != b.c.buffer
    return asks and (store.sent != 0 or (room and store.index + 1 == store.blocks.note))


@inlined
def put_block(b: Bus, channel: int, block: int, beats: int) -> None:
    """A block into the register that is free for it, behind the step of its channel."""
    skid_put(b.stores[channel].blocks, 0, block, beats)


@inlined
def store_step(b: Bus, channel: int, now: int) -> bool:
    """A cycle; whether something is inside, or owed by the bus."""
    store = b.stores[channel]
    room = store.buffered != b.c.buffer
    room_for_address = store.addresses != b.c.addresses
    _answer(b, channel, now)
    _send(b, channel, now)
    _issue(b, channel, room_for_address)
    if store.blocks.valid:
        _block(b, channel, room)
    return (store.blocks.valid | store.stored | store.addresses | store.address) != 0


@inlined
def takes_line(b: Bus) -> bool:
    """Returns whether a line is accepted in this cycle."""
    return b.writer[0].accepts != 0


@inlined
def put_line(b: Bus) -> None:
    """Hand in the next line; it is taken."""
    b.writer[0].puts = 1


@inlined
def _ends(b: Bus) -> bool:
    """Returns whether the next line is the extent's last."""
    return b.writer[0].left < b.c.line_blocks * b.c.interleave


@inlined
def takes_extent(b: Bus) -> bool:
    """Returns whether an extent is accepted in this cycle; called once ``puts`` is known."""
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
    """Returns whether the writer holds nothing and the bus owes it nothing."""
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
    """Returns whether all channels of the next line have room."""
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
    """Returns whether a cycle changes anything."""
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
