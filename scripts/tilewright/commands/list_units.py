"""``tilewright list``: the units."""

from __future__ import annotations

from ..registry import entries

__all__ = ["list_units"]


def list_units() -> None:
    """List the units, one line each."""
    known = entries()
    width = max(map(len, known))
    for name, entry in known.items():
        print(f"{name:{width}}  {entry.unit.summary}")
