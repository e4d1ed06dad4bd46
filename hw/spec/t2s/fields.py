"""Groups the loops of a nest that share a counter."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["grouped"]


def grouped(loops: Iterable[tuple[int | None, bool]]) -> list[list[int]]:
    """Numbers of loops that are counted together, outermost first; those of one iteration are not
    counted at all.

    Neighbours of constant trip counts have one counter, but for loops of which something is asked.

    Parameters
    ----------
    loops: trip counts, None of those that are no constants; and whether something is asked
    """
    found: list[list[int]] = []
    mergeable = False
    for number, (extent, asked) in enumerate(loops):
        if extent == 1:
            continue
        free = extent is not None and not asked
        if free and mergeable:
            found[-1].append(number)
        else:
            found.append([number])
        mergeable = free
    return found
