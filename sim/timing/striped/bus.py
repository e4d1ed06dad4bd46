"""Cycle model of striped memory: a cycle of all of it."""

from __future__ import annotations

from ..compiled import compiled
from .interconnect import requests
from .memory import serve_dram
from .reader import reader_step
from .state import Bus
from .writer import writer_step

__all__ = ["step"]


@compiled
def step(b: Bus, now: int) -> None:
    """The end of a cycle: what was handed in and taken in it, and all that moves by itself.

    ``now`` counts cycles. Called every cycle, once; quick when nothing is inside.
    """
    writer_step(b, now)
    for channel in range(b.c.channels):
        if not b.c.flat:
            serve_dram(b, channel, now)
        requests(b, channel, now)
    for reader in range(b.c.readers):
        reader_step(b, reader, now)
