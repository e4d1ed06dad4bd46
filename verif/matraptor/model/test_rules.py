"""The golden model of MatRaptor, bit for bit against its rules written down once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.c2sr import VALUES
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.result.rows import SparseProduct, spgemm
from tilewright.sim.sparse.c2sr import C2sr, from_csr, to_csr
from tilewright.verif.c2sr.rows import NUMPY
from tilewright.verif.kit.sampling import cases
from tilewright.verif.matraptor.cases import DIVIDING, config, operands

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


pytestmark = pytest.mark.quick


@pytest.mark.parametrize("queues", range(3, 17))
def test_rules_for_every_number_of_queues(queues: int) -> None:
    rng = np.random.default_rng(4500 + queues)
    cfg = config(queues=queues)
    for rows, inner, cols, density in (
        (6, 40, 20, 0.6), (3, 60, 9, 1), (9, 9, 9, 0.2), (1, 50, 7, 1), (12, 50, 1, 0.7),
    ):  # fmt: skip
        _, _, a, b = operands(cfg, rng, rows, inner, cols, density)
        assert check_against_rules(cfg, a, b).c is not None


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_rules_for_every_semiring_and_format(semiring: str, value: str) -> None:
    rng = np.random.default_rng(4600)
    cfg = config(semiring=semiring, value=value, queues=4, lanes=4, channels=2)
    for density in (0.3, 1.0):
        a, b, _, _ = operands(cfg, rng, 7, 15, 9, density)
        if value == "int32" and semiring != "mma":
            # Sums must not saturate, because NumPy's wrap.
            a.data[:] = a.data // 2**18
            b.data[:] = b.data // 2**18
        check_against_rules(cfg, from_csr(a, cfg.layout), from_csr(b, cfg.layout))


@pytest.mark.parametrize("value", ["fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("semiring", ["mma", "minplus", "maxmul", "maxmin"])
def test_special_values(semiring: str, value: str) -> None:
    """Infinities, NaN, both zeros, subnormals, sums that overflow."""
    rng = np.random.default_rng(4700)
    cfg = config(semiring=semiring, value=value, queues=3)
    info = ml_dtypes.finfo(NUMPY[value])
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, float(info.max), -float(info.max),
               float(info.smallest_subnormal), float(info.tiny)]  # fmt: skip
    for share in (0.05, 0.8):
        a, b, _, _ = operands(cfg, rng, 12, 20, 8, 0.7)
        for x in (a, b):
            x.data = np.where(rng.random(x.nnz) < share, rng.choice(special, x.nnz), x.data)
        check_against_rules(cfg, from_csr(a, cfg.layout), from_csr(b, cfg.layout))


@settings(max_examples=cases(400), deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 25), st.integers(1, 12),
    st.floats(0, 1), st.integers(3, 6), st.integers(4, 12),
    st.sampled_from(DIVIDING),
)  # fmt: skip
def test_rules_and_overflow_for_any_shape(
    seed: int, rows: int, inner: int, cols: int, density: float, queues: int, depth: int,
    parallel: tuple[int, int],
) -> None:  # fmt: skip
    cfg = config(queues=queues, queue_depth=depth, lanes=parallel[0], channels=parallel[1])
    _, _, a, b = operands(cfg, np.random.default_rng(seed), rows, inner, cols, density)
    check_against_rules(cfg, a, b)


def test_a_queue_takes_its_depth_and_not_one_more() -> None:
    """Appended whole, merged side by side, and merged on the same columns."""
    cfg = config(queues=3, queue_depth=4)
    for columns, fits in (
        ([range(4)], True),
        ([range(5)], False),
        ([range(4), range(4, 8), [0, 1, 2, 3]], True),
        ([[0], [5, 6], [1, 2, 3]], True),
        ([[0], [5, 6], [1, 2, 3, 4]], False),
        ([range(4), range(4), [0, 1, 2, 4]], False),
    ):
        dense = np.zeros((len(columns), 9))
        for k, row in enumerate(columns):
            dense[k, list(row)] = 1
        a = from_csr(sp.csr_array(np.ones((1, len(columns)))), cfg.layout)
        found = check_against_rules(cfg, a, from_csr(sp.csr_array(dense), cfg.layout))
        assert found.overflow.tolist() == ([] if fits else [0])


def test_few_partial_rows_are_added_by_the_tree() -> None:
    """Adds up to nine terms in ten queues as NumPy's float32 sums do in the tree's order."""
    rng = np.random.default_rng(4800)
    cfg = config()
    for degree in range(1, 10):
        a = rng.standard_normal((50, degree)).astype(np.float32)
        b = rng.standard_normal((degree, 40)).astype(np.float32)
        found = spgemm(cfg, from_csr(sp.csr_array(a), cfg.layout), from_csr(sp.csr_array(b),
                       cfg.layout))  # fmt: skip
        terms = [a[:, k : k + 1] * b[k] for k in range(degree)]
        while len(terms) > 1:
            terms = [sum(terms[n + 1 : n + 2], terms[n]) for n in range(0, len(terms), 2)]
        assert found.c is not None
        assert np.array_equal(to_csr(found.c).toarray(), terms[0])
        assert found.statistics.merge_steps == 0
        assert found.statistics.pops == degree * 50 * 40


def test_long_chains_of_sums() -> None:
    """A dot product of 3000 terms: levels by the hundred."""
    rng = np.random.default_rng(4900)
    for queues in (3, 10):
        cfg = config(queues=queues)
        _, _, a, b = operands(cfg, rng, 1, 3000, 1, 1)
        found = check_against_rules(cfg, a, b)
        assert found.statistics.merge_steps == 3000 - (queues - 1)
