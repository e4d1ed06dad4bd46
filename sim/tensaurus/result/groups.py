"""Sums of groups in the order of the hardware, many groups at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .arithmetic import Arithmetic, Numbers

__all__ = ["group_sums"]

Ints = npt.NDArray[np.int64]
Summands = Callable[[Ints], Numbers]


def group_sums(
    arithmetic: Arithmetic, summands: Summands, starts: Ints, count: int, partial_sums: int
) -> Numbers:
    """The sum of each group of summands that follow each other.

    Summand ``n`` of a group goes to partial sum ``n % partial_sums``. A partial sum begins with its
    first summand as it is, and adds the others in order; then partial sums are added pairwise, the
    first with the second, the third with the fourth, an odd last one unchanged, until one is left.

    Parameters
    ----------
    summands: gives those with some numbers, (numbers, ...)
    starts: number of the first summand of each group, ascending from 0; no group is empty
    count: of all summands
    """
    lengths = np.diff(starts, append=count)
    # A chain is a partial sum: longest first, so that those that still grow are in front.
    per_group = np.minimum(lengths, partial_sums)
    base = np.cumsum(per_group) - per_group
    group = np.repeat(np.arange(len(starts)), per_group)
    number = np.arange(len(group)) - base[group]
    links = -(-(lengths[group] - number) // partial_sums)
    order = np.argsort(-links, kind="stable")
    first = (starts[group] + number)[order]
    growing = len(links) - np.cumsum(np.bincount(links)) if len(links) else np.zeros(1, np.int64)
    sums = summands(first)
    for step, left in enumerate(growing[1:-1].tolist(), 1):
        more = summands(first[:left] + step * partial_sums)
        sums[:left] = arithmetic.plus(sums[:left], more)
    chains = np.empty_like(sums)
    chains[order] = sums
    return _pairwise(arithmetic, chains, base, per_group)


def _pairwise(arithmetic: Arithmetic, chains: Numbers, base: Ints, per_group: Ints) -> Numbers:
    """Adds up each group's chains in pairs; the chains of a group lie together from ``base`` on."""
    left, step = per_group.copy(), 1
    while (left > 1).any():
        for pair in range(int(left.max()) // 2):
            has = left > 2 * pair + 1
            at = base[has] + 2 * pair * step
            chains[at] = arithmetic.plus(chains[at], chains[at + step])
        left, step = -(-left // 2), 2 * step
    found: Numbers = chains[base]
    return found
