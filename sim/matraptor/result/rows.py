"""Golden model of MatRaptor: ``C = A (x) B`` of sparse matrices, with the bits of the hardware.

Sums of floats depend on their order, so the model adds in the order of the sorting queues.

Source: MatRaptor, section on the row-wise product. Which of equally short queues is merged, and the
shape of the adder tree, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ....hw.spec.matraptor import MatRaptorConfig
from ...numbers import semirings
from ...numbers.values import Patterns
from ...sparse.c2sr import C2sr, CsrPatterns, from_patterns, run_indices, starts_of
from .queues import Expressions, merge_rows

Ints = npt.NDArray[np.int64]

_CHUNK = 1 << 22
"""Products of rows that are worked on at once, but for a longer row."""

_PIECE = 1 << 15
"""Values to compute at once: they stay in the processor's cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """Counts of the hardware's work, independent of its timing.

    Parameters
    ----------
    products: of an entry of A and one of B
    results: entries of C
    merge_steps: entries written while merging a partial row and a queue (phase I)
    pops: entries taken from the queues while they are merged into C (phase II)
    largest_queue: entries of the fullest queue at any time
    lane_products: (lanes,) products in each lane
    """

    products: int
    results: int
    merge_steps: int
    pops: int
    largest_queue: int
    lane_products: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseProduct:
    """The accelerator's result for A and B.

    Parameters
    ----------
    c: the result where the hardware leaves it, or None if the job ends with an error
    overflow: rows that do not fit the queues. Lanes run side by side: the hardware names one of
        them, the first of its lane
    region: rows that do not fit their lane's region of a channel, the first in each region
    lengths: (rows,) entries of each row of C, 0 for one that does not fit the queues
    statistics: without the steps, pops and results of rows that do not fit the queues
    """

    c: C2sr | None
    overflow: Ints
    region: Ints
    lengths: Ints
    statistics: Statistics


def spgemm(
    config: MatRaptorConfig, a: C2sr, b: C2sr, *, capacity: int | None = None
) -> SparseProduct:
    """The product of two matrices by the accelerator of ``config``.

    Parameters
    ----------
    a, b: in the layout of ``config``
    capacity: entries that each lane may write into each of its channels; by default as many as the
        result needs

    Raises
    ------
    ValueError if the matrices do not fit each other or ``config``, or ``capacity`` is not a
    multiple of a block's entries.
    """
    _check_operands(a, b)
    for name, operand in (("a", a), ("b", b)):
        if operand.layout != config.layout:
            raise ValueError(f"`{name}` must be laid out as {config.layout}, not {operand.layout}")
    left, right = a.patterns(), b.patterns()
    shape = a.shape[0], b.shape[1]
    products = starts_of(products_per_row(left, right))
    bounds = cut_rows(products)
    parts, values = [], []
    for first, last in pairwise(bounds):
        part = merge_rows(
            left.starts[first : last + 1], left.columns, right.starts, right.columns,
            queues=config.queues, depth=config.queue_depth,
        )  # fmt: skip
        found = multiply_terms(config, left, right, *terms_of(left, right, first, last))
        values.append(_evaluate(config, part, found))
        # Only the number of the sums is still needed.
        parts.append(part._replace(left=_NONE, right=_NONE, order=_NONE, terms=_NONE))
    lengths = np.concatenate([part.lengths for part in parts])
    fits = np.concatenate([part.fits for part in parts])
    overflow = np.flatnonzero(~fits)

    if capacity is None:
        capacity = least_capacity(config, lengths)
    pointers, region = place_rows(config, lengths, capacity)
    c = None
    if not len(overflow) and not len(region):
        columns = np.concatenate([part.columns for part in parts])
        rows = CsrPatterns(starts_of(lengths), columns, np.concatenate(values))
        c = from_patterns(rows, shape, config.layout, pointers=pointers)
    lanes = np.arange(shape[0]) % config.lanes
    statistics = Statistics(
        products=int(products[-1]),
        results=int(lengths.sum()),
        merge_steps=sum(part.merge_steps for part in parts),
        pops=sum(part.pops for part in parts),
        largest_queue=max(part.largest_queue for part in parts),
        lane_products=np.bincount(lanes, np.diff(products), config.lanes).astype(np.int64),
    )
    return SparseProduct(
        c=c, overflow=overflow, region=region, lengths=lengths, statistics=statistics
    )


def least_capacity(config: MatRaptorConfig, lengths: Ints) -> int:
    """The least ``capacity`` that holds rows of C of these lengths; a block at least."""
    groups = max(config.lanes, config.channels)
    most = max(int(lengths[group::groups].sum()) for group in range(groups))
    block = config.layout.block_entries
    return max(1, -(-most // block)) * block


_NONE: Ints = np.zeros(0, np.int64)


def _check_operands(a: C2sr, b: C2sr) -> None:
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"`b` must have {a.shape[1]} rows, as `a` has columns, not {b.shape[0]}")
    if a.layout.value != b.layout.value:
        raise ValueError(f"`b` must be of {a.layout.value} as `a`, not {b.layout.value}")


def products_per_row(a: CsrPatterns, b: CsrPatterns) -> Ints:
    """Products of each row of A."""
    per_entry = starts_of(np.diff(b.starts)[a.columns])
    return np.diff(per_entry[a.starts])


def cut_rows(products: Ints) -> list[int]:
    """Rows at which to cut, from the first to behind the last: about ``_CHUNK`` products a part."""
    rows = len(products) - 1
    marks = np.arange(_CHUNK, int(products[-1]), _CHUNK)
    cuts = np.unique(np.searchsorted(products, marks))
    return [0, *(int(cut) for cut in cuts if 0 < cut < rows), rows]


def terms_of(a: CsrPatterns, b: CsrPatterns, first: int, last: int) -> tuple[Ints, Ints]:
    """Entries of A and of B that are multiplied for rows ``first..last - 1``, in order."""
    entries = np.arange(a.starts[first], a.starts[last])
    begins = b.starts[a.columns[entries]]
    lengths = b.starts[a.columns[entries] + 1] - begins
    return np.repeat(entries, lengths), run_indices(begins, lengths)


def multiply_terms(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, which_a: Ints, which_b: Ints
) -> Patterns:
    """Products of entries of A with entries of B."""
    found = np.empty(len(which_a), np.uint64)
    for begin in range(0, len(found), _PIECE):
        piece = slice(begin, begin + _PIECE)
        found[piece] = semirings.product(
            config.operators, a.values[which_a[piece]], b.values[which_b[piece]],
            config.format, config.format,
        )  # fmt: skip
    return found


def _evaluate(config: MatRaptorConfig, rows: Expressions, products: Patterns) -> Patterns:
    """Values of the entries: sums of one level after those of the level before."""
    count = len(products)
    terms = np.concatenate([products, np.zeros(len(rows.left), np.uint64)])
    for level in range(len(rows.levels) - 1):
        for begin in range(rows.levels[level], rows.levels[level + 1], _PIECE):
            which = rows.order[begin : min(begin + _PIECE, rows.levels[level + 1])]
            terms[count + which] = semirings.combine(
                config.operators, terms[rows.left[which]], terms[rows.right[which]], config.format
            )
    found: Patterns = terms[rows.terms]
    return found


def place_rows(config: MatRaptorConfig, lengths: Ints, capacity: int) -> tuple[Ints, Ints]:
    """Pointers of C's rows, and the first row in each region that does not fit it."""
    block = config.layout.block_entries
    if capacity < 1 or capacity % block:
        raise ValueError(f"`capacity` must be a positive multiple of {block}, not {capacity}")
    pointers = np.zeros(len(lengths), np.int64)
    wrong: list[int] = []
    # Lanes or channels divides the other, so that this many rows on are lane and channel again.
    groups = max(config.lanes, config.channels)
    for group in range(groups):
        ends = np.cumsum(lengths[group::groups])
        region = group % config.lanes // config.channels * capacity
        pointers[group::groups] = region + ends - lengths[group::groups]
        full = np.flatnonzero(ends > capacity)
        wrong.extend((full[:1] * groups + group).tolist())
    return pointers, np.sort(np.array(wrong, np.int64))
