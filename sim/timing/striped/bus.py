"""Cycle model of striped memory: a cycle of all of it."""

from __future__ import annotations

from ..compiled import compiled, inlined
from .interconnect import requests
from .memory import serve_dram
from .reader import reader_step
from .state import Bus
from .writer import writer_step, writer_works

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
