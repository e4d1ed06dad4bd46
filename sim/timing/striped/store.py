"""Cycle model of what writes a channel's blocks: ``BlockBeats`` and ``BurstWriter``.

A memory that takes addresses at any time is supposed.
"""

from __future__ import annotations

from ..compiled import inlined
from .memory import free_for_data, write
from .state import Bus

__all__ = ["put_block", "store_free", "store_step"]


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
        store.request_beats = store.beats
        store.request_block = store.block
    sends = store.sent or (room and store.index + 1 == store.beats)
    if room and not store.sent:
        store.buffered += 1
        store.stored += 1
    if asks and sends:
        store.valid = store.spare
        store.block = store.spare_block
        store.beats = store.spare_beats
        store.spare = 0
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
    """Whether the register before it takes a block in the next cycle."""
    store = b.stores[channel]
    if b.c.skids:
        return store.spare == 0
    if not store.valid:
        return True
    issues = store.stored >= store.burst_beats and store.addresses != b.c.addresses
    asks = store.asked or not store.request or not store.burst or issues
    room = store.buffered != b.c.buffer
    return asks and (store.sent != 0 or (room and store.index + 1 == store.beats))


@inlined
def put_block(b: Bus, channel: int, block: int, beats: int) -> None:
    """A block into the register that is free for it, behind the step of its channel."""
    store = b.stores[channel]
    if store.valid:
        store.spare = 1
        store.spare_block = block
        store.spare_beats = beats
    else:
        store.valid = 1
        store.block = block
        store.beats = beats


@inlined
def store_step(b: Bus, channel: int, now: int) -> bool:
    """A cycle; whether something is inside, or owed by the bus."""
    store = b.stores[channel]
    room = store.buffered != b.c.buffer
    room_for_address = store.addresses != b.c.addresses
    _answer(b, channel, now)
    _send(b, channel, now)
    _issue(b, channel, room_for_address)
    if store.valid:
        _block(b, channel, room)
    return (store.valid | store.stored | store.addresses | store.address) != 0
