"""Cycle model of striped memory: readers' requests on their way to a channel's memory."""

from __future__ import annotations

from ..compiled import inlined
from .memory import free_for_read, read
from .state import Bus

__all__ = ["requests"]


@inlined
def _hold(b: Bus, channel: int, reader: int) -> None:
    """A reader's request into the register before the memory."""
    record, unit = b.channels[channel], b.units[reader, channel]
    record.held = unit.asks
    record.held_reader = reader
    record.held_slot = unit.ask_slot
    record.held_block = unit.ask_block


@inlined
def _leave(b: Bus, channel: int, now: int) -> None:
    """Out of the interconnect's registers."""
    record = b.channels[channel]
    if record.held and free_for_read(b, channel):
        read(b, channel, record.held_reader, record.held_slot, record.held_block, now)
        record.held = 0
        record.asking -= 1


@inlined
def _enter(b: Bus, channel: int) -> None:
    """Into them, the next reader that has a request."""
    record = b.channels[channel]
    if record.spare:
        # They are full at the beginning of this cycle.
        if not record.held:
            record.held = 1
            record.held_reader = record.spare_reader
            record.held_slot = record.spare_slot
            record.held_block = record.spare_block
            record.spare = 0
        return
    reader = record.turn
    for _ in range(b.c.readers):
        reader = reader + 1 if reader + 1 < b.c.readers else 0
        unit = b.units[reader, channel]
        if unit.asks:
            unit.asks = 0
            record.turn = reader
            if record.held:
                record.spare = 1
                record.spare_reader = reader
                record.spare_slot = unit.ask_slot
                record.spare_block = unit.ask_block
            else:
                record.held = 1
                record.held_reader = reader
                record.held_slot = unit.ask_slot
                record.held_block = unit.ask_block
            return


@inlined
def requests(b: Bus, channel: int, now: int) -> None:
    """A cycle of the way from the readers' ``ar`` to the memory."""
    record = b.channels[channel]
    if not record.asking:
        return
    if not b.c.shared:
        # Straight to the memory, from the only reader's own register.
        _hold(b, channel, 0)
    _leave(b, channel, now)
    if b.c.shared:
        _enter(b, channel)
    else:
        b.units[0, channel].asks = record.held
        record.held = 0
