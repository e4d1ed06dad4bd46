"""Cycle model of ``Gearbox``: lines of one size into entries of another."""

from __future__ import annotations

from typing import Any

from .compiled import called

__all__ = ["gear", "gear_is_ready"]


@called
def gear(
    g: Any, wants: bool, count: int, size: int, line: int, there: bool, ready: bool
) -> tuple[bool, bool]:
    """A cycle of a gearbox, a record with ``level``, ``left``, ``valid`` and ``last``.

    ``wants``: there is a request, for ``count`` entries of ``size`` bytes; ``there``: a line of
    ``line`` bytes; ``ready``: what is at the output may go. Returns whether the line, and the
    request, are taken.
    """
    free = ready or not g.valid
    adds = g.level < size
    total = g.level + line if adds else g.level
    enough = total >= size
    offers = wants and (not adds or (there and enough))
    takes = offers and free
    took = there and wants and adds and (free or not enough)
    left = g.left if g.left else count
    if free:
        g.valid = offers
        g.last = left == 1
    if takes:
        g.left = left - 1
        g.level = 0 if left == 1 else total - size
    elif took:
        g.level = total
    return took, takes and left == 1


@called
def gear_is_ready(g: Any, wants: bool, size: int, line: int, ready: bool) -> bool:
    """Whether a line would be taken in this cycle, before :func:`gear`."""
    adds = g.level < size
    return wants and adds and (ready or not g.valid or g.level + line < size)
