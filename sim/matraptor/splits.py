"""Jobs for a product of which rows may not fit the queues of a MatRaptor.

Rows that surely fit go into one job. All others are tried in a second one, the longest first, so
that it ends early if one does not fit. Then each is computed in ranges of columns, as many as it
needs, a power of two. A job with a range reads whole rows of B. So if many products are at stake
the accelerator first makes a part of B for each of some ranges, by a job too: the identity times B
in that range. Ranges have about equal numbers of products.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import PAIR_BYTES
from ...hw.spec.formats import FloatFormat
from ...hw.spec.matraptor import MatRaptorConfig
from ..numbers.values import encode
from ..sparse.c2sr import CsrPatterns, starts_of
from ..sparse.csr_image import take_rows
from ..timing.compiled import allocating, compiled

__all__ = [
    "Part",
    "RangeJob",
    "check_columns",
    "fitting",
    "identity_rows",
    "most_entries",
    "parts_of",
    "products_in",
    "sure_rows",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Columns = tuple[int, int]

_MOST_RANGES = 64
"""Of equal numbers of products; a row that does not fit one gets ranges of as many columns as a
queue has places."""


class RangeJob(NamedTuple):
    """A job of some rows of A, by their numbers, in a range of columns, begin and end."""

    rows: Ints
    columns: Columns


class Part(NamedTuple):
    """Jobs in a range of columns. ``copied``: the A of a job that first makes a part of B, for all
    of them to read, see `identity_rows`; None: they read B itself. ``trial``: its job may overflow;
    if it does not, no part after it is needed."""

    columns: Columns
    copied: CsrPatterns | None
    jobs: list[RangeJob]
    trial: bool = False


@compiled
def _fit(
    a_starts: Any, a_columns: Any, lengths: Any, first: Any, last: Any, sizes: Any,
    depth: int, shared: bool, fits: Any,
) -> None:  # fmt: skip
    """Which rows fit; see `fitting`. ``sizes``: room for the entries of the primary queues."""
    for row in range(len(fits)):
        low, high = np.int64(1) << 62, np.int64(-1)
        for entry in range(a_starts[row], a_starts[row + 1]):
            source = a_columns[entry]
            if lengths[source] > 0:
                low, high = min(low, first[source]), max(high, last[source])
        width = float(high - low + 1)
        sizes[:] = 0.0
        fits[row] = True
        for entry in range(a_starts[row], a_starts[row + 1]):
            added = float(lengths[a_columns[entry]])
            if added == 0:
                continue
            # Empty ones come first, in order.
            queue = np.argmin(sizes)
            both = sizes[queue] * added / width if shared else 0.0
            sizes[queue] = min(width, sizes[queue] + added - both)
            if sizes[queue] > depth:
                fits[row] = False
                break


def fitting(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, inside: tuple[Ints, Ints],
    *, likely: bool = False,
) -> Bools:  # fmt: skip
    """Returns which rows of A fit the queues whatever the columns are: no queue can get more than
    its depth, by the numbers of entries and the columns that they lie between.

    With ``likely`` as many of two partial rows meet as would if their columns were random.

    Parameters
    ----------
    inside: where the entries of each row of B in the range of columns begin and end
    """
    begins, ends = inside
    lengths = ends - begins
    columns = np.append(b.columns, 0)
    first, last = columns[begins], columns[np.maximum(ends, 1) - 1]
    fits = np.zeros(len(a.starts) - 1, np.bool_)
    sizes = np.zeros(config.queues - 1)
    depth = config.queue_depth
    _fit(a.starts, a.columns, lengths, first, last, sizes, depth, likely, fits)
    return fits


def inside_of(b: CsrPatterns, columns: Columns) -> tuple[Ints, Ints]:
    """Where the entries of each row in a range of columns begin and end."""
    if columns[0] <= 0 and b.columns.max(initial=0) < columns[1]:
        return b.starts[:-1], b.starts[1:]
    begins, ends = (
        b.starts[:-1] + np.diff(starts_of((b.columns < column).astype(np.int64))[b.starts])
        for column in columns
    )
    return begins, ends


def sure_rows(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, columns: Columns
) -> tuple[Bools, bool]:
    """Returns which rows fit the queues in any case, and whether all others are likely to."""
    inside = inside_of(b, columns)
    sure = _sums(a, inside[1] - inside[0]) <= config.queue_depth
    rest = np.flatnonzero(~sure)
    sure[rest] = fitting(config, take_rows(a, rest), b, inside)
    others = take_rows(a, ~sure)
    return sure, bool(fitting(config, others, b, inside, likely=True).all())


def _sums(a: CsrPatterns, lengths: Ints) -> Ints:
    """Adds a number of each row of B over the entries of each row of A."""
    sums = starts_of(lengths[a.columns])[a.starts]
    return np.diff(sums)


def products_in(a: CsrPatterns, b: CsrPatterns, columns: Columns) -> Ints:
    """Returns the most entries that each row of the product can have in a range of columns."""
    begins, ends = inside_of(b, columns)
    return np.minimum(_sums(a, ends - begins), columns[1] - columns[0])


def identity_rows(config: MatRaptorConfig, chosen: Bools) -> CsrPatterns | None:
    """Returns A such that ``A (x) B`` has the chosen rows of B and no others; None if nothing
    leaves the other operand of (x) as it is."""
    times, fmt = config.operators.times, config.format
    one: int | None
    if times in ("mul", "and"):
        one = int(encode([1], fmt)[0])
    elif times in ("min", "max"):
        one = fmt.constant("+inf" if times == "min" else "-inf")
    else:
        # The sum of two zeros is negative only if both are.
        negative = 1 << fmt.bits - 1 if isinstance(fmt, FloatFormat) else 0
        one = negative if times == "add" else None
    if one is None:
        return None
    columns = np.flatnonzero(chosen).astype(np.int64)
    values = np.full(len(columns), one, np.uint64)
    return CsrPatterns(starts_of(chosen.astype(np.int64)), columns, values)


def _bounds(a: CsrPatterns, b: CsrPatterns, columns: Columns, ranges: int) -> list[int]:
    """Cuts a range of columns into parts with about as many products."""
    low, high = columns
    uses = np.bincount(a.columns, minlength=len(b.starts) - 1)
    each = np.repeat(uses, np.diff(b.starts)).astype(np.float64)
    kept = np.flatnonzero((b.columns >= low) & (b.columns < high))
    kept = kept[np.argsort(b.columns[kept], kind="stable")]
    upto = np.cumsum(each[kept])
    marks = upto[-1] * np.arange(1, ranges) / ranges
    return [low, *(b.columns[kept[np.searchsorted(upto, marks)]] + 1).tolist(), high]


@allocating
def _ends(b_starts: Any, b_columns: Any, bounds: Any) -> Any:
    """Where the columns of each row reach each bound: (rows, bounds)."""
    found = np.empty((len(b_starts) - 1, len(bounds)), np.int64)
    for row in range(len(found)):
        entry = b_starts[row]
        for place in range(len(bounds)):
            while entry < b_starts[row + 1] and b_columns[entry] < bounds[place]:
                entry += 1
            found[row, place] = entry
    return found


class _Classes(NamedTuple):
    """Rows by the ranges that they need: ``ranges`` of them -> rows, and those ranges' bounds.
    ``narrow``: rows that need more."""

    rows: dict[int, Ints]
    bounds: dict[int, list[int]]
    narrow: Ints


def _classes(config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, columns: Columns) -> _Classes:
    bounds: dict[int, list[int]] = {}
    found: dict[int, Ints] = {}
    finest = _bounds(a, b, columns, _MOST_RANGES)
    ranges, rows = 2, np.arange(len(a.starts) - 1)
    while len(rows) and ranges <= _MOST_RANGES:
        some = take_rows(a, rows)
        bounds[ranges] = finest[:: _MOST_RANGES // ranges]
        ends = _ends(b.starts, b.columns, np.array(bounds[ranges], np.int64))
        fits = np.ones(len(rows), np.bool_)
        for place in range(ranges):
            fits &= fitting(config, some, b, (ends[:, place].copy(), ends[:, place + 1].copy()))
        if fits.any():
            found[ranges] = rows[fits]
        rows = rows[~fits]
        ranges *= 2
    return _Classes(found, bounds, rows)


def _dealt(config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, rows: Ints) -> Ints:
    """Orders rows such that all lanes have about as much to do: those with the most products and
    merges first, to the lanes in turn, every second time from the last lane on."""
    some = take_rows(a, rows)
    merges = 1 + np.diff(some.starts) / (2 * config.queues - 2)
    work = _sums(some, np.diff(b.starts)) * merges
    order = rows[np.argsort(-work, kind="stable")]
    for begin in range(config.lanes, len(rows) - config.lanes + 1, 2 * config.lanes):
        order[begin : begin + config.lanes] = order[begin : begin + config.lanes][::-1].copy()
    return order


def _bytes(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, classes: _Classes, parts: int,
    rows_of_b: int,
) -> float:  # fmt: skip
    """About how many bytes are moved if B is first divided into so many parts; 1: it is not.
    ``rows_of_b``: all, those that are not used too."""
    entry, block = config.layout.entry_bytes, config.interleave
    total = 0.0
    if parts > 1:
        total += parts * ((len(b.starts) - 1) * (2 * block + entry) + 2 * rows_of_b * PAIR_BYTES)
        total += (parts + 1) * len(b.columns) * entry
    products = _sums(a, np.diff(b.starts))
    for ranges, rows in classes.rows.items():
        pairs = int(np.diff(a.starts)[rows].sum()) * 2 * block
        read = int(products[rows].sum()) * entry
        total += read * max(1, ranges // parts) + pairs * max(ranges, parts)
    return total


def parts_of(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, columns: Columns, sure: Bools,
    *, trial: bool = False,
) -> list[Part]:  # fmt: skip
    """Returns the jobs of a product of which only the ``sure`` rows fit the queues in any case;
    ``trial``: the others are not known to need ranges."""
    heavy = np.flatnonzero(~sure)
    parts = []
    if sure.any():
        parts.append(Part(columns, None, [RangeJob(np.flatnonzero(sure), columns)]))
    # From here on the other rows alone, and of B those that they use.
    few = take_rows(a, heavy)
    used = np.zeros(len(b.starts) - 1, np.bool_)
    used[few.columns] = True
    few = few._replace(columns=(np.cumsum(used) - 1)[few.columns])
    source = take_rows(b, used)
    if trial:
        rows = heavy[_dealt(config, few, source, np.arange(len(heavy)))]
        parts.append(Part(columns, None, [RangeJob(rows, columns)], trial=True))
    classes = _classes(config, few, source, columns)
    choices, ones = [1], identity_rows(config, used)
    if ones is not None:
        choices += [count for count in classes.bounds if _copied(config, source, classes, count)]
    count = min(choices, key=lambda n: _bytes(config, few, source, classes, n, len(used)))
    dealt = {
        ranges: heavy[_dealt(config, few, source, rows)] for ranges, rows in classes.rows.items()
    }
    bounds = classes.bounds[count] if count > 1 else list(columns)
    for place in range(count):
        low, high = bounds[place], bounds[place + 1]
        jobs = []
        for ranges, rows in dealt.items():
            step = max(1, ranges // count)
            first = place * step
            cuts = classes.bounds[ranges][first : first + step + 1] if step > 1 else [low, high]
            jobs += [RangeJob(rows, cut) for cut in pairwise(cuts)]
        jobs = [job for job in jobs if job.columns[0] < job.columns[1]]
        if jobs:
            parts.append(Part((low, high), ones if count > 1 else None, jobs))
    if len(classes.narrow):
        rows = heavy[_dealt(config, few, source, classes.narrow)]
        cuts = _narrow_bounds(config, take_rows(few, classes.narrow), source, columns)
        parts.append(Part(columns, None, [RangeJob(rows, cut) for cut in pairwise(cuts)]))
    return parts


def _narrow_bounds(
    config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, columns: Columns
) -> list[int]:
    """Cuts a range of columns into parts in which no row of the product overflows a queue: each has
    as many columns with products as a queue has places."""
    used = np.zeros(len(b.starts) - 1, np.bool_)
    used[a.columns] = True
    found = np.unique(take_rows(b, used).columns)
    found = found[(found >= columns[0]) & (found < columns[1])]
    return [columns[0], *found[config.queue_depth :: config.queue_depth].tolist(), columns[1]]


def _copied(config: MatRaptorConfig, b: CsrPatterns, classes: _Classes, count: int) -> bool:
    """Whether rows of so many parts of B fit a queue, so that they can be made."""
    ends = _ends(b.starts, b.columns, np.array(classes.bounds[count], np.int64))
    return int(np.diff(ends, axis=1).max(initial=0)) <= config.queue_depth


def most_entries(a: CsrPatterns, b: CsrPatterns, cols: int) -> Ints:
    """Returns for each row of A the most entries that its row of the product can have."""
    products = starts_of(np.diff(b.starts)[a.columns])
    return np.minimum(products[a.starts[1:]] - products[a.starts[:-1]], cols)


def check_columns(columns: tuple[int, int], count: int, mode: str) -> None:
    """Raises TypeError or ValueError unless it is a range of ``count`` columns, by rows."""
    if mode != "rows":
        raise ValueError(f'`columns` must be None for mode "outer", not {columns}')
    if not (
        isinstance(columns, tuple)
        and len(columns) == 2
        and all(isinstance(column, SupportsIndex) for column in columns)
    ):
        raise TypeError(f"`columns` must be two integers, not {columns!r}")
    if not 0 <= columns[0] < columns[1] <= count:
        raise ValueError(f"`columns` must be a range within 0..{count}, not {columns}")
