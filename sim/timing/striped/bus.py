"""Cycle model of striped memory: a cycle of all of it."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..parts import skid_full, skid_put
from .memory import Bus, free_for_read, read, serve_dram
from .reader import accepts, ask, has_line, is_last, reader_step, take_line
from .writer import writer_step, writer_works


@inlined
def _leave(b: Bus, channel: int, now: int) -> None:
    """Out of the interconnect's registers."""
    record = b.channels[channel]
    held = record.requests
    if held.valid and free_for_read(b, channel):
        read(b, channel, held.source, held.note, held.place, now)
        held.valid = 0
        record.asking -= 1


@inlined
def _enter(b: Bus, channel: int) -> None:
    """Into the channel's registers, from the next input that has a request."""
    record = b.channels[channel]
    if skid_full(record.requests):
        return
    group = record.turn
    for _ in range(b.c.groups):
        group = group + 1 if group + 1 < b.c.groups else 0
        first = b.members[group, 0]
        if b.members[group, 1] > 1:
            joint = b.joints[group, channel].requests
            if joint.valid:
                record.turn = group
                skid_put(record.requests, joint.source, joint.place, joint.note)
                joint.valid = 0
                return
        else:
            unit = b.units[first, channel]
            if unit.asks:
                record.turn = group
                skid_put(record.requests, first, unit.ask_block, unit.ask_slot)
                unit.asks = 0
                return


@inlined
def _join(b: Bus, channel: int, group: int) -> None:
    """Into a group's registers, the next of its readers that has a request."""
    joint = b.joints[group, channel]
    if skid_full(joint.requests):
        return
    first, size, number = b.members[group, 0], b.members[group, 1], joint.turn
    for _ in range(size):
        number = number + 1 if number + 1 < size else 0
        unit = b.units[first + number, channel]
        if unit.asks:
            joint.turn = number
            skid_put(joint.requests, first + number, unit.ask_block, unit.ask_slot)
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
            skid_put(record.requests, 0, unit.ask_block, unit.ask_slot)
        _leave(b, channel, now)
        unit.asks = record.requests.valid
        record.requests.valid = 0


@inlined
def _works(b: Bus) -> bool:
    """Returns whether a cycle changes anything."""
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


@inlined
def look_at_ports(ports: Any, b: Bus) -> None:
    """Copies the readers' outputs of this cycle to ``ports``, a ``PORT`` for each."""
    for number in range(b.c.readers):
        port = ports[number]
        port.accepts = accepts(b, number)
        port.line = has_line(b, number)
        port.last = is_last(b, number)
        port.asks = 0
        port.takes = 0


@inlined
def use_ports(ports: Any, b: Bus) -> int:
    """Passes the requests of ports to the readers; returns the number of lines taken."""
    lines = 0
    for number in range(b.c.readers):
        port = ports[number]
        if port.asks:
            ask(b, number, port.address, port.bytes)
        if port.takes:
            take_line(b, number)
            lines += 1
    return lines


@inlined
def beats_read(b: Bus) -> int:
    """Beats that came to all readers so far."""
    beats = 0
    for number in range(b.c.readers):
        beats += b.readers[number].beats
    return beats
