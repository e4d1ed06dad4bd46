"""Cycle model of ``DeepQueue``: how much is in it, and whether something is at its output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...timing.compiled import inlined
from .shared import fields

__all__ = ["QUEUE", "queue_step"]

QUEUE = np.dtype(fields("level", "valid"))
"""Transfers in the memory; one at the output."""


@inlined
def queue_step(q: Any, puts: bool, ready: bool) -> bool:
    """A cycle; ``puts``: something is taken in. Returns whether something goes to the output."""
    reads = q.level != 0 and (ready or not q.valid)
    q.valid = reads or (q.valid and not ready)
    q.level += puts - reads
    return reads
