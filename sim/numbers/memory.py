"""Values as they lie in memory: one behind the other, little endian."""

from __future__ import annotations

import numpy as np

from ...hw.spec.formats import Format
from .scalars import Patterns

__all__ = ["from_bytes", "to_bytes"]


def to_bytes(patterns: Patterns, fmt: Format) -> bytes:
    """Patterns of a format of whole bytes, in the order of the array."""
    return np.ascontiguousarray(patterns).astype(f"<u{fmt.bits // 8}").tobytes()


def from_bytes(content: bytes, fmt: Format) -> Patterns:
    """The patterns again, in one dimension."""
    return np.frombuffer(content, f"<u{fmt.bits // 8}").astype(np.uint64)
