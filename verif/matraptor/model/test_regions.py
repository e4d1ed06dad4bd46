"""The golden model of MatRaptor assigns rows of C to lanes and places them in memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.rows import least_capacity, spgemm
from tilewright.sim.sparse.c2sr import to_csr
from tilewright.sim.sparse.image import from_image, image, image_sizes
from tilewright.sim.sparse.memory_blocks import Read
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
