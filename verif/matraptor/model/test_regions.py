"""The golden model of MatRaptor assigns rows of C to lanes and places them in memory; rows that may
not fit the queues get ranges of columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.matraptor import splits
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.rows import least_capacity, spgemm
from tilewright.sim.numbers.values import is_true
from tilewright.sim.sparse.c2sr import C2sr, from_csr, from_patterns, to_csr
from tilewright.sim.sparse.csr_image import take_columns, take_rows
from tilewright.sim.sparse.image import from_image, image, image_sizes
from tilewright.sim.sparse.memory_blocks import Read
from tilewright.sim.timing.dram import FLAT
from tilewright.verif.kit.sampling import cases, rng_of, slow_but
from tilewright.verif.matraptor.cases import (
    DIVIDING,
    SparseCase,
    config,
    operands,
    place_case,
    random_case,
    random_matrix,
    scipy_structure,
    some_matrix,
)
from tilewright.verif.matraptor.jobs import check_result, load_case, result_pointers
from tilewright.verif.matraptor.outer.outer_cases import outer_case, rows_about


def reader(memory: bytes) -> Read:
    return lambda address, count: memory[address : address + count]


def walk(lanes: int, channels: int, rows: int, lane: int, block_pairs: int) -> list[int]:
    """Yields a lane's rows in the order of the hardware."""
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
    """Places rows as a walk of the lanes does, also through memory; refuses what does not fit."""
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


# The model device leaves every byte of memory as the hardware does: it writes no gaps.

MEMORY_BYTES = 1 << 16


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_bytes_that_are_not_the_results(channels: int) -> None:
    rng, cfg = rng_of(channels), config(lanes=2, channels=channels)
    device: Any = MatRaptorModel(cfg, MEMORY_BYTES)
    for _ in range(5):
        case = random_case(rng, cfg, MEMORY_BYTES)
        memory = load_case(rng, device, case)
        JobRegisters(device, job_spec(cfg)).submit(case.registers).check()
        check_result(device, case, memory)


# The model device on rows of B whose columns do not ascend: it ends as the hardware does.


@pytest.mark.parametrize("mode", ["rows", "outer"])
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_first_row_that_reads_it(mode: str, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    cfg = config(queues=3, queue_depth=64, lanes=lanes, channels=lanes, outer_product=True)
    device: Any = MatRaptorModel(cfg, MEMORY_BYTES)
    ends: Counter[str] = Counter()
    for _ in range(max(12, cases(40))):
        a = random_matrix(rng, cfg, (5, 6), 0.25)
        b = random_matrix(rng, cfg, (6, 8), 1.0)
        row = int(rng.integers(6))
        case: SparseCase
        if mode == "outer":
            case = outer_case(rng, cfg, MEMORY_BYTES, a, b)
            about = rows_about(case, np.array([row]))
        else:
            case = place_case(rng, cfg, MEMORY_BYTES, a, b)
            starts, columns, _ = a.patterns()
            about = [i for i in range(5) if row in columns[starts[i] : starts[i + 1]]]
        load_case(rng, device, case)
        _repeat_a_column(rng, device, case, row)
        before = device.memory.copy()
        status = JobRegisters(device, job_spec(cfg)).submit({"MODE": 0} | case.registers)
        expected = ("unsorted", about[0]) if about else ("none", 0)
        assert (status.error, status.detail) == expected
        assert np.array_equal(device.memory, before) == bool(about)
        ends[status.error] += 1
    assert min(ends["unsorted"], ends["none"]) > 0


def _repeat_a_column(rng: np.random.Generator, device: Any, case: SparseCase, row: int) -> None:
    """Repeats, in a full row of B, the column of an earlier entry, or writes a smaller one."""
    cfg = case.config
    where = case.row_addresses("b", case.b, row).reshape(-1, cfg.layout.entry_bytes)
    entry = int(rng.integers(1, 8))
    word = int(case.b.patterns().values[8 * row + entry])
    word |= int(rng.integers(entry)) << cfg.format.bits
    device.write_memory(int(where[entry][0]), word.to_bytes(cfg.layout.entry_bytes, "little"))


# Rows that may not fit the queues: which are sure to, and the jobs for the others.

SMALL: dict[str, Any] = {"lanes": 2, "channels": 2, "queues": 4, "queue_depth": 16}


def pair(cfg: MatRaptorConfig, seed: int, rows: int, inner: int, cols: int) -> tuple[C2sr, C2sr]:
    rng = np.random.default_rng(seed)
    a = random_matrix(rng, cfg, (rows, inner), 0.4)
    return a, random_matrix(rng, cfg, (inner, cols), 0.3)


@settings(max_examples=cases(400), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(4, 12), st.integers(1, 40))
def test_rows_that_are_sure_to_fit_do(seed: int, queues: int, depth: int, cols: int) -> None:
    """In any range of columns; all are if their products are as few as a queue's places."""
    cfg = config(queues=queues, queue_depth=depth)
    a, b = pair(cfg, seed, 9, 20, cols)
    low = seed % cols
    columns = low, low + 1 + seed // cols % (cols - low)
    sure, likely = splits.sure_rows(cfg, a.patterns(), b.patterns(), columns)
    inside = take_columns(b.patterns(), columns)
    wrong = spgemm(cfg, a, from_patterns(inside, b.shape, cfg.layout)).overflow
    assert not sure[wrong].any()
    assert sure[splits.products_in(a.patterns(), b.patterns(), columns) <= depth].all()
    assert not sure.all() or likely
    if columns[1] - columns[0] <= depth:
        assert sure.all()


def test_sure_rows_are_more_than_those_of_few_products() -> None:
    """Rows whose partial rows have a queue each, and narrow ones."""
    cfg = MatRaptorConfig(**SMALL)
    dense = np.zeros((4, 60))
    dense[:3, 1:60:4] = 1
    dense[3, :16] = 1
    eye = np.zeros((3, 4))
    eye[0, :3] = eye[1] = eye[2, 3] = 1
    a, b = from_csr(sp.csr_array(eye), cfg.layout), from_csr(sp.csr_array(dense), cfg.layout)
    sure, _ = splits.sure_rows(cfg, a.patterns(), b.patterns(), (0, 60))
    assert sure.tolist() == [True, False, True]
    narrow, _ = splits.sure_rows(cfg, a.patterns(), b.patterns(), (10, 26))
    assert narrow.all()


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_element_is_in_one_job(
    monkeypatch: pytest.MonkeyPatch, seed: int, copies: bool
) -> None:
    """Whether parts of B are made or not."""
    _prefer(monkeypatch, copies)
    cfg = MatRaptorConfig(**SMALL)
    rng = rng_of(seed)
    rows, cols = int(rng.integers(1, 30)), int(rng.integers(20, 300))
    a, b = pair(cfg, seed, rows, 50, cols)
    left, right = a.patterns(), b.patterns()
    sure, _ = splits.sure_rows(cfg, left, right, (0, cols))
    parts = splits.parts_of(cfg, left, right, (0, cols), sure)
    seen = np.zeros((rows, cols), np.int64)
    for part in parts:
        for job in part.jobs:
            assert part.columns[0] <= job.columns[0] < job.columns[1] <= part.columns[1]
            seen[job.rows, job.columns[0] : job.columns[1]] += 1
            some = take_rows(left, job.rows)
            assert splits.sure_rows(cfg, some, right, job.columns)[0].all()
    assert (seen == 1).all()
    assert not sure.all()
    assert any(part.copied is not None for part in parts) == copies


def test_rows_that_do_fit_take_a_job_of_their_own() -> None:
    """Many equal columns: rows are not sure to fit, nor likely to."""
    cfg = MatRaptorConfig(**SMALL)
    dense = np.zeros((20, 200))
    dense[:, :12] = 1
    dense[0, 199] = 1
    eye = np.eye(30, 20)
    eye[4] = 1
    a, b = (from_csr(sp.csr_array(matrix), cfg.layout) for matrix in (eye, dense))
    sure, likely = splits.sure_rows(cfg, a.patterns(), b.patterns(), (0, 200))
    assert np.flatnonzero(~sure).tolist() == [4]
    assert not likely
    driver = SparseDriver(MatRaptorModel(cfg))
    deep = SparseDriver(MatRaptorModel(MatRaptorConfig(**{**SMALL, "queue_depth": 512})))
    assert driver.multiply(a, b).same_as(deep.multiply(a, b))
    assert [(job.rows, job.error) for job in driver.jobs] == [(29, "none"), (1, "none")]


def _prefer(monkeypatch: pytest.MonkeyPatch, copies: bool) -> None:
    """Makes as many parts of B as there may be, or none."""

    def cost(*known: Any) -> float:
        parts: int = known[4]
        return -parts if copies else parts

    monkeypatch.setattr(splits, "_bytes", cost)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_a_split_product_is_that_of_deep_queues(
    monkeypatch: pytest.MonkeyPatch, semiring: str, copies: bool
) -> None:
    """Bit for bit where sums do not round; a cache of B changes nothing."""
    _prefer(monkeypatch, copies)
    rng = rng_of(3)
    made = 0
    for value, cache in (("fp32", 0), ("int32", 1 << 12), ("bf16", 1 << 12)):
        some = {**SMALL, "semiring": semiring, "value": value}
        cfg = MatRaptorConfig(**some, cache_bytes=cache)
        deep = MatRaptorConfig(**{**some, "queue_depth": 4096})
        a, b = (some_matrix(rng, *shape, 0.3, value) for shape in ((21, 40), (40, 160)))
        if semiring in ("mma", "addnorm"):
            for matrix in (a, b):
                matrix.data = rng.integers(-2, 3, matrix.nnz).astype(matrix.data.dtype)
        x, y = (from_csr(matrix, cfg.layout) for matrix in (a, b))
        driver = SparseDriver(MatRaptorModel(cfg, 1 << 22, channel=FLAT if cache else None))
        whole = SparseDriver(MatRaptorModel(deep, 1 << 22))
        assert driver.multiply(x, y).same_as(whole.multiply(x, y))
        assert len(whole.jobs) == 1 < len(driver.jobs)
        assert [job.error for job in driver.jobs].count("overflow") <= 1
        made += sum(job.copies for job in driver.jobs)
        part = (17, 140)
        found = driver.multiply(x, y, columns=part).patterns()
        wanted = whole.multiply(x, y, columns=part).patterns()
        assert all(np.array_equal(f, w) for f, w in zip(found, wanted, strict=True))
    assert (made > 0) == (copies and semiring != "addnorm")


@pytest.mark.parametrize("apart", [1, 1 << 22])
def test_rows_that_overflow_in_every_range(apart: int) -> None:
    """They get ranges of as few columns as a queue has places, however far these are apart."""
    few: dict[str, Any] = {"lanes": 2, "channels": 2, "queues": 3, "semiring": "minplus"}
    cfg, deep = (MatRaptorConfig(**few, queue_depth=depth) for depth in (4, 1024))
    rng = rng_of(7)
    a, b = random_matrix(rng, cfg, (9, 8), 0.5), random_matrix(rng, cfg, (8, 500), 0.9)
    moved = b.patterns()._replace(columns=apart * b.patterns().columns)
    b = from_patterns(moved, (8, 500 * apart), cfg.layout)
    whole = 0, 500 * apart
    sure, _ = splits.sure_rows(cfg, a.patterns(), b.patterns(), whole)
    jobs = splits.parts_of(cfg, a.patterns(), b.patterns(), whole, sure)[-1].jobs
    assert 64 < len(jobs) <= 125
    driver = SparseDriver(MatRaptorModel(cfg))
    assert driver.multiply(a, b).same_as(SparseDriver(MatRaptorModel(deep)).multiply(a, b))
    assert [job.columns for job in driver.jobs[-len(jobs) :]] == [job.columns for job in jobs]


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("value", ["fp16", "fp32", "int32"])
def test_the_identity_leaves_b_as_it_is(semiring: str, value: str) -> None:
    """Values of every kind, both zeros among them; of the rows that are chosen. Truth values stay
    true or not."""
    cfg = MatRaptorConfig(**SMALL, semiring=semiring, value=value)
    rng = rng_of(6)
    b = random_matrix(rng, cfg, (12, 16), 0.5, any_bits=True)
    starts, columns, values = b.patterns()
    values[::5] = 0
    if value != "int32":
        values[1::5] = 1 << cfg.format.bits - 1
    chosen = rng.random(12) < 0.7
    ones = splits.identity_rows(cfg, chosen)
    if semiring == "addnorm":
        assert ones is None
        return
    assert ones is not None
    changed = from_patterns(type(ones)(starts, columns, values), b.shape, cfg.layout)
    left = from_patterns(ones, (12, 12), cfg.layout)
    found = spgemm(cfg, left, changed).c
    assert found is not None
    got = found.patterns()
    kept = np.repeat(chosen, np.diff(starts))
    assert np.array_equal(got.columns, columns[kept])
    wanted = values[kept]
    if semiring == "orand":
        assert np.array_equal(is_true(got.values, cfg.format), is_true(wanted, cfg.format))
        return
    nan = np.zeros(len(wanted), np.bool_)
    if value != "int32":
        magnitude = wanted & np.uint64((1 << cfg.format.bits - 1) - 1)
        nan = magnitude > np.uint64(cfg.format.constant("+inf") or 0)
    assert np.array_equal(got.values[~nan], wanted[~nan])


def test_what_the_driver_refuses() -> None:
    cfg = MatRaptorConfig(**SMALL)
    a, b = pair(cfg, 1, 5, 6, 7)
    driver = SparseDriver(MatRaptorModel(cfg))
    for columns in ((0, 8), (3, 3), (-1, 4)):
        with pytest.raises(ValueError, match=r"^`columns` must be a range within 0\.\.7, not "):
            driver.multiply(a, b, columns=columns)
    wrong: Any
    for wrong in ((1, 2, 3), (0.5, 3), 5):
        with pytest.raises(TypeError, match=r"^`columns` must be two integers, not "):
            driver.multiply(a, b, columns=wrong)
    outer = SparseDriver(MatRaptorModel(MatRaptorConfig(**SMALL, outer_product=True)))
    with pytest.raises(ValueError, match=r"^`columns` must be None for mode \"outer\""):
        outer.multiply(a, b, mode="outer", columns=(0, 2))
