"""The golden model of MatRaptor: against SciPy and GraphBLAS, and bit for bit against its rules
written down here once more, in plain Python and with NumPy's scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import graphblas as gb
import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.matraptor import VALUES, MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim import matraptor
from tilewright.sim.c2sr import C2sr, from_csr, to_csr
from tilewright.sim.c2sr_image import Read, from_image, image, image_sizes
from tilewright.sim.matraptor import (
    SparseProduct,
    least_capacity,
    reference_product,
    result_pointers,
    spgemm,
)
from tilewright.verif.kit.sampling import cases, slow_but

NUMPY: dict[str, Any] = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "int32": np.int32,
}
NAN = {"fp16": 0x7E00, "bf16": 0x7FC0, "fp32": 0x7FC00000, "fp64": 0x7FF8 << 48}
DIVIDING = [(n, m) for n in range(1, 17) for m in range(1, 17) if n % m == 0 or m % n == 0]
"""Lanes and channels of which one divides the other."""


def config(**settings: Any) -> MatRaptorConfig:
    return MatRaptorConfig(**{"data_bits": 128, **settings})


def some_matrix(
    rng: np.random.Generator, rows: int, cols: int, density: float, value: str = "fp32"
) -> Any:
    """Rows of different lengths, some empty; numbers whose sums round, some of them zeros."""
    kept = rng.random((rows, cols)) < density * rng.choice([0, 0.5, 1, 1.5], (rows, 1))
    if density == 1:
        kept[:] = True
    r, c = np.nonzero(kept)
    if value == "int32":
        data: npt.NDArray[Any] = rng.integers(-(2**31), 2**31, len(r))
    else:
        spread = 2.0 ** rng.integers(-4, 5, len(r))
        data = (rng.standard_normal(len(r)) * spread).astype(NUMPY[value]).astype(np.float64)
    data[rng.random(len(data)) < 0.05] = 0
    return sp.csr_array((data, (r, c)), shape=(rows, cols))


def operands(
    cfg: MatRaptorConfig, rng: np.random.Generator, rows: int, inner: int, cols: int, density: float
) -> tuple[Any, Any, C2sr, C2sr]:
    a = some_matrix(rng, rows, inner, density, cfg.value)
    b = some_matrix(rng, inner, cols, density, cfg.value)
    return a, b, from_csr(a, cfg.layout), from_csr(b, cfg.layout)


# The rules once more.


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
            # Where sums do not saturate: NumPy's wrap.
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
    """Up to nine terms in ten queues: float32 sums of NumPy in the tree's order."""
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


SHAPES = [
    (1, 1, 1), (1, 300, 1), (300, 1, 300), (1, 50, 200), (200, 50, 1), (40, 60, 80), (97, 97, 97),
]  # fmt: skip


def scipy_structure(a: Any, b: Any) -> Any:
    """Which entries the product has: counts of terms, which never cancel."""
    ones = [sp.csr_array((np.ones(x.nnz, np.int64), x.indices, x.indptr), shape=x.shape)
            for x in (a, b)]  # fmt: skip
    found = ones[0] @ ones[1]
    found.sort_indices()
    return found


@pytest.mark.parametrize("value", ["fp64", "fp32", "int32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_products_are_scipys(shape: tuple[int, int, int], value: str) -> None:
    rng = np.random.default_rng(5000)
    rows, inner, cols = shape
    cfg = config(value=value, queues=10, lanes=4, channels=8)
    for density in (0, 0.01, 0.1, 0.5, 1):
        a, b, left, right = operands(cfg, rng, rows, inner, cols, density)
        found = spgemm(cfg, left, right)
        assert found.c is not None
        c, structure = to_csr(found.c), scipy_structure(a, b)
        assert c.shape == (rows, cols)
        assert np.array_equal(c.indptr, structure.indptr)
        assert np.array_equal(c.indices, structure.indices)
        assert found.statistics.products == structure.data.sum()
        if value == "int32":
            exact = (a.astype(np.int64) @ b.astype(np.int64)).toarray()
            assert np.array_equal(c.toarray(), exact.astype(np.uint32).view(np.int32))
        else:
            slack = abs(a) @ abs(b) * float(np.finfo(NUMPY[value]).eps) * (inner + 1)
            assert (np.abs(c.toarray() - (a @ b).toarray()) <= slack.toarray()).all()


def test_zeros_that_arise_stay_entries() -> None:
    cfg = config()
    a = from_csr(sp.csr_array([[1.0, 1.0], [0.0, 2.0]]), cfg.layout)
    b = from_csr(sp.csr_array([[3.0], [-3.0]]), cfg.layout)
    found = spgemm(cfg, a, b).c
    assert found is not None
    assert found.lengths.tolist() == [1, 1]
    assert to_csr(found).data.tolist() == [0.0, -6.0]


GRAPHBLAS = {
    "mma": gb.semiring.plus_times,
    "minplus": gb.semiring.min_plus,
    "maxplus": gb.semiring.max_plus,
    "minmul": gb.semiring.min_times,
    "maxmul": gb.semiring.max_times,
    "minmax": gb.semiring.min_max,
    "maxmin": gb.semiring.max_min,
    "orand": gb.semiring.lor_land,
}


def graphblas_product(name: str, a: Any, b: Any) -> Any:
    """By SuiteSparse. addnorm is made of four sums, exact for small integers only."""
    if name == "addnorm":
        squares = [x.copy() for x in (a, b)]
        ones = [x.copy() for x in (a, b)]
        for x in squares:
            x.data = x.data**2
        for x in ones:
            x.data = np.ones_like(x.data)
        twice = a.copy()
        twice.data = -2 * twice.data
        terms = ((squares[0], ones[1]), (ones[0], squares[1]), (twice, b))
        parts = [graphblas_product("mma", *term) for term in terms]
        parts[0].data = sum(part.data for part in parts)
        return parts[0]
    both = [gb.Matrix.from_csr(x.indptr, x.indices, x.data, ncols=x.shape[1]) for x in (a, b)]
    indptr, indices, data = both[0].mxm(both[1], GRAPHBLAS[name]).new().to_csr()
    return sp.csr_array((data, indices, indptr), shape=(a.shape[0], b.shape[1]))


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("value", VALUES)
def test_semirings_are_graphblas(semiring: str, value: str) -> None:
    """Small integers, exact in every format: structure and values."""
    rng = np.random.default_rng(5100)
    cfg = config(semiring=semiring, value=value, queues=5)
    dtype = np.int32 if value == "int32" else np.float64
    for rows, inner, cols in SHAPES:
        for density in (0.05, 0.3):
            a, b = (some_matrix(rng, *shape, density) for shape in ((rows, inner), (inner, cols)))
            for x in (a, b):
                x.data = rng.integers(-2, 3, x.nnz).astype(dtype)
            found = spgemm(cfg, from_csr(a, cfg.layout), from_csr(b, cfg.layout))
            assert found.c is not None
            c, expected = to_csr(found.c), graphblas_product(semiring, a, b)
            assert np.array_equal(c.indptr, expected.indptr)
            assert np.array_equal(c.indices, expected.indices)
            assert np.array_equal(c.data, expected.data)


@pytest.mark.parametrize("semiring", [name for name in GRAPHBLAS if name != "mma"])
@pytest.mark.parametrize("value", ["fp32", "fp64"])
def test_semirings_of_any_numbers_are_graphblas(semiring: str, value: str) -> None:
    """Where only (x) rounds, any numbers give the same bits."""
    rng = np.random.default_rng(5200)
    cfg = config(semiring=semiring, value=value)
    a, b, left, right = operands(cfg, rng, 120, 90, 150, 0.2)
    found = spgemm(cfg, left, right)
    assert found.c is not None
    expected = graphblas_product(semiring, a.astype(NUMPY[value]), b.astype(NUMPY[value]))
    c = to_csr(found.c)
    assert np.array_equal(c.indices, expected.indices)
    assert np.array_equal(c.data, expected.data.astype(NUMPY[value]))
    plain = reference_product(left, right, semiring)
    got = found.c.patterns()
    for part in ("starts", "columns", "values"):
        assert np.array_equal(getattr(plain, part), getattr(got, part))


def test_plain_reference_is_numpys() -> None:
    """Terms in the order of k, one after the other, in float32."""
    rng = np.random.default_rng(5300)
    cfg = config()
    a = rng.standard_normal((20, 70)).astype(np.float32)
    b = rng.standard_normal((70, 30)).astype(np.float32)
    total = a[:, :1] * b[0]
    for k in range(1, 70):
        total = total + a[:, k : k + 1] * b[k]
    found = reference_product(
        from_csr(sp.csr_array(a), cfg.layout), from_csr(sp.csr_array(b), cfg.layout), "mma"
    )
    assert found.starts.tolist() == list(range(0, 601, 30))
    assert found.columns.tolist() == list(range(30)) * 20
    assert np.array_equal(found.values, total.reshape(-1).view(np.uint32))


def reader(memory: bytes) -> Read:
    return lambda address, count: memory[address : address + count]


def walk(lanes: int, channels: int, rows: int, lane: int, block_pairs: int) -> list[int]:
    """A lane's rows in the order in which the hardware comes to them."""
    mine = [c for c in range(channels) if c % lanes == lane] if channels > lanes else [
        lane % channels
    ]  # fmt: skip
    sharing = max(1, lanes // channels)
    found = []
    for block in range(0, -(-rows // channels), block_pairs):
        for channel in mine:
            for index in range(block, block + block_pairs):
                row = index * channels + channel
                if index % sharing == lane // channels % sharing and row < rows:
                    found.append(row)
    return found


def slow_pointers(
    cfg: MatRaptorConfig, lengths: list[int], capacity: int
) -> tuple[dict[int, int], list[int]]:
    """Each lane goes through its rows; rows from the first in a region that does not fit have no
    pointer."""
    pointers: dict[int, int] = {}
    wrong = []
    for lane in range(cfg.lanes):
        filled: dict[int, int] = {}
        full = set()
        rows = walk(cfg.lanes, cfg.channels, len(lengths), lane, cfg.layout.block_pairs)
        assert sorted(rows) == list(range(lane, len(lengths), cfg.lanes))
        for row in rows:
            channel = row % cfg.channels
            place = filled.get(channel, 0)
            if place + lengths[row] > capacity:
                if channel not in full:
                    wrong.append(row)
                full.add(channel)
            if channel not in full:
                pointers[row] = lane // cfg.channels * capacity + place
            filled[channel] = place + lengths[row]
    return pointers, sorted(wrong)


@pytest.mark.parametrize("parallel", slow_but([(8, 8), (4, 2), (3, 6), (1, 1)], DIVIDING))
def test_pointers_and_regions(parallel: tuple[int, int]) -> None:
    """Where rows are, by walking the lanes; through memory; and what does not fit."""
    rng = np.random.default_rng(5400)
    lanes, channels = parallel
    cfg = config(lanes=lanes, channels=channels, queues=4)
    block = cfg.layout.block_entries
    for rows in (1, 7, 70):
        a, b, left, right = operands(cfg, rng, rows, 30, 25, 0.2)
        found = spgemm(cfg, left, right)
        lengths = found.lengths.tolist()
        least = least_capacity(cfg, found.lengths)
        expected, wrong = slow_pointers(cfg, lengths, least)
        assert not wrong
        assert slow_pointers(cfg, lengths, least - block)[1] or least == block
        assert found.c is not None
        assert found.c.pointers.tolist() == [expected[row] for row in range(rows)]
        assert result_pointers(cfg, found.lengths, least).tolist() == found.c.pointers.tolist()
        wide = spgemm(cfg, left, right, capacity=least + 5 * block).c
        assert wide is not None
        wanted = slow_pointers(cfg, lengths, least + 5 * block)[0]
        assert wide.pointers.tolist() == [wanted[row] for row in range(rows)]

        entries_base = image_sizes(wide)[0]
        memory = b"".join(
            part.data.tobytes() for part in image(wide, pairs_base=0, entries_base=entries_base)
        )
        again = from_image(
            reader(memory), cfg.layout, wide.shape, pairs_base=0, entries_base=entries_base
        )
        assert again.same_as(wide)
        assert np.array_equal(to_csr(again).indices, scipy_structure(a, b).indices)

        for capacity in range(block, least, block):
            short = spgemm(cfg, left, right, capacity=capacity)
            assert short.c is None
            assert short.region.tolist() == slow_pointers(cfg, lengths, capacity)[1]
            assert np.array_equal(short.lengths, found.lengths)


def test_products_of_each_lane() -> None:
    rng = np.random.default_rng(5500)
    cfg = config(lanes=3, channels=3)
    a, b, left, right = operands(cfg, rng, 31, 20, 20, 0.4)
    expected = [0, 0, 0]
    for row in range(31):
        for k in a.indices[a.indptr[row] : a.indptr[row + 1]]:
            expected[row % 3] += int(b.indptr[k + 1] - b.indptr[k])
    found = spgemm(cfg, left, right).statistics.lane_products
    assert found.tolist() == expected


def test_parts_of_the_work_are_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5600)
    cfg = config(queues=4)
    _, _, a, b = operands(cfg, rng, 60, 40, 50, 0.4)
    whole = spgemm(cfg, a, b)
    monkeypatch.setattr(matraptor, "_CHUNK", 100)
    monkeypatch.setattr(matraptor, "_PIECE", 7)
    parts = spgemm(cfg, a, b)
    assert whole.c is not None
    assert parts.c is not None
    assert parts.c.same_as(whole.c)
    for name in ("products", "results", "merge_steps", "pops", "largest_queue"):
        assert getattr(parts.statistics, name) == getattr(whole.statistics, name)


def test_refusals() -> None:
    cfg = config()
    a = from_csr(sp.csr_array((3, 4)), cfg.layout)
    other = from_csr(sp.csr_array((4, 2)), config(value="fp16").layout)
    b = from_csr(sp.csr_array((4, 2)), cfg.layout)
    moved = from_csr(sp.csr_array((4, 2)), config(channels=4).layout)
    for call, message in (
        (lambda: spgemm(cfg, a, a), "`b` must have 4 rows, as `a` has columns, not 3"),
        (lambda: spgemm(cfg, a, other), "`b` must be of fp32 as `a`, not fp16"),
        (lambda: reference_product(a, other, "mma"), "`b` must be of fp32 as `a`, not fp16"),
        (lambda: spgemm(cfg, a, moved),
         f"`b` must be laid out as {cfg.layout}, not {moved.layout}"),
        (lambda: spgemm(cfg, a, b, capacity=12),
         "`capacity` must be a positive multiple of 8, not 12"),
        (lambda: spgemm(cfg, a, b, capacity=0),
         "`capacity` must be a positive multiple of 8, not 0"),
        (lambda: result_pointers(cfg, np.array([3, 9]), 8),
         "row 1 must fit its lane's region of 8 entries"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".") as caught:
            call()
        assert str(caught.value) == message


def test_empty_operands() -> None:
    cfg = config()
    for rows, inner, cols in ((0, 3, 3), (3, 0, 3), (3, 3, 0), (5, 5, 5), (0, 0, 0)):
        a = from_csr(sp.csr_array((rows, inner)), cfg.layout)
        b = from_csr(sp.csr_array((inner, cols)), cfg.layout)
        found = spgemm(cfg, a, b)
        assert found.c is not None
        assert (found.c.shape, found.c.nnz) == ((rows, cols), 0)
        assert found.statistics.products == found.statistics.largest_queue == 0
        assert reference_product(a, b, "mma").starts.tolist() == [0] * (rows + 1)


@pytest.mark.slow
def test_millions_of_products() -> None:
    """A power-law matrix, squared, in parts; structure and values as SciPy's."""
    rng = np.random.default_rng(5700)
    size = 40_000
    lengths = np.minimum(rng.zipf(1.7, size), 600) + 2
    rows = np.repeat(np.arange(size), lengths)
    hubs = (size * rng.random(len(rows)) ** 2).astype(np.int64)
    matrix = sp.csr_array((rng.standard_normal(len(rows)), (rows, hubs)), shape=(size, size))
    cfg = config(value="fp64", queue_depth=65536)
    operand = from_csr(matrix, cfg.layout)
    found = spgemm(cfg, operand, operand)
    assert found.c is not None
    structure = scipy_structure(matrix, matrix)
    assert found.statistics.products == structure.data.sum() > 5_000_000
    c = to_csr(found.c)
    assert np.array_equal(c.indptr, structure.indptr)
    assert np.array_equal(c.indices, structure.indices)
    expected, slack = matrix @ matrix, abs(matrix) @ abs(matrix)
    expected.sort_indices()
    slack.sort_indices()
    assert len(expected.data) == len(c.data)
    assert (np.abs(c.data - expected.data) <= slack.data * 2.0**-52 * 1000).all()
