"""Products of sparse matrices row by row, in the order of MatRaptor's sums."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.result.outer import _check_stored, _ordered, sum_lines
from tilewright.sim.matraptor.result.rows import (
    Ints,
    _check_operands,
    place_rows,
    products_per_row,
    terms_of,
)
from tilewright.sim.numbers import semirings
from tilewright.sim.sparse.c2sr import C2sr, CsrPatterns, from_patterns, starts_of


def result_pointers(config: MatRaptorConfig, lengths: Ints, capacity: int) -> Ints:
    """Where in its channel the hardware writes each row of C, given the rows' lengths.

    Lanes that share a channel have a region of ``capacity`` entries each, one after the other.

    Raises
    ------
    ValueError if a row does not fit its region, or ``capacity`` is not a multiple of a block's
    entries.
    """
    pointers, region = place_rows(config, lengths, capacity)
    if len(region):
        raise ValueError(f"row {region[0]} must fit its lane's region of {capacity} entries")
    return pointers


def reference_product(a: C2sr, b: C2sr, semiring: str) -> CsrPatterns:
    """The product as it is defined: of every entry the terms ``a_ik (x) b_kj`` in the order of k,
    added one after the other, each sum rounded once. Structure is the hardware's; so are values,
    unless (+) rounds.

    Raises ValueError if the matrices do not fit each other.
    """
    _check_operands(a, b)
    row, fmt = SEMIRINGS[semiring], a.layout.format
    left, right = a.patterns(), b.patterns()
    per_row = products_per_row(left, right)
    which_a, which_b = terms_of(left, right, 0, a.shape[0])
    found = semirings.product(row, left.values[which_a], right.values[which_b], fmt, fmt)
    places = np.repeat(np.arange(a.shape[0]), per_row) * b.shape[1] + right.columns[which_b]
    # Stable, and products of a row come in the order of k.
    order = np.argsort(places, kind="stable")
    places, found = places[order], found[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    terms = np.diff(first, append=len(places))
    total = found[first]
    for n in range(1, int(terms.max(initial=1))):
        more = terms > n
        total[more] = semirings.combine(row, total[more], found[first[more] + n], fmt)
    rows, columns = np.divmod(places[first], max(1, b.shape[1]))
    lengths = np.bincount(rows, minlength=a.shape[0]).astype(np.int64)
    return CsrPatterns(starts_of(lengths), columns, total)


def by_rows(config: MatRaptorConfig, t: C2sr, rows: int) -> C2sr:
    """A, which has ``rows`` rows, of T.

    Raises ValueError if T is not of such a matrix.
    """
    _check_stored(config, t, rows)
    ordered = _ordered(config, t, rows, np.arange(t.shape[0] // config.lanes))
    return from_patterns(ordered, (rows, t.shape[0] // config.lanes), config.layout)


def fits(config: MatRaptorConfig, rows: int, columns: int) -> bool:
    """Whether a result of this shape can be summed on the chip."""
    lines = sum_lines(config, rows, columns)
    return columns <= config.queue_depth and int(lines.max()) <= config.queue_depth
