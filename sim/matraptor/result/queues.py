"""The sorting queues of MatRaptor's processing element: which entries meet, and in which order.

Compiled. Values do not matter here: the result is a list of expressions over the products, for
``matraptor`` to evaluate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...timing.compiled import allocating

__all__ = ["Expressions", "merge_rows"]

Ints = npt.NDArray[np.int64]


class Expressions(NamedTuple):
    """Rows of C over the products of rows of A and B.

    A term is a product, ``0..products - 1`` in the order in which they come, or, from ``products``
    on, a sum of two terms.

    Parameters
    ----------
    left, right: (sums,) terms that each sum is of
    order, levels: the sums ordered such that those of ``order[levels[n]:levels[n + 1]]`` are of
        products and of earlier ones only
    lengths: (rows,) entries of each row, 0 for one that does not fit the queues
    columns, terms: (entries,) the entries' columns, and the terms that are their values
    fits: (rows,) whether the row fits the queues
    merge_steps: entries written while merging a partial row and a queue
    pops: entries taken from the queues in phase II
    largest_queue: entries of the fullest queue
    """

    left: Ints
    right: Ints
    order: Ints
    levels: Ints
    lengths: Ints
    columns: Ints
    terms: Ints
    fits: npt.NDArray[np.bool_]
    merge_steps: int
    pops: int
    largest_queue: int


def merge_rows(
    a_starts: Ints, a_columns: Ints, b_starts: Ints, b_columns: Ints, *, queues: int, depth: int
) -> Expressions:
    """The expressions of all rows of A; ``a_starts`` may begin anywhere in ``a_columns``.

    Columns of A are rows of B, those of B ascend in every row. A queue takes ``depth`` entries.
    """
    first, end = a_starts[0], a_starts[-1]
    products = int(np.diff(b_starts)[a_columns[first:end]].sum())
    widest = int(b_columns.max(initial=0)) + 1
    sums = np.empty((3, products), np.int64)
    entries = np.empty((2, products), np.int64)
    lengths = np.zeros(len(a_starts) - 1, np.int64)
    fits = np.ones(len(lengths), np.bool_)
    # Columns differ within a queue, and a row has no more entries than products.
    room = min(depth, widest, products)
    storage = np.empty((2, queues, room), np.int64)
    count, found, merge_steps, pops, largest = _merge_rows(
        (a_starts, a_columns), (b_starts, b_columns), depth, products, storage,
        sums, entries, lengths, fits,
    )  # fmt: skip
    order, levels = _by_level(sums[2, :count])
    return Expressions(
        sums[0, :count], sums[1, :count], order, levels, lengths, entries[0, :found],
        entries[1, :found], fits, merge_steps, pops, largest,
    )  # fmt: skip


@allocating
def _add(left: int, right: int, products: int, sums: Any, count: int) -> int:
    """Make sum number ``count``; its term."""
    left_level = sums[2, left - products] if left >= products else 0
    right_level = sums[2, right - products] if right >= products else 0
    sums[0, count], sums[1, count] = left, right
    sums[2, count] = max(left_level, right_level) + 1
    return products + count


@allocating
def _shortest(sizes: Any, written: Any, helper: int) -> int:
    """The queue with the fewest entries but for the helper; of several, the one written first."""
    chosen = -1
    for queue in range(len(sizes)):
        if queue != helper and (
            chosen < 0
            or sizes[queue] < sizes[chosen]
            or (sizes[queue] == sizes[chosen] and written[queue] < written[chosen])
        ):
            chosen = queue
    return chosen


@allocating
def _write_partial_row(
    columns: Any, terms: Any, target: int, source: int, waiting: int, b_columns: Any,
    begin: int, end: int, product: int, depth: int, products: int, sums: Any, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Merge a partial row with ``waiting`` entries of queue ``source`` into queue ``target``; the
    entries that it then has, ``depth + 1`` if they do not fit, and the sums made so far."""
    size, head, place = 0, 0, begin
    while head < waiting or place < end:
        if size == depth:
            return depth + 1, count
        from_queue = head < waiting and (place == end or columns[source, head] <= b_columns[place])
        from_row = place < end and (not from_queue or columns[source, head] == b_columns[place])
        if from_queue:
            columns[target, size] = columns[source, head]
            terms[target, size] = terms[source, head]
            head += 1
        if from_row:
            term = product + place - begin
            if from_queue:
                term = _add(terms[target, size], term, products, sums, count)
                count += 1
            columns[target, size] = b_columns[place]
            terms[target, size] = term
            place += 1
        size += 1
    return size, count


@allocating
def _merge_rows(
    a: Any, b: Any, depth: int, products: int, storage: Any,
    sums: Any, entries: Any, lengths: Any, fits: Any,
) -> Any:  # fmt: skip
    a_starts, a_columns = a
    b_starts, b_columns = b
    columns, terms = storage
    queues = len(columns)
    sizes, written = np.zeros(queues, np.int64), np.zeros(queues, np.int64)
    count = found = merge_steps = pops = largest = 0
    product = 0  # the first one of the partial row
    for row in range(len(lengths)):
        sizes[:] = 0
        helper, partial, steps = queues - 1, 0, 0
        for entry in range(a_starts[row], a_starts[row + 1]):
            begin, end = b_starts[a_columns[entry]], b_starts[a_columns[entry] + 1]
            if begin == end:
                continue
            if fits[row]:
                merges = partial >= queues - 1
                target = helper if merges else partial
                source = _shortest(sizes, written, helper) if merges else target
                waiting = sizes[source] if merges else 0
                size, count = _write_partial_row(
                    columns, terms, target, source, waiting, b_columns, begin, end, product,
                    depth, products, sums, count,
                )  # fmt: skip
                fits[row] = size <= depth
                if merges:
                    steps += size
                    sizes[source] = 0
                    helper = source
                sizes[target], written[target] = size, partial
                largest = max(largest, min(size, depth))
            partial += 1
            product += end - begin
        if fits[row]:
            merge_steps += steps
            pops += sizes.sum()
            before = found
            count, found = _drain(columns, terms, sizes, products, sums, count, entries, found)
            lengths[row] = found - before
    return count, found, merge_steps, pops, largest


@allocating
def _drain(
    columns: Any, terms: Any, sizes: Any, products: int, sums: Any, count: int,
    entries: Any, found: int,
) -> Any:  # fmt: skip
    """Phase II: merge all queues, equal columns by a binary tree over the queues."""
    queues = len(sizes)
    width = 1
    while width < queues:
        width *= 2
    tree = np.empty(width, np.int64)
    heads = np.zeros(queues, np.int64)
    while True:
        smallest = np.int64(-1)
        for queue in range(queues):
            if heads[queue] < sizes[queue]:
                column = columns[queue, heads[queue]]
                if smallest < 0 or column < smallest:
                    smallest = column
        if smallest < 0:
            return count, found
        tree[:] = -1
        for queue in range(queues):
            if heads[queue] < sizes[queue] and columns[queue, heads[queue]] == smallest:
                tree[queue] = terms[queue, heads[queue]]
                heads[queue] += 1
        nodes = width
        while nodes > 1:
            nodes //= 2
            for node in range(nodes):
                left, right = tree[2 * node], tree[2 * node + 1]
                if left >= 0 and right >= 0:
                    tree[node] = _add(left, right, products, sums, count)
                    count += 1
                else:
                    tree[node] = max(left, right)
        entries[0, found], entries[1, found] = smallest, tree[0]
        found += 1


@allocating
def _by_level(levels: Any) -> Any:
    """Sort by counting: the order, and where each level begins in it and the last one ends."""
    starts = np.zeros(levels.max() + 1 if len(levels) else 1, np.int64)
    for level in levels:
        starts[level] += 1
    starts = np.cumsum(starts)  # levels count from 1
    places = starts.copy()
    order = np.empty(len(levels), np.int64)
    for index, level in enumerate(levels):
        order[places[level - 1]] = index
        places[level - 1] += 1
    return order, starts
