"""Words around numbers."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, one: str, more: str | None = None) -> str:
    """So many of something: ``1 job``, ``2,000 jobs``; ``more``: where an s is not enough."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
