"""Cycle model of striped memory: a cycle of all of it."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from .memory import free_for_read, read, serve_dram
from .reader import reader_step
from .state import Bus
from .writer import writer_step, writer_works


@inlined
def _leave(b: Bus, channel: int, now: int) -> None:
    """Out of the interconnect's registers."""
    record = b.channels[channel]
    if record.held and free_for_read(b, channel):
        read(b, channel, record.held_reader, record.held_slot, record.held_block, now)
        record.held = 0
        record.asking -= 1


@inlined
def _is_full(record: Any) -> bool:
    """Whether a skid buffer has two at the beginning of the cycle: of which one may have left."""
    full: bool = record.spare != 0
    if full and not record.held:
        record.held = 1
        record.held_reader = record.spare_reader
        record.held_slot = record.spare_slot
        record.held_block = record.spare_block
        record.spare = 0
    return full


@inlined
def _put(record: Any, reader: int, slot: int, block: int) -> None:
    """Into one that was not full."""
    if record.held:
        record.spare = 1
        record.spare_reader = reader
        record.spare_slot = slot
        record.spare_block = block
    else:
        record.held = 1
        record.held_reader = reader
        record.held_slot = slot
        record.held_block = block


@inlined
def _enter(b: Bus, channel: int) -> None:
    """Into the channel's registers, from the next input that has a request."""
    record = b.channels[channel]
    if _is_full(record):
        return
    group = record.turn
    for _ in range(b.c.groups):
        group = group + 1 if group + 1 < b.c.groups else 0
        first = b.members[group, 0]
        if b.members[group, 1] > 1:
            joint = b.joints[group, channel]
            if joint.held:
                record.turn = group
                _put(record, joint.held_reader, joint.held_slot, joint.held_block)
                joint.held = 0
                return
        else:
            unit = b.units[first, channel]
            if unit.asks:
                record.turn = group
                _put(record, first, unit.ask_slot, unit.ask_block)
                unit.asks = 0
                return


@inlined
def _join(b: Bus, channel: int, group: int) -> None:
    """Into a group's registers, the next of its readers that has a request."""
    joint = b.joints[group, channel]
    if _is_full(joint):
        return
    first, size = b.members[group, 0], b.members[group, 1]
    number = joint.turn
    for _ in range(size):
        number = number + 1 if number + 1 < size else 0
        unit = b.units[first + number, channel]
        if unit.asks:
            joint.turn = number
            _put(joint, first + number, unit.ask_slot, unit.ask_block)
            unit.asks = 0
            return


@inlined
def requests(b: Bus, channel: int, now: int) -> None:
    """A cycle of the way from the readers' ``ar`` to the memory."""
    record = b.channels[channel]
    if not record.asking:
        return
    if b.c.shared:
        _leave(b, channel, now)
        _enter(b, channel)
        for group in range(b.c.groups):
            if b.members[group, 1] > 1:
                _join(b, channel, group)
    else:
        # Straight to the memory, from the only reader's own register.
        unit = b.units[0, channel]
        if unit.asks:
            _put(record, 0, unit.ask_slot, unit.ask_block)
        _leave(b, channel, now)
        unit.asks = record.held
        record.held = 0


__all__ = ["step"]


@inlined
def _works(b: Bus) -> bool:
    """Whether a cycle changes anything."""
    if writer_works(b):
        return True
    for reader in range(b.c.readers):
        if b.readers[reader].pending | b.readers[reader].asked:
            return True
    if not b.c.flat:
        # Writes that were answered, and wait for the memory.
        for channel in range(b.c.channels):
            if b.dram.count[channel, 1]:
                return True
    return False


@compiled
def _step(b: Bus, now: int) -> None:
    if writer_works(b):
        writer_step(b, now)
    for channel in range(b.c.channels):
        if not b.c.flat:
            serve_dram(b, channel, now)
        requests(b, channel, now)
    for reader in range(b.c.readers):
        reader_step(b, reader, now)


@inlined
def step(b: Bus, now: int) -> None:
    """The end of a cycle: what was handed in and taken in it, and all that moves by itself.

    ``now`` counts cycles. Called every cycle, once; quick when nothing is inside.
    """
    if _works(b):
        _step(b, now)
