"""Cycle model: skid buffers and gearboxes."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = ["gear", "gear_is_ready", "put", "skid_step"]


@called
def put(skid: Any, value: int) -> None:
    """Into a skid buffer whose spare place is free."""
    skid.puts = 1
    skid.put_value = value


@called
def skid_step(skid: Any) -> None:
    """The end of a cycle in which something was put, or was taken (``takes``), or neither."""
    if not (skid.puts or skid.takes):
        return
    if skid.takes or not skid.valid:
        skid.valid = skid.spare or skid.puts
        skid.value = skid.spare_value if skid.spare else skid.put_value
        skid.spare = 0
    else:
        skid.spare = 1
        skid.spare_value = skid.put_value
    skid.puts = 0
    skid.takes = 0


@called
def gear(
    g: Any, wants: bool, count: int, size: int, line: int, there: bool, ready: bool
) -> tuple[bool, bool]:
    """A cycle of a gearbox.

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
