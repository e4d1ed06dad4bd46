"""Orders of a matrix's rows and columns in which the OEI dataflow holds less.

Rows and columns get the same new numbers, so a vector is reordered with them. An order is an array:
``order[n]`` is the old number of what becomes n.

Sources: Wei et al., Speedup graph processing by graph ordering (SIGMOD 2016), which the paper
uses; Eades, Lin and Smyth, A fast and effective heuristic for the feedback arc set problem (1993),
for the order towards an upper triangular matrix, which the paper leaves open; Cuthill and McKee,
Reducing the bandwidth of sparse symmetric matrices (1969), by SciPy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..timing.compiled import compiled

__all__ = ["ORDERS", "cuthill_mckee", "graph_order", "inverse", "near_neighbours", "upper"]

Ints = npt.NDArray[np.int64]
WINDOW = 5
"""Vertices that a new one is compared with, as the paper of GraphOrder has it."""

_NONE = -1


def inverse(order: Ints) -> Ints:
    """The new number of each old one."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order), dtype=order.dtype)
    return found


def cuthill_mckee(matrix: csr_array) -> Ints:
    """The reverse order of Cuthill and McKee, of the matrix and its transpose together."""
    pattern = csr_array((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), matrix.shape)
    both = csr_array(pattern + pattern.T)
    return np.asarray(reverse_cuthill_mckee(both, symmetric_mode=True), dtype=np.int64)


def upper(matrix: csr_array) -> Ints:
    """An order with few elements below the diagonal.

    What has no elements in its column is next from the front, what has none in its row from the
    back; where there is neither, what has most more in its row than in its column is next from the
    front. The diagonal does not count. Time of the order of the elements.
    """
    rows, cols = _parts(matrix)
    size = matrix.shape[0]
    order = np.empty(size, np.int64)
    out_of, into = np.diff(rows[0]), np.diff(cols[0])
    most = int(max(out_of.max(initial=0), into.max(initial=0)))
    # A list for each difference, and two for those that have nothing on one side.
    first = np.full(2 * most + 3, _NONE, np.int64)
    links = np.full((2, size), _NONE, np.int64)
    _upper(*rows, *cols, out_of.copy(), into.copy(), first, links[0], links[1], most, order)
    return order


def graph_order(matrix: csr_array, window: int = WINDOW) -> Ints:
    """GraphOrder: next is what has most in common with the last ``window`` before it: elements
    between the two, and columns in which both have elements.

    Raises ValueError if ``window`` is less than 1.
    """
    if window < 1:
        raise ValueError(f"`window` must be at least 1, not {window}")
    rows, cols = _parts(matrix)
    size = matrix.shape[0]
    order = np.empty(size, np.int64)
    if not size:
        return order
    start = int(np.argmax(np.diff(cols[0])))
    # One list per possible score; more lists only slow down the search for the highest.
    first = np.full(1 + int(np.diff(rows[0]).sum()) + size, _NONE, np.int64)
    links = np.full((2, size), _NONE, np.int64)
    score = np.zeros(size, np.int64)
    _graph_order(*rows, *cols, start, window, score, first, links[0], links[1], order)
    return order


def near_neighbours(matrix: csr_array, order: Ints, window: int = WINDOW) -> int:
    """Computes the score that :func:`graph_order` maximises. It is a sum over all pairs that are at
    most ``window`` apart: the elements between the two, and the columns in which both have
    elements."""
    pattern = csr_array(matrix[order][:, order])
    pattern.data = np.ones(pattern.nnz, np.int64)
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    total = 0
    size = matrix.shape[0]
    for apart in range(1, min(window, size - 1) + 1):
        front, back = pattern[: size - apart], pattern[apart:]
        total += int((front.multiply(back)).sum())
        total += int(pattern.diagonal(apart).sum() + pattern.diagonal(-apart).sum())
    return total


def _parts(matrix: csr_array) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
    """Pointers and indices of rows and of columns, without the diagonal.

    Raises ValueError if the matrix is not square.
    """
    size, wide = matrix.shape
    if size != wide:
        raise ValueError(f"`matrix` must be square, not {size} x {wide}")
    found = matrix.tocoo()
    off = found.row != found.col
    ones = np.ones(int(off.sum()), np.int8)
    rows = csr_array((ones, (found.row[off], found.col[off])), shape=matrix.shape)
    rows.sum_duplicates()
    cols = rows.tocsc()
    return (
        (rows.indptr.astype(np.int64), rows.indices.astype(np.int64)),
        (cols.indptr.astype(np.int64), cols.indices.astype(np.int64)),
    )


@compiled
def _link(first: Ints, before: Ints, behind: Ints, vertex: int, score: int) -> None:
    """Inserts a vertex at the front of the list of its score."""
    follower = first[score]
    before[vertex] = _NONE
    behind[vertex] = follower
    if follower != _NONE:
        before[follower] = vertex
    first[score] = vertex


@compiled
def _unlink(first: Ints, before: Ints, behind: Ints, vertex: int, score: int) -> None:
    if before[vertex] == _NONE:
        first[score] = behind[vertex]
    else:
        behind[before[vertex]] = behind[vertex]
    if behind[vertex] != _NONE:
        before[behind[vertex]] = before[vertex]


@compiled
def _kind(out_of: int, into: int, most: int) -> int:
    """The list of a vertex: its difference; the last but one without a column, the last without a
    row."""
    if into == 0:
        return 2 * most + 1
    if out_of == 0:
        return 2 * most + 2
    return out_of - into + most


@compiled
def _lose(
    degree: Ints, out_of: Ints, into: Ints, first: Ints, before: Ints, behind: Ints, vertex: int,
    most: int, highest: int,
) -> int:  # fmt: skip
    """A vertex that is not placed has one edge fewer, of ``degree``, which is ``out_of`` or
    ``into``; the highest list of a difference that there may be."""
    if out_of[vertex] < 0:
        return highest
    _unlink(first, before, behind, vertex, _kind(out_of[vertex], into[vertex], most))
    degree[vertex] -= 1
    kind = _kind(out_of[vertex], into[vertex], most)
    _link(first, before, behind, vertex, kind)
    return max(highest, kind) if kind <= 2 * most else highest


@compiled
def _upper(
    row_start: Ints, row_index: Ints, col_start: Ints, col_index: Ints, out_of: Ints, into: Ints,
    first: Ints, before: Ints, behind: Ints, most: int, order: Ints,
) -> None:  # fmt: skip
    size = len(order)
    # From the last on, so that lists have low numbers in front.
    for vertex in range(size - 1, -1, -1):
        _link(first, before, behind, vertex, _kind(out_of[vertex], into[vertex], most))
    left = 0
    right = size - 1
    highest = 2 * most
    while left <= right:
        if first[2 * most + 1] != _NONE:
            kind = 2 * most + 1
        elif first[2 * most + 2] != _NONE:
            kind = 2 * most + 2
        else:
            while first[highest] == _NONE:
                highest -= 1
            kind = highest
        vertex = int(first[kind])
        _unlink(first, before, behind, vertex, kind)
        if kind == 2 * most + 2:
            order[right] = vertex
            right -= 1
        else:
            order[left] = vertex
            left += 1
        # Placed: of it there is no list any more.
        out_of[vertex] = -size - 1
        for place in range(row_start[vertex], row_start[vertex + 1]):
            other = int(row_index[place])
            highest = _lose(into, out_of, into, first, before, behind, other, most, highest)
        for place in range(col_start[vertex], col_start[vertex + 1]):
            other = int(col_index[place])
            highest = _lose(out_of, out_of, into, first, before, behind, other, most, highest)


@compiled
def _shift(
    first: Ints, before: Ints, behind: Ints, score: Ints, vertex: int, by: int, highest: int
) -> int:
    """A vertex that is not placed gets another score; the highest one there may be."""
    if score[vertex] < 0:
        return highest
    _unlink(first, before, behind, vertex, score[vertex])
    score[vertex] += by
    _link(first, before, behind, vertex, score[vertex])
    return max(highest, score[vertex])


@compiled
def _near(
    row_start: Ints, row_index: Ints, col_start: Ints, col_index: Ints, vertex: int, by: int,
    score: Ints, first: Ints, before: Ints, behind: Ints, highest: int,
) -> int:  # fmt: skip
    """Shifts the scores of all neighbours of a vertex that enters the window, or leaves it."""
    for place in range(row_start[vertex], row_start[vertex + 1]):
        column = row_index[place]
        highest = _shift(first, before, behind, score, column, by, highest)
        for other in range(col_start[column], col_start[column + 1]):
            highest = _shift(first, before, behind, score, col_index[other], by, highest)
    for place in range(col_start[vertex], col_start[vertex + 1]):
        highest = _shift(first, before, behind, score, col_index[place], by, highest)
    return highest


@compiled
def _graph_order(
    row_start: Ints, row_index: Ints, col_start: Ints, col_index: Ints, start: int, window: int,
    score: Ints, first: Ints, before: Ints, behind: Ints, order: Ints,
) -> None:  # fmt: skip
    size = len(order)
    for vertex in range(size - 1, -1, -1):
        _link(first, before, behind, vertex, 0)
    highest = 0
    vertex = start
    for place in range(size):
        if place:
            while first[highest] == _NONE:
                highest -= 1
            vertex = int(first[highest])
        _unlink(first, before, behind, vertex, score[vertex])
        score[vertex] = _NONE
        order[place] = vertex
        highest = _near(
            row_start, row_index, col_start, col_index, vertex, 1, score, first, before, behind,
            highest,
        )  # fmt: skip
        if place >= window:
            highest = _near(
                row_start, row_index, col_start, col_index, order[place - window], -1, score,
                first, before, behind, highest,
            )  # fmt: skip


ORDERS: dict[str, Callable[[csr_array], Ints]] = {
    "graph order": graph_order,
    "upper": upper,
    "Cuthill-McKee": cuthill_mckee,
}
"""Orders of vertices by their names in tables."""
