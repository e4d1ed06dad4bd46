"""Cycle model of ``ArraySlice``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....timing.compiled import called
from ....timing.gearbox import gear
from ..shared import fields
from .queues import QUEUE, queue_step

__all__ = ["AHEAD", "SLICE", "slice_offer", "slice_step", "slice_valid"]

AHEAD = 4
"""Slices that are read ahead of the one whose blocks leave."""

SLICE = np.dtype(
    [
        # Elements, blocks of a line; which outputs of the fork have taken the request; what
        # goes to the queues in this cycle; blocks that went by.
        *fields("element_bytes", "blocks", "size", "taken", "puts", "ends", "gone", "padding"),
        # The gearbox.
        *fields("level", "left", "valid", "last"),
        # Entries of requests, and blocks that are not wanted.
        ("waiting", QUEUE),
        ("counts", np.int64, (AHEAD + 1,)),
        ("skips", QUEUE),
        ("skipped", np.int64, (AHEAD + 1,)),
    ]
)


@called
def slice_offer(m: Any, s: Any, port: Any, address: int, lower: int, upper: int) -> bool:
    """The beginning of a cycle in which elements ``lower`` to ``upper - 1`` are asked for; whether
    the request is taken. Without one ``slice_step`` is enough."""
    skips, waiting = s.skips, s.waiting
    if s.blocks > 1 and skips.level == AHEAD:
        return False
    first = lower >> m.pes_shift
    skipped = first & s.blocks - 1
    before = first - skipped
    if s.taken & 1 == 0 and port.accepts:
        port.asks = 1
        port.address = address + before * s.size
        port.bytes = upper * s.element_bytes - before * s.size
        s.taken |= 1
    if s.taken & 2 == 0 and waiting.level != AHEAD:
        s.counts[waiting.tail] = (upper + m.pes - 1 >> m.pes_shift) - before
        s.puts = 1
        s.taken |= 2
    if s.taken != 3:
        return False
    s.taken = 0
    s.skipped[skips.tail] = skipped
    s.ends = s.blocks > 1
    return True


@called
def slice_valid(s: Any) -> bool:
    """Whether a block is at the output."""
    if s.blocks == 1:
        return bool(s.valid != 0)
    return bool(s.valid != 0 and s.skips.valid != 0 and s.gone == s.skipped[s.skips.at])


@called
def slice_step(m: Any, s: Any, port: Any, ready: bool) -> None:
    """A cycle; ``ready``: the block at the output may go."""
    skips, waiting = s.skips, s.waiting
    entry_ready, ends = ready, False
    if s.blocks > 1:
        drops = skips.valid != 0 and s.gone != s.skipped[skips.at]
        ends = slice_valid(s) and ready and s.last != 0
        entry_ready = skips.valid != 0 and (ready or drops)
        if ends:
            s.gone = 0
        elif s.valid and drops:
            s.gone += 1
    there = port.line != 0 or s.padding != 0
    count = s.counts[waiting.at]
    took, cut = gear(s, waiting.valid != 0, count, s.size, m.line_bytes, there, entry_ready)
    port.takes = took and not s.padding
    if cut:
        s.padding = 0
    elif port.takes and port.last:
        s.padding = 1
    queue_step(waiting, AHEAD, cut, s.puts != 0)
    queue_step(skips, AHEAD, ends, s.ends != 0)
    s.puts = 0
    s.ends = 0
