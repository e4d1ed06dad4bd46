"""Cycle model of ``ProgramLoader``."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called
from .entries import entries_step
from .state import PROGRAM, PROGRAM_ENTRIES, WORD_BYTES

__all__ = ["program_step"]


@called
def program_step(m: Any) -> None:
    """A cycle; ``program_start``: the pulse."""
    if not m.program_busy and not m.program_start:
        return
    e = m.entries[PROGRAM_ENTRIES]
    over = e.valid != 0 and e.last != 0 and m.program_busy != 0
    entries_step(e, m.ports[PROGRAM], m.line_bytes, True)
    if over:
        m.program_busy = 0
    if m.program_start:
        m.program_busy = 1
        e.asks = 1
        e.address = m.program_base
        e.bytes = m.words * WORD_BYTES
        e.count = m.words
