"""Cycle model of ``ArrayEntries``, and of the ports of the bus."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called, inlined
from ....timing.gearbox import gear
from ....timing.striped.reader import accepts, ask, has_line, is_last, take_line
from ....timing.striped.state import Bus

__all__ = ["entries_step", "look_at_ports", "use_ports"]


@inlined
def look_at_ports(m: Any, b: Bus) -> None:
    """What the readers show in this cycle."""
    for number in range(b.c.readers):
        port = m.ports[number]
        port.accepts = accepts(b, number)
        port.line = has_line(b, number)
        port.last = is_last(b, number)
        port.asks = 0
        port.takes = 0


@inlined
def use_ports(m: Any, b: Bus) -> None:
    """What was asked of the readers, and taken."""
    for number in range(b.c.readers):
        port = m.ports[number]
        if port.asks:
            ask(b, number, port.address, port.bytes)
        if port.takes:
            take_line(b, number)
            m.lines_taken += 1


@called
def entries_step(e: Any, port: Any, line_bytes: int, ready: bool) -> bool:
    """A cycle; ``ready``: the entry at the output may go. Returns whether the request was taken,
    which then asks no more."""
    if not e.asks:
        if ready:
            e.valid = 0
        return False
    wants = e.taken & 2 == 0
    there = port.line != 0 or e.padding != 0
    took, ends = gear(e, wants, e.count, e.size, line_bytes, there, ready)
    port.takes = took and not e.padding
    if e.taken & 1 == 0 and port.accepts:
        port.asks = 1
        port.address = e.address
        port.bytes = e.bytes
        e.taken |= 1
    if ends:
        e.taken |= 2
        e.padding = 0
    elif port.takes and port.last:
        e.padding = 1
    if e.taken == 3:
        e.taken = 0
        e.asks = 0
        return True
    return False
