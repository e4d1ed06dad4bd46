"""The error of a cycle model that beats its lower bound."""

from __future__ import annotations

__all__ = ["BoundBroken"]


class BoundBroken(AssertionError):
    """A job took fewer cycles than its bound, so that one of the two is wrong."""

    def __init__(self, cycles: int, limit: float) -> None:
        super().__init__(
            f"a job took {cycles:,} cycles, fewer than its bound of {limit:,.1f}: one of "
            "the two is wrong"
        )
