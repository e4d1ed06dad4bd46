"""The model of MatRaptor's outer products: against SciPy, fractions and its own rules written down
once more; the device model, the driver and the command that use it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import mmread, mmwrite
from tilewright.apps import sparse_session
from tilewright.hw.spec.matraptor import VALUES, MatRaptorConfig
from tilewright.hw.spec.matraptor_registers import COUNTERS, ERRORS, ID, limits, register_map
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim import matraptor, matraptor_outer
from tilewright.sim.c2sr import C2sr, from_csr, to_csr
from tilewright.sim.c2sr_image import image
from tilewright.sim.dram import MEMORIES
from tilewright.sim.job_registers import JobRegisters, JobStatus
from tilewright.sim.matraptor import least_capacity, reference_product, result_pointers, spgemm
from tilewright.sim.matraptor_device import MatRaptorModel
from tilewright.sim.matraptor_driver import SparseDriver
from tilewright.sim.matraptor_outer import (
    by_columns,
    by_rows,
    fits,
    outer_product,
    overflow_rows,
    sum_lines,
)
from tilewright.sim.matraptor_outer_tiles import tiles_of
from tilewright.sim.matraptor_outer_traffic import bytes_read, outer_bound
from tilewright.verif.kit.commands import Run, data_directory
from tilewright.verif.kit.matraptor_cases import random_matrix, wrong_values
from tilewright.verif.kit.matraptor_outer import (
    OuterCase,
    in_walk_order,
    outer_case,
    random_outer,
)
from tilewright.verif.kit.matraptor_rows import walk
from tilewright.verif.kit.sampling import cases, slow_but

PARALLEL = [(1, 1), (2, 2), (4, 2), (2, 4), (3, 3), (6, 2), (1, 8), (2, 6), (16, 1), (8, 8)]
MEMORY_BYTES = 1 << 18


def config(**given: Any) -> MatRaptorConfig:
    return MatRaptorConfig(**{"outer_product": True, "lanes": 2, "channels": 2, **given})


def operands(
    rng: np.random.Generator, cfg: MatRaptorConfig, shape: tuple[int, int, int], density: float,
    **how: Any,
) -> tuple[C2sr, C2sr]:  # fmt: skip
    rows, inner, columns = shape
    return (
        random_matrix(rng, cfg, (rows, inner), density, **how),
        random_matrix(rng, cfg, (inner, columns), density, **how),
    )


def product(cfg: MatRaptorConfig, a: C2sr, b: C2sr) -> C2sr:
    found = outer_product(cfg, by_columns(cfg, a), b, a.shape[0])
    assert found.c is not None
    return found.c


# A as it is stored


@pytest.mark.parametrize("parallel", PARALLEL)
def test_a_by_columns(parallel: tuple[int, int]) -> None:
    """Every entry is where the rule says, and comes back."""
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
    """Any bits, bit for bit; with one channel a lane the order of k."""
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
    """By hand: a lane of two channels with blocks of eight pairs takes k = 0, 2, ... 14, then 1, 3,
    ... 15, then those of the next blocks."""
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
            own = [place.i // lanes for place in walk(cfg, lane, count * lanes)]
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


# What fits


def test_what_fits_the_queues() -> None:
    """A line of as many columns as there are banks, for every row of the lane."""
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
    """In the order of the walk: eight rows of the first channel, then those of the second."""
    cfg = config(queues=3, queue_depth=10, lanes=1, channels=2)
    order = [place.i for place in walk(cfg, 0, 32)]
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


def slow_bytes(case: OuterCase) -> dict[str, int]:
    """Lane by lane, row by row."""
    cfg, t, b = case.config, case.a, case.b
    size, beat = cfg.layout.entry_bytes, cfg.beat_bytes
    found = dict.fromkeys(
        ("bytes_a_pairs", "bytes_a_entries", "bytes_b_pairs", "bytes_b_entries"), 0
    )
    # A lane without rows of C has nothing to do.
    for lane in range(min(cfg.lanes, case.left.shape[0])):
        pairs, held = set(), (-1, -1)
        for place in walk(cfg, lane, t.shape[0]):
            pairs.add((place.slot, place.index // cfg.layout.block_pairs))
            length, pointer = int(t.lengths[place.i]), int(t.pointers[place.i])
            if not length:
                continue
            for entry in range(pointer, pointer + length):
                block = place.slot, entry // cfg.layout.block_entries
                found["bytes_a_entries"] += (block != held) * cfg.interleave
                held = block
            k = place.i // cfg.lanes
            begin, end = int(b.pointers[k]) * size, int(b.pointers[k] + b.lengths[k]) * size
            found["bytes_b_pairs"] += beat
            found["bytes_b_entries"] += len({byte // beat for byte in range(begin, end)}) * beat
        found["bytes_a_pairs"] += len(pairs) * cfg.interleave
    return found | {"bytes_read": sum(found.values())}


@pytest.mark.parametrize("parallel", PARALLEL)
def test_bytes_that_are_read(parallel: tuple[int, int]) -> None:
    lanes, channels = parallel
    cfg = config(lanes=lanes, channels=channels, data_bits=64)
    rng = np.random.default_rng(9)
    for _ in range(cases(20)):
        case = random_outer(rng, cfg, MEMORY_BYTES, most=40)
        assert bytes_read(cfg, case.a, case.b, case.left.shape[0]) == slow_bytes(case)


def test_the_bound() -> None:
    """By hand: 2 lanes, A of three entries, two of them in rows of the same lane."""
    cfg = config(data_bits=64)
    a = from_csr(sp.csr_array(np.array([[1.0, 0], [0, 1.0], [1.0, 0]])), cfg.layout)
    b = from_csr(sp.csr_array(np.array([[1.0, 1.0, 1.0], [0, 1.0, 0]])), cfg.layout)
    bound = outer_bound(cfg, by_columns(cfg, a), b, (3, 3), 7, MEMORIES["flat"], 1.0)
    # T: 3 entries, 4 pairs; C: 7 entries, 3 pairs; B: 2 pairs and 4 entries of 8 bytes.
    assert bound.bytes_per_use == bound.bytes_once == 8 * (3 + 4 + 7 + 3 + 2 + 4)
    assert (bound.operations, bound.lanes, bound.bytes_per_cycle) == (7, 2, 16)
    both = from_csr(sp.csr_array(np.array([[1.0, 0], [1.0, 0]])), cfg.layout)
    bound = outer_bound(cfg, by_columns(cfg, both), b, (2, 3), 6, MEMORIES["flat"], 1.0)
    assert bound.bytes_per_use == 8 * (2 + 4 + 6 + 2 + 2 * (1 + 3))
    assert bound.bytes_once == 8 * (2 + 4 + 6 + 2 + 1 + 3)


# The device model


def run_on(device: MatRaptorModel, case: OuterCase, **overrides: int) -> JobStatus:
    for name, matrix in (("a", case.a), ("b", case.b)):
        bases = {what: case.base[f"{name}_{what}"] for what in ("pairs", "entries")}
        for block in image(matrix, pairs_base=bases["pairs"], entries_base=bases["entries"]):
            device.write_memory(block.address, block.data.tobytes())
    registers = JobRegisters(device, register_map(case.config), ID)
    for name, value in (case.registers | overrides).items():
        registers.write(name, value)
    return registers.run(tuple(COUNTERS), ERRORS)


def dense_case(cfg: MatRaptorConfig, shape: tuple[int, int, int], **how: Any) -> OuterCase:
    a, b = operands(np.random.default_rng(10), cfg, shape, 1.0)
    return outer_case(np.random.default_rng(10), cfg, MEMORY_BYTES, a, b, **how)


def test_device_counts() -> None:
    cfg = config(queues=3, queue_depth=64, data_bits=64)
    rng = np.random.default_rng(11)
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    for _ in range(10):
        case = random_outer(rng, cfg, MEMORY_BYTES)
        status = run_on(device, case)
        found = case.product()
        assert found.c is not None
        counts = {name: value for name, value in status.counts.items() if value}
        written = {"bytes_c_pairs": 8 * case.left.shape[0], "bytes_c_entries": 8 * found.c.nnz}
        expected = {
            "operations": found.statistics.products,
            "results": found.c.nnz,
            "lane_busy_max": int(found.statistics.lane_products.max()),
            "lane_busy_min": int(found.statistics.lane_products.min()),
            **written,
            "bytes_written": sum(written.values()),
            **slow_bytes(case),
        }
        assert counts == {name: value for name, value in expected.items() if value}
        wanted = np.zeros(MEMORY_BYTES, np.uint8)
        bases = case.base["c_pairs"], case.base["c_entries"]
        for block in image(found.c, pairs_base=bases[0], entries_base=bases[1]):
            wanted[block.address : block.address + len(block.data)] = block.data
        inside = case.result_bytes(MEMORY_BYTES, found.c)
        assert np.array_equal(device.memory[inside], wanted[inside])


def test_device_errors() -> None:
    cfg = config(queues=3, queue_depth=64, lanes=3, channels=3, data_bits=64, index_bits=16)
    device, registers = MatRaptorModel(cfg, MEMORY_BYTES), register_map(cfg)
    case = dense_case(cfg, (7, 5, 9))
    values = wrong_values(cfg, outer=True)
    assert {rule.error for rule in values if rule.register == "COLUMNS"} == {
        "zero_size", "size_limit"
    }  # fmt: skip
    assert limits(cfg, outer=True)["B_ROWS"] == 65536 // 3
    for rule, value in values.items():
        status = run_on(device, case, **{rule.register: value})
        assert (status.error, status.detail) == (rule.error, registers[rule.register].offset)
    far = MEMORY_BYTES // cfg.layout.stripe_bytes * cfg.layout.stripe_bytes
    for overrides, expected in (
        ({"ROWS": 6}, ("index", 0)),
        # The third lane has nothing to do then.
        ({"ROWS": 2}, ("index", 0)),
        ({"COLUMNS": 8}, ("index", 0)),
        ({"COLUMNS": 64, "ROWS": 13}, ("overflow", 12)),
        ({"B_PAIRS": far}, ("bus_read", MEMORY_BYTES)),
        ({}, ("none", 0)),
    ):
        status = run_on(device, case, **overrides)
        assert (status.error, status.detail) == expected
    small = dense_case(cfg, (7, 5, 9), capacity=cfg.layout.block_entries)
    assert (run_on(device, small).error, small.product().region.tolist()) == ("region", [0, 1, 2])


def test_rows_of_b_that_nobody_needs_may_be_anything() -> None:
    cfg = config(queue_depth=64)
    a = from_csr(sp.csr_array(np.array([[0.0, 1.0], [0.0, 2.0]])), cfg.layout)
    b = from_csr(sp.csr_array(np.array([[0, 0, 0, 1.0], [1.0, 1.0, 0, 0]])), cfg.layout)
    case = outer_case(np.random.default_rng(12), cfg, MEMORY_BYTES, a, b)
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    assert run_on(device, case, COLUMNS=2).error == "none"
    assert run_on(device, case, COLUMNS=1).error == "index"


def test_lanes_without_rows_do_nothing() -> None:
    cfg = config(queue_depth=64)
    a = from_csr(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), cfg.layout)
    b = from_csr(sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]])), cfg.layout)
    case = outer_case(np.random.default_rng(12), cfg, MEMORY_BYTES, a, b)
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    assert run_on(device, case).counts["operations"] == 4
    status = run_on(device, case, ROWS=1)
    assert (status.error, status.counts["operations"]) == ("none", 2)
    assert status.counts["bytes_a_pairs"] == status.counts["bytes_a_entries"] == cfg.interleave


def test_columns_do_not_count_by_rows() -> None:
    cfg = config(queue_depth=64)
    case = dense_case(cfg, (4, 3, 5))
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    plain = {"MODE": 0, "ROWS": 6, "B_ROWS": 3}
    for columns in (0, 1, (1 << 32) - 1):
        # A as it is stored is a matrix of six rows and two columns.
        assert run_on(device, case, COLUMNS=columns, **plain).error == "none"
        assert run_on(device, case, COLUMNS=columns).error != "none"


# The driver


@pytest.mark.parametrize("parallel", slow_but([(2, 2), (2, 4)], PARALLEL))
def test_the_driver_cuts_what_does_not_fit(parallel: tuple[int, int]) -> None:
    """Tiles fit, cover C, and change no bit."""
    lanes, channels = parallel
    rng = np.random.default_rng(13)
    wide = config(lanes=lanes, channels=channels, value="fp16", queue_depth=4096)
    cut = config(lanes=lanes, channels=channels, value="fp16", queues=3, queue_depth=16)
    driver = SparseDriver(MatRaptorModel(cut, 1 << 20))
    for shape in ((100, 30, 90), (1, 5, 40), (300, 3, 1), (5, 40, 16), (9, 1, 70)):
        a, b = operands(rng, cut, shape, 0.3)
        c = driver.multiply(a, b, mode="outer")
        assert c.patterns()[0].tolist() == product(wide, a, b).patterns()[0].tolist()
        assert all(map(np.array_equal, c.patterns(), product(wide, a, b).patterns()))
        jobs = driver.jobs
        assert {(job.error, job.mode) for job in jobs} == {("none", "outer")}
        assert len(jobs) == driver.tiles(a, b).count
        assert len(jobs) > 1 or fits(cut, shape[0], shape[2])
        area = sum(job.rows * (job.columns[1] - job.columns[0]) for job in jobs)
        assert area == shape[0] * shape[2]
        assert all(fits(cut, job.rows, job.columns[1] - job.columns[0]) for job in jobs)
        assert sum(job.counts["results"] for job in jobs) == c.nnz


def test_one_job_if_it_fits() -> None:
    """With the hardware's pointers; and jobs of both modes on one device."""
    cfg = config(lanes=4, channels=2)
    rng = np.random.default_rng(14)
    a, b = operands(rng, cfg, (30, 20, 40), 0.4)
    driver = SparseDriver(MatRaptorModel(cfg, 1 << 20))
    for _ in range(2):
        c = driver.multiply(a, b, mode="outer")
        assert len(driver.jobs) == 1
        assert all(map(np.array_equal, c.patterns(), product(cfg, a, b).patterns()))
        assert c.pointers[2::4].min() > 0
        by_row = driver.multiply(a, b)
        assert driver.jobs[0].mode == "rows"
        expected = spgemm(cfg, a, b).c
        assert expected is not None
        assert all(map(np.array_equal, by_row.patterns(), expected.patterns()))


def tile_bytes(shape: tuple[int, int], entries: tuple[int, int], height: int, width: int) -> int:
    """What two lanes read of 10 columns of A and rows of B, beats of 8 bytes."""
    down, across = -(-shape[0] // height), -(-shape[1] // width)
    pairs = down * across * 10 * 2 * 16
    return pairs + across * entries[0] * 8 + down * 2 * entries[1] * 8


def test_tiles_read_little() -> None:
    """Of a result that does not fit, the tiles that fit and make the fewest reads, found by trying
    all."""
    cfg = config(lanes=2, queues=3, queue_depth=32, data_bits=64)
    for rows, columns, entries in ((40, 60, (100, 500)), (200, 20, (500, 100)), (7, 100, (1, 99))):
        found = tiles_of(cfg, (rows, columns), 10, entries)
        assert fits(cfg, found.rows, found.columns)
        least = min(
            tile_bytes((rows, columns), entries, height, width)
            for height in range(1, rows + 1)
            for width in range(1, min(columns, 32) + 1)
            if fits(cfg, height, width)
        )
        taken = tile_bytes((rows, columns), entries, found.rows, found.columns)
        assert taken == least


def test_the_driver_refuses() -> None:
    cfg = config(index_bits=16)
    a, b = operands(np.random.default_rng(15), cfg, (3, 4, 5), 0.5)
    without = SparseDriver(MatRaptorModel(MatRaptorConfig(lanes=2, channels=2, index_bits=16)))
    driver = SparseDriver(MatRaptorModel(cfg))
    x, y = (from_csr(sp.csr_array(shape), cfg.layout) for shape in ((2, 40_000), (40_000, 2)))
    for call, message in (
        (lambda: without.multiply(a, b, mode="outer"),
         '`mode` must be "rows": the device has no `outer_product`'),
        (lambda: driver.multiply(a, b, mode="inner"),
         "`mode` must be one of rows, outer, not 'inner'"),
        (lambda: driver.multiply(x, y, mode="outer"),
         "`b` must have at most 32768 rows, not 40000"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".") as caught:
            call()
        assert str(caught.value) == message
    for rows, inner, columns in ((0, 3, 3), (3, 0, 3), (3, 3, 0)):
        x = from_csr(sp.csr_array((rows, inner)), cfg.layout)
        y = from_csr(sp.csr_array((inner, columns)), cfg.layout)
        c = driver.multiply(x, y, mode="outer")
        assert (c.shape, c.nnz, driver.jobs) == ((rows, columns), 0, [])


# The command


@pytest.fixture
def run(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capsys)


def write(run: Run, name: str, shape: tuple[int, int], density: float, seed: int = 1) -> Any:
    path = run.directory / name
    rng = np.random.default_rng(seed)
    mmwrite(path, sp.random_array(shape, density=density, rng=rng).tocoo())
    return path


@pytest.mark.parametrize("semiring", slow_but(["mma", "minplus"], SEMIRINGS))
def test_spgemm_by_outer_products(run: Run, semiring: str) -> None:
    a, b = write(run, "a.mtx", (60, 50), 0.3), write(run, "b.mtx", (50, 70), 0.3, 2)
    json, output = run.directory / "report.json", run.directory / "c.mtx"
    small = ("--lanes", 2, "--set", "queue_depth=64", "--set", "queues=3")
    for settings_of in ((), small):
        arguments = ("--mode", "outer", "--backend", "model", "--semiring", semiring)
        assert run("spgemm", a, b, *arguments, *settings_of, "--json", json, "-o", output) == 0
        assert "by outer products" in run.out
        found = run.report()
        assert (found["mode"], found["config"]["outer_product"]) == ("outer", True)
        assert found["reference"]["wrong"] == 0
        assert found["reference"]["structure"] is True
        assert (found["jobs"] > 1) == (settings_of == small)
        counters = found["counters"]
        assert counters["results"] == found["c"]["entries"] > 1000
        assert counters["bytes_read"] == sum(
            counters[f"bytes_{x}_{what}"] for x in "ab" for what in ("pairs", "entries")
        )
        if semiring == "mma":
            expected = (mmread(a).tocsr() @ mmread(b).tocsr()).toarray()
            np.testing.assert_allclose(mmread(output).toarray(), expected, rtol=1e-5)


def test_spgemm_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    a = write(run, "a.mtx", (60, 60), 0.3)
    output = run.directory / "c.mtx"
    outer = ("--mode", "outer", "--backend", "model")
    for arguments, line in (
        (("--mode", "inner"), "mode must be one of rows, outer, not 'inner'"),
        ((*outer, "--set", "outer_product=false"),
         "`outer_product` must be true for mode outer, not false"),
    ):  # fmt: skip
        assert run.refused("spgemm", a, *arguments, "-o", output) == line
    wide = write(run, "wide.mtx", (10, 40_000), 1e-4)
    line = run.refused("spgemm", wide, "--transposed-b", *outer, "--set", "index_bits=16", "-o",
                       output)  # fmt: skip
    assert line == "`b` must have at most 8192 rows, not 40000"
    monkeypatch.setattr(sparse_session, "MOST_TILES", 3)
    line = run.refused("spgemm", a, *outer, "--set", "queue_depth=16", "--lanes", 2, "-o", output)
    assert line == ("C takes 8 tiles that fit the queues, too many for mode outer, which takes at "
                    "most 3; use --mode rows")  # fmt: skip
    assert not output.exists()


@pytest.mark.slow
def test_spgemm_by_outer_products_on_rtl(run: Run) -> None:
    """Small matrices that are not very sparse, in one job and in tiles; the counters are the
    model's, those of bytes too."""
    json = run.directory / "report.json"
    unit = ("--lanes", 2, "--set", "queues=5", "--set", "queue_depth=128", "--set",
            "outstanding=16")  # fmt: skip
    single = {}
    for name in ("karate", "west0067", "LFAT5", "lp_afiro"):
        file = data_directory() / "matrices" / f"{name}.mtx"
        arguments = (file, "--transposed-b", "--mode", "outer", *unit, "--json", json)
        assert run("spgemm", *arguments) == 0, run.out
        found = run.report()
        assert found["mismatches"] == 0 < found["checked"]
        assert found["reference"]["wrong"] == 0
        assert found["ratio_to_bound"] > 1
        assert found["counters"]["cycles"] > found["counters"]["operations"] / 2
        single[name] = found["jobs"] == 1
    assert set(single.values()) == {True, False}


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
