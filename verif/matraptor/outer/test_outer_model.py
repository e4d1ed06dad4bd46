"""The model of MatRaptor's outer products: against SciPy, fractions and its own rules written down
once more."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.c2sr import VALUES
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.cycles.traffic import bytes_read
from tilewright.sim.matraptor.result import outer as matraptor_outer
from tilewright.sim.matraptor.result import rows as matraptor
from tilewright.sim.matraptor.result.outer import (
    by_columns,
    outer_product,
    overflow_rows,
    sum_lines,
)
from tilewright.sim.matraptor.result.rows import least_capacity, spgemm
from tilewright.sim.sparse.c2sr import C2sr, from_csr, to_csr
from tilewright.verif.channels.lane_rows import walk
from tilewright.verif.kit.sampling import cases
from tilewright.verif.matraptor.cases import random_matrix
from tilewright.verif.matraptor.jobs import by_rows, fits, reference_product, result_pointers
from tilewright.verif.matraptor.outer.outer_cases import (
    MEMORY_BYTES,
    PARALLEL,
    config,
    in_walk_order,
    operands,
    product,
    random_outer,
    slow_bytes,
)

# A as it is stored


@pytest.mark.parametrize("parallel", PARALLEL)
def test_a_by_columns(parallel: tuple[int, int]) -> None:
    """Places every entry by the rule, and reads it back."""
    lanes, channels = parallel
    cfg = config(lanes=lanes, channels=channels)
    rng = np.random.default_rng(1)
    for rows, inner in ((1, 1), (7, 5), (40, 23), (3, 30), (0, 4), (4, 0)):
        a = random_matrix(rng, cfg, (rows, inner), 0.4)
        t = by_columns(cfg, a)
        assert t.shape == (inner * lanes, -(-rows // lanes))
        dense, stored = to_csr(a).tocoo(), to_csr(t).tocoo()
        expected = {
            (int(k) * lanes + int(i) % lanes, int(i) // lanes): v
            for i, k, v in zip(dense.row, dense.col, dense.data, strict=True)
        }
        places = zip(stored.row.tolist(), stored.col.tolist(), strict=True)
        assert dict(zip(places, stored.data, strict=True)) == expected
        assert by_rows(cfg, t, rows).same_as(a)


# Results


def slow_product(cfg: MatRaptorConfig, a: C2sr, b: C2sr) -> dict[tuple[int, int], Fraction | int]:
    """The sums of the products, exactly."""
    left, right = to_csr(a).tocoo(), to_csr(b)
    number = int if cfg.value == "int32" else Fraction
    found: dict[tuple[int, int], Any] = {}
    for i, k, x in zip(left.row.tolist(), left.col.tolist(), left.data.tolist(), strict=True):
        for place in range(right.indptr[k], right.indptr[k + 1]):
            key = i, int(right.indices[place])
            found[key] = found.get(key, 0) + number(x) * number(right.data[place].item())
    return found


@pytest.mark.parametrize("value", VALUES)
def test_sums_are_exact_where_nothing_is_rounded(value: str) -> None:
    """Structure and values, of small whole numbers and halves."""
    rng = np.random.default_rng(2)
    cfg = config(lanes=3, channels=3, value=value)
    for density in (0.05, 0.3, 1.0):
        mats = []
        for shape in ((20, 9), (9, 17)):
            kept = rng.random(shape) < density
            r, c = np.nonzero(kept)
            data = rng.integers(-3, 4, len(r)) * (1 if value == "int32" else 0.5)
            mats.append(from_csr(sp.csr_array((data, (r, c)), shape=shape), cfg.layout))
        c = to_csr(product(cfg, *mats)).tocoo()
        places = zip(c.row.tolist(), c.col.tolist(), strict=True)
        assert dict(zip(places, c.data.tolist(), strict=True)) == slow_product(cfg, *mats)


@pytest.mark.parametrize("value", ["int32", "fp64", "fp32"])
def test_products_are_scipys(value: str) -> None:
    rng = np.random.default_rng(3)
    for lanes, channels in PARALLEL:
        cfg = config(lanes=lanes, channels=channels, value=value)
        a, b = operands(rng, cfg, (30, 40, 25), 0.3)
        c = to_csr(product(cfg, a, b))
        x, y = to_csr(a), to_csr(b)
        wide = np.int64 if value == "int32" else np.float64
        exact = (x.astype(wide) @ y.astype(wide)).toarray()
        ones = [sp.csr_array((np.ones(m.nnz, int), m.indices, m.indptr), m.shape) for m in (x, y)]
        structure = (ones[0] @ ones[1]).sorted_indices()
        assert np.array_equal(c.indptr, structure.indptr)
        assert np.array_equal(c.indices, structure.indices)
        if value == "int32":
            assert np.array_equal(c.toarray(), exact.astype(np.int32))
        else:
            size = (abs(x).astype(wide) @ abs(y).astype(wide)).toarray()
            place = 2.0 ** -(52 if value == "fp64" else 23)
            assert (abs(c.toarray() - exact) <= 40 * place * size).all()


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_values_are_sums_in_the_order_of_the_walk(semiring: str, value: str) -> None:
    """Compares sums of random patterns bit for bit; with one channel per lane their order is that
    of k."""
    rng = np.random.default_rng(4)
    for lanes, channels in ((1, 1), (4, 2), (2, 6), (1, 8)):
        cfg = config(lanes=lanes, channels=channels, value=value, semiring=semiring)
        for density in (0.15, 1.0):
            a, b = operands(rng, cfg, (9, 100, 7), density, any_bits=bool(rng.integers(2)))
            c = product(cfg, a, b).patterns()
            wanted = reference_product(*in_walk_order(cfg, a, b), semiring)
            assert all(map(np.array_equal, c, wanted))
            if cfg.lane_channels == 1:
                assert all(map(np.array_equal, c, reference_product(a, b, semiring)))


def test_the_order_with_several_channels_a_lane() -> None:
    """Checks the order by hand: a lane of two channels with blocks of eight pairs takes k = 0, 2,
    ... 14, then 1, 3, ... 15, then those of the next blocks."""
    cfg = config(lanes=1, channels=2, value="fp16")
    assert cfg.layout.block_pairs == 8
    order = [*range(0, 16, 2), *range(1, 16, 2), 16, 18, 17, 19]
    assert matraptor_outer.walk(cfg, 20).tolist() == order
    # 2048 + 1 is 2048 in fp16, 1 + 1 is not lost.
    for first, second, third, expected in ((0, 1, 2, 2048), (0, 2, 1, 2050), (16, 18, 17, 2050)):
        values = np.zeros(20)
        values[[first, second, third]] = 1.0, 1.0, 2048.0
        a = from_csr(sp.csr_array(values[None]), cfg.layout)
        b = from_csr(sp.csr_array(np.ones((20, 1))), cfg.layout)
        took = [k for k in order if values[k]]
        assert to_csr(product(cfg, a, b)).toarray().tolist() == [[expected]], took


@pytest.mark.parametrize("parallel", PARALLEL)
def test_the_walk_is_that_of_the_rows(parallel: tuple[int, int]) -> None:
    lanes, channels = parallel
    cfg = config(lanes=lanes, channels=channels)
    for count in (1, 7, 40, 100):
        for lane in range(lanes):
            own = [
                place.i // lanes for place in walk(cfg.layout, cfg.lane_map, lane, count * lanes)
            ]
            assert matraptor_outer.walk(cfg, count).tolist() == own


def test_zeros_that_arise_stay_entries() -> None:
    cfg = config()
    a = from_csr(sp.csr_array(np.array([[1.0, 1.0]])), cfg.layout)
    b = from_csr(sp.csr_array(np.array([[2.0, 0.0], [-2.0, 3.0]])), cfg.layout)
    c = to_csr(product(cfg, a, b))
    assert (c.indices.tolist(), c.data.tolist()) == ([0, 1], [0.0, 3.0])


@settings(max_examples=cases(300), deadline=None)
@given(
    st.sampled_from(PARALLEL), st.integers(1, 30), st.integers(1, 40), st.integers(1, 24),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 1 << 32),
)  # fmt: skip
def test_any_shape(
    parallel: tuple[int, int], rows: int, inner: int, columns: int, density: float, seed: int
) -> None:
    """Structure, pointers and statistics; the same structure as by rows."""
    lanes, channels = parallel
    cfg = config(lanes=lanes, channels=channels, queues=4, queue_depth=4096)
    rng = np.random.default_rng(seed)
    a, b = operands(rng, cfg, (rows, inner, columns), density)
    found, other = outer_product(cfg, by_columns(cfg, a), b, rows), spgemm(cfg, a, b)
    assert found.c is not None
    assert other.c is not None
    assert np.array_equal(found.lengths, other.lengths)
    assert np.array_equal(found.c.patterns().columns, other.c.patterns().columns)
    capacity = least_capacity(cfg, found.lengths)
    assert np.array_equal(found.c.pointers, result_pointers(cfg, found.lengths, capacity))
    for name in ("products", "results"):
        assert getattr(found.statistics, name) == getattr(other.statistics, name)
    assert np.array_equal(found.statistics.lane_products, other.statistics.lane_products)
    assert found.statistics.merge_steps == found.statistics.pops == 0
    if capacity > cfg.layout.block_entries:
        short = capacity - cfg.layout.block_entries
        limited = outer_product(cfg, by_columns(cfg, a), b, rows, capacity=short)
        assert limited.c is None
        assert limited.region.tolist() == spgemm(cfg, a, b, capacity=short).region.tolist()


def test_parts_of_the_work_are_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    cfg = config(value="fp16")
    a, b = operands(rng, cfg, (60, 40, 50), 0.4)
    whole = product(cfg, a, b)
    monkeypatch.setattr(matraptor, "_CHUNK", 100)
    monkeypatch.setattr(matraptor, "_PIECE", 7)
    monkeypatch.setattr(matraptor_outer, "_PIECE", 11)
    assert product(cfg, a, b).same_as(whole)


@pytest.mark.slow
def test_millions_of_products() -> None:
    rng = np.random.default_rng(6)
    cfg = config(lanes=8, channels=8, value="fp64")
    a = from_csr(sp.random_array((200, 20_000), density=0.1, rng=rng), cfg.layout)
    b = from_csr(sp.random_array((20_000, 300), density=0.09, rng=rng), cfg.layout)
    found = outer_product(cfg, by_columns(cfg, a), b, 200)
    assert found.c is not None
    assert found.statistics.products > 10_000_000
    np.testing.assert_allclose(to_csr(found.c).toarray(), (to_csr(a) @ to_csr(b)).toarray(), 1e-11)


# Results that fit


def test_what_fits_the_queues() -> None:
    """Each row of a lane needs one line for each group of columns, which has one column per
    bank."""
    assert config(queues=3).accumulator_banks == 4
    assert config(queues=10).accumulator_banks == 16
    cfg = config(queues=3, queue_depth=64, lanes=2)
    assert sum_lines(cfg, 5, 9).tolist() == [9, 6]
    assert fits(cfg, 2 * 21, 12)
    assert not fits(cfg, 2 * 21 + 1, 12)
    assert fits(cfg, 8, 64)
    assert not fits(cfg, 9, 64)
    assert not fits(cfg, 1, 65)
    assert overflow_rows(cfg, 2 * 21, 12).tolist() == []
    # Lane 0 has a row more than the 21 for which there is room.
    assert overflow_rows(cfg, 2 * 21 + 1, 12).tolist() == [42]
    assert overflow_rows(cfg, 2 * 40, 12).tolist() == [42, 43]
    a, b = operands(np.random.default_rng(7), cfg, (43, 4, 12), 0.5)
    found = outer_product(cfg, by_columns(cfg, a), b, 43)
    assert (found.c, found.overflow.tolist(), found.statistics.products) == (None, [42], 0)


def test_the_first_row_that_does_not_fit_of_a_lane_with_several_channels() -> None:
    """Walks eight rows of the first channel, then those of the second."""
    cfg = config(queues=3, queue_depth=10, lanes=1, channels=2)
    order = [place.i for place in walk(cfg.layout, cfg.lane_map, 0, 32)]
    assert overflow_rows(cfg, 32, 1).tolist() == [order[10]] == [5]


def test_refusals() -> None:
    cfg = config(queue_depth=16, index_bits=16)
    a, b = operands(np.random.default_rng(8), cfg, (6, 4, 5), 0.5)
    t = by_columns(cfg, a)
    wide = from_csr(sp.csr_array((4, 17)), cfg.layout)
    long = from_csr(sp.csr_array((1, 40_000)), cfg.layout)
    moved = from_csr(sp.csr_array((4, 5)), config(channels=4, index_bits=16).layout)
    full = by_columns(cfg, from_csr(sp.csr_array(np.ones((6, 4))), cfg.layout))
    for call, message in (
        (lambda: outer_product(cfg, t, moved, 6),
         f"`b` must be laid out as {cfg.layout}, not {moved.layout}"),
        (lambda: by_columns(cfg, moved),
         f"`a` must be laid out as {cfg.layout}, not {moved.layout}"),
        (lambda: outer_product(cfg, t, b, 9),
         "`t` must have a multiple of 2 rows and 5 columns, not 8 and 3"),
        (lambda: outer_product(cfg, full, b, 5), "row 1 of `t` must be about rows below 5"),
        (lambda: outer_product(cfg, t, from_csr(sp.csr_array((3, 5)), cfg.layout), 6),
         "`t` must have 6 rows, 2 for each of `b`, not 8"),
        (lambda: outer_product(cfg, t, wide, 6),
         "`b` must have at most 16 columns, a queue's depth, not 17"),
        (lambda: outer_product(cfg, t, b, 6, capacity=3),
         "`capacity` must be a positive multiple of 8, not 3"),
        (lambda: by_columns(cfg, long), "`rows` must be at most 65536 with 16 bits, not 80000"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".") as caught:
            call()
        assert str(caught.value) == message


def test_empty_operands() -> None:
    cfg = config()
    for rows, inner, columns in ((0, 3, 3), (3, 0, 3), (3, 3, 0), (5, 5, 5)):
        a = from_csr(sp.csr_array((rows, inner)), cfg.layout)
        b = from_csr(sp.csr_array((inner, columns)), cfg.layout)
        c = product(cfg, a, b)
        assert (c.shape, c.nnz) == ((rows, columns), 0)


# Bytes


@pytest.mark.parametrize("parallel", PARALLEL)
def test_bytes_that_are_read(parallel: tuple[int, int]) -> None:
    lanes, channels = parallel
    cfg = config(lanes=lanes, channels=channels, data_bits=64)
    rng = np.random.default_rng(9)
    for _ in range(cases(20)):
        case = random_outer(rng, cfg, MEMORY_BYTES, most=40)
        assert bytes_read(cfg, case.a, case.b, case.left.shape[0]) == slow_bytes(case)


def test_a_block_is_read_again_for_a_row_that_lies_before() -> None:
    """The hardware keeps the rest of a block, not what it has passed."""
    cfg = MatRaptorConfig(lanes=1, channels=1, outer_product=True)
    b = from_csr(sp.csr_array(np.ones((2, 1))), cfg.layout)
    found = []
    for pointers in ([0, 3], [3, 0]):
        columns, values = np.tile(np.arange(3), 2), np.zeros(6, np.uint64)
        t = C2sr(
            layout=cfg.layout, shape=(2, 3), lengths=np.array([3, 3]), pointers=np.array(pointers),
            columns=(columns,), values=(values,),
        )  # fmt: skip
        found.append(bytes_read(cfg, t, b, 3)["bytes_a_entries"])
    assert found == [cfg.interleave, 2 * cfg.interleave]


def test_the_first_row_without_room_of_very_many() -> None:
    cfg = MatRaptorConfig(lanes=2, channels=8, queues=3, queue_depth=64, outer_product=True)
    most = (1 << 32) - 1
    near = overflow_rows(cfg, 5000, 60)
    assert np.array_equal(overflow_rows(cfg, most, 60), near)
    assert sorted(near % 2) == [0, 1]
