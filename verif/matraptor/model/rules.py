"""The rules of MatRaptor's golden model once more, in plain Python with NumPy's scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.result.rows import SparseProduct, spgemm
from tilewright.sim.sparse.c2sr import C2sr
from tilewright.verif.c2sr.rows import NUMPY

__all__ = ["check_against_rules"]

NAN = {"fp16": 0x7E00, "bf16": 0x7FC0, "fp32": 0x7FC00000, "fp64": 0x7FF8 << 48}


def smaller(x: Any, y: Any) -> Any:
    if np.isnan(x) or np.isnan(y):
        return x if np.isnan(x) else y
    return x if x < y or (x == y and np.signbit(x)) else y


def larger(x: Any, y: Any) -> Any:
    if np.isnan(x) or np.isnan(y):
        return x if np.isnan(x) else y
    return x if x > y or (x == y and not np.signbit(x)) else y


PLUS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "min": smaller,
    "max": larger,
    "or": lambda x, y: type(x)(bool(x) or bool(y)),
}
TIMES: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "min": smaller,
    "max": larger,
    "and": lambda x, y: type(x)(bool(x) and bool(y)),
    "square_difference": lambda x, y: (x - y) * (x - y),
}


class SlowRow(NamedTuple):
    entries: list[tuple[int, Any]]
    merge_steps: int
    pops: int
    largest: int


def slow_row(partial_rows: list[list[tuple[int, Any]]], queues: int, plus: Any) -> SlowRow:
    """One row of C by the queues, as lists; nothing limits their length."""
    held: list[list[tuple[int, Any]]] = [[] for _ in range(queues)]
    written = dict.fromkeys(range(queues), -1)
    helper, steps, largest = queues - 1, 0, 0
    for number, partial in enumerate(row for row in partial_rows if row):
        target = number
        if number >= queues - 1:
            primary = [queue for queue in range(queues) if queue != helper]
            source = min(primary, key=lambda queue: (len(held[queue]), written[queue]))
            merged = dict(held[source])
            for column, value in partial:
                merged[column] = plus(merged[column], value) if column in merged else value
            partial = sorted(merged.items())
            steps += len(partial)
            held[source] = []
            target, helper = helper, source
        held[target], written[target] = partial, number
        largest = max(largest, len(partial))
    width = 1 << (queues - 1).bit_length()
    tables = [dict(entries) for entries in held] + [{}] * (width - queues)

    def tree(low: int, high: int, column: int) -> Any:
        if high - low == 1:
            return tables[low].get(column)
        middle = (low + high) // 2
        x, y = tree(low, middle, column), tree(middle, high, column)
        return (x if y is None else y) if x is None or y is None else plus(x, y)

    columns = sorted({column for entries in held for column, _ in entries})
    found = [(column, tree(0, width, column)) for column in columns]
    return SlowRow(found, steps, sum(map(len, held)), largest)


def scalars(values: list[int], name: str) -> list[Any]:
    size = np.dtype(NUMPY[name]).itemsize
    return list(np.array(values, np.uint64).astype(f"u{size}").view(NUMPY[name]))


def slow_rows(cfg: MatRaptorConfig, a: C2sr, b: C2sr) -> list[SlowRow]:
    semiring = SEMIRINGS[cfg.semiring]
    plus, times = PLUS[semiring.plus], TIMES[semiring.times]
    left, right = a.patterns(), b.patterns()
    values_a = scalars(left.values.tolist(), cfg.value)
    values_b = scalars(right.values.tolist(), cfg.value)
    rows_b = [
        list(zip(right.columns[first:end].tolist(), values_b[first:end], strict=True))
        for first, end in zip(right.starts[:-1], right.starts[1:], strict=True)
    ]
    found = []
    with np.errstate(all="ignore"):
        for first, end in zip(left.starts[:-1], left.starts[1:], strict=True):
            partial_rows = [
                [(column, times(values_a[entry], value)) for column, value in rows_b[k]]
                for entry, k in enumerate(left.columns[first:end].tolist(), first)
            ]
            found.append(slow_row(partial_rows, cfg.queues, plus))
    return found


def pattern(value: Any, name: str) -> int:
    if name != "int32" and np.isnan(value):
        return NAN[name]
    bits = np.array([value]).view(f"u{np.dtype(NUMPY[name]).itemsize}")
    return int(bits[0])


def check_against_rules(cfg: MatRaptorConfig, a: C2sr, b: C2sr) -> SparseProduct:
    """Entries, patterns and statistics; or, if a row does not fit, which rows do not."""
    found = spgemm(cfg, a, b)
    rows = slow_rows(cfg, a, b)
    fits = [row.largest <= cfg.queue_depth for row in rows]
    assert found.overflow.tolist() == [n for n, fit in enumerate(fits) if not fit]
    kept = [row for row, fit in zip(rows, fits, strict=True) if fit]
    assert found.statistics.merge_steps == sum(row.merge_steps for row in kept)
    assert found.statistics.pops == sum(row.pops for row in kept)
    assert found.statistics.results == sum(len(row.entries) for row in kept)
    lengths = [len(row.entries) if fit else 0 for row, fit in zip(rows, fits, strict=True)]
    assert found.lengths.tolist() == lengths
    largest = max((row.largest for row in rows), default=0)
    assert found.statistics.largest_queue == min(largest, cfg.queue_depth)
    assert (found.c is None) == (not all(fits))
    if found.c is not None:
        c = found.c.patterns()
        assert c.columns.tolist() == [column for row in rows for column, _ in row.entries]
        expected = [pattern(value, cfg.value) for row in rows for _, value in row.entries]
        assert c.values.tolist() == expected
    return found
