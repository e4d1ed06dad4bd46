"""Cycle model of ``DeepQueue``: what is in it is the caller's, in a ring of one place more than it
is deep: ``tail`` is the next one's, ``at`` that of the one at the output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...timing.compiled import called
from .shared import fields

__all__ = ["QUEUE", "queue_step"]

QUEUE = np.dtype(fields("level", "valid", "head", "tail", "at"))


@called
def queue_step(q: Any, depth: int, takes: bool, puts: bool) -> None:
    """A cycle; ``takes``: what is at the output; ``puts``: what the caller has put to ``tail``."""
    reads = q.level != 0 and (takes or not q.valid)
    if takes:
        q.valid = 0
    if reads:
        q.valid = 1
        q.at = q.head
        q.head = q.head + 1 if q.head < depth else 0
        q.level -= 1
    if puts:
        q.tail = q.tail + 1 if q.tail < depth else 0
        q.level += 1
