"""The order of additions: columns through a tree of fixed leaves, then one after the other.

Elements have a place in the stream of all columns; place n is leaf ``n % leaves`` of set
``n // leaves``. Within a set the elements of a column are added in a binary tree over the leaves,
in which a missing one is left out. The sums of a column's sets are dealt out in turn to so many
partial sums as the adder's latency asks for, which are added in pairs, an odd last one unchanged,
until one is left. So the bits depend on structure alone, and a new set can come every cycle.

Source: SIDA, the OS core, whose tree is the forwarding adder tree of SIGMA (Qin et al., HPCA 2020);
the order between sets, which the paper leaves open, is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...numbers.values import Patterns

__all__ = ["Plus", "Sums", "scatter", "tree_sums"]

Ints = npt.NDArray[np.int64]
Plus = Callable[[Patterns, Patterns], Patterns]
"""(+) of a semiring, on patterns."""
Sums = tuple[Ints, Patterns]
"""Columns that have elements, ascending, and their sums."""


def tree_sums(
    places: Ints, columns: Ints, values: Patterns, plus: Plus, *, leaves: int, partials: int
) -> Sums:
    """The sum of each column.

    Parameters
    ----------
    places: (elements,) ascending places in the stream
    columns: (elements,) of each its column, ascending
    values: (elements, ...) what is added, along the first axis
    leaves: of the tree, a power of two
    partials: sums that a column's sets are dealt out to

    Raises
    ------
    ValueError if ``leaves`` is no power of two, or ``partials`` less than 1.
    """
    if leaves < 1 or leaves & (leaves - 1):
        raise ValueError(f"`leaves` must be a power of two, not {leaves}")
    if partials < 1:
        raise ValueError(f"`partials` must be at least 1, not {partials}")
    if not len(places):
        return columns, values
    sets = places // leaves
    node = places % leaves
    # Elements of one column in one set have one number.
    segment = np.concatenate(
        [[0], np.cumsum((columns[1:] != columns[:-1]) | (sets[1:] != sets[:-1]))]
    )
    column_of = columns[np.concatenate([[True], segment[1:] != segment[:-1]])]
    while leaves > 1:
        leaves //= 2
        node = node // 2
        pair = np.concatenate([(segment[1:] == segment[:-1]) & (node[1:] == node[:-1]), [False]])
        first = np.flatnonzero(pair)
        values = values.copy()
        values[first] = plus(values[first], values[first + 1])
        kept = np.concatenate([[True], ~pair[:-1]])
        values, segment, node = values[kept], segment[kept], node[kept]
    return _one_after_the_other(column_of, values, plus, partials)


def _one_after_the_other(columns: Ints, values: Patterns, plus: Plus, partials: int) -> Sums:
    """Sums of sets to sums of columns."""
    found, start, count = np.unique(columns, return_index=True, return_counts=True)
    sums = np.zeros((partials, len(found), *values.shape[1:]), np.uint64)
    turns = np.arange(partials)[:, None]
    for done in range(0, int(count.max()), partials):
        # A set for each partial sum of each column that has so many: none waits for another.
        left = np.flatnonzero(count > done)
        turn, place = np.nonzero(count[left] - done > turns)
        mine = left[place]
        new = values[start[mine] + done + turn]
        sums[turn, mine] = plus(sums[turn, mine], new) if done else new
    parts = list(sums)
    size = np.minimum(count, partials)
    while len(parts) > 1:
        pairs = [
            np.where(
                (size > 2 * n + 1).reshape(-1, *(1,) * (values.ndim - 1)),
                plus(parts[2 * n], parts[2 * n + 1]),
                parts[2 * n],
            )
            for n in range(len(parts) // 2)
        ]
        parts = pairs + parts[2 * len(pairs) :]
        size = -(-size // 2)
    return found, parts[0]


def scatter(sums: Patterns, columns: Ints, values: Patterns, plus: Plus) -> Patterns:
    """Add values to their columns' sums one after the other, in the order in which they come.

    Parameters
    ----------
    sums: (all columns, ...) what they are added to
    columns: (elements,)
    values: (elements, ...)
    """
    found = sums.copy()
    order = np.argsort(columns, kind="stable")
    columns, values = columns[order], values[order]
    first = np.concatenate([[True], columns[1:] != columns[:-1]])[: len(columns)]
    start = np.flatnonzero(first)
    count = np.diff(np.concatenate([start, [len(columns)]]))
    for turn in range(int(count.max(initial=0))):
        mine = start[count > turn] + turn
        found[columns[mine]] = plus(found[columns[mine]], values[mine])
    return found
