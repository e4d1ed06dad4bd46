"""Checks the terms of a product's lower bound by hand and byte by byte."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.bound import bound, by_rows
from tilewright.sim.matraptor.cycles.plan import Places
from tilewright.sim.matraptor.cycles.rows import simulate
from tilewright.sim.matraptor.cycles.traffic import by_outer_products
from tilewright.sim.matraptor.result.outer import by_columns
from tilewright.sim.sparse.c2sr import C2sr, from_csr
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32
from tilewright.tables.cycle_deviation import uniform
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matraptor.cycles.bounded import PARALLEL, ones, simulated

pytestmark = pytest.mark.long


# By hand


def test_a_bound_by_hand() -> None:
    """Computes the bound by hand for two entries of A, one in each row, and rows of B with three
    entries and one."""
    config = MatRaptorConfig(lanes=1, channels=1)
    a = sp.csr_array(np.array([[1.0, 0], [0, 1]]))
    b = sp.csr_array(np.array([[1.0, 1, 1], [0, 0, 1]]))
    found = simulate(config, a, b, memory=HBM).bound
    # Accesses: A's pairs, A's entries, for each of the entries a pair of B and a row.
    assert found.memory.reads == (1 + 1 + 2 * 2,)
    # B's pairs and entries each fill half of a block.
    assert found.memory.reads_once == (1 + 1 + 1 + 1,)
    assert found.memory.writes == (1 + 1,)
    assert (found.memory.piece_bytes, found.memory.bytes) == (64, 6 * 64)
    # 64 bytes at 16 GB/s take 8 cycles at 2 GHz; what is written may wait in the queue.
    assert found.memory_cycles == found.cycles == 6 * 8
    # Beats of 16 bytes: two pairs, two entries, twice a pair; rows of two beats and of one.
    assert found.port.reads == (1 + 1 + 2 + 2 + 1,)
    assert found.port.reads_once == (1 + 1 + 1 + 2,)
    # Two pairs, four entries.
    assert found.port.writes == (1 + 2,)
    assert (found.operations, found.product_cycles) == (4, 4)
    flat = simulate(config, a, b, memory=FLAT).bound
    assert flat.memory is flat.port
    assert flat.cycles == 7


def test_lanes_and_channels_that_have_more_than_others() -> None:
    """All products in the second lane of two, all rows of B in the first channel."""
    config = MatRaptorConfig(lanes=2, channels=2)
    a, b = np.zeros((4, 80)), np.zeros((80, 100))
    a[1, ::2], b[::2] = 1, 1
    found = simulate(config, *map(sp.csr_array, (a, b))).bound
    assert found.products == (0, 4000)
    assert (found.product_cycles, found.cycles_even) == (4000, 2000)
    # For each of 40 uses a pair and 50 beats; two pairs of A. In the other channel those, and
    # A's entries.
    assert found.memory.reads == (40 * 51 + 1, 1 + 20)
    assert found.memory_cycles == 2041


@pytest.mark.slow
def test_outer_products_by_hand() -> None:
    """2 lanes, A of three entries, two of them in rows of the same lane."""
    config = MatRaptorConfig(lanes=2, channels=2, data_bits=64, outer_product=True)
    a = sp.csr_array(np.array([[1.0, 0], [0, 1.0], [1.0, 0]]))
    b = sp.csr_array(np.array([[1.0, 1.0, 1.0], [0, 1.0, 0]]))
    found = simulated(config, a, b, FLAT, "outer").bound
    # T, a row a lane and column: (0, 0) has two entries, (1, 1) one. In either channel two pairs,
    # and once a pair of B and its row.
    assert found.port.reads == (2 + 2 + 1 + 3, 2 + 1 + 1 + 1)
    assert found.port.reads == found.port.reads_once
    # Rows 0 and 2 of C, then row 1: their pairs, 6 entries and 1.
    assert found.port.writes == (2 + 6, 1 + 1)
    assert (found.products, found.cycles) == ((6, 1), 8)
    both = sp.csr_array(np.array([[1.0, 0], [1.0, 0]]))
    found = simulated(config, both, b, FLAT, "outer").bound
    # Both lanes need row 0 of B.
    assert found.port.reads == (2 + 1 + 2 * (1 + 3), 2 + 1)
    assert found.port.reads_once == (2 + 1 + 1 + 3, 2 + 1)


# By the byte


Piece = tuple[str, int, int]


def bytes_of(config: MatRaptorConfig, what: str, row: int, start: int, count: int, size: int,
             width: int) -> set[Piece]:  # fmt: skip
    """Pieces of ``size`` bytes of an array that words ``start`` and on of a row are in."""
    channel = row % config.channels
    found = (start * width + byte for byte in range(count * width))
    return {(what, channel, byte // size) for byte in found}


def reads_of(config: MatRaptorConfig, left: C2sr, rows: list[int], uses: list[int], b: C2sr,
             size: int) -> tuple[Counter[int], Counter[int]]:  # fmt: skip
    """Pieces by channel: as often as they are used, and once."""
    entry = config.layout.entry_bytes

    def row_pieces(name: str, matrix: C2sr, row: int) -> list[set[Piece]]:
        where = int(matrix.pointers[row]), int(matrix.lengths[row])
        return [
            bytes_of(config, f"{name} pairs", row, row // config.channels, 1, size, PAIR_BYTES),
            bytes_of(config, name, row, *where, size, entry),
        ]

    once = set().union(*(part for row in rows for part in row_pieces("left", left, row)))
    each = Counter(channel for _, channel, _ in once)
    for row in uses:
        for part in row_pieces("b", b, row):
            once |= part
            each.update(channel for _, channel, _ in part)
    return each, Counter(channel for _, channel, _ in once)


def writes_of(config: MatRaptorConfig, c: sp.csr_array, size: int) -> Counter[int]:
    """Pieces of C by channel, row after row in each lane's region."""
    found: set[Any] = set()
    groups = max(config.lanes, config.channels)
    ends = [0] * groups
    for row, length in enumerate(np.diff(c.indptr).tolist()):
        group, channel = row % groups, row % config.channels
        found |= bytes_of(config, "pairs", row, row // config.channels, 1, size, PAIR_BYTES)
        start, entry = ends[group], config.layout.entry_bytes
        ends[group] += length
        for byte in range(start * entry, ends[group] * entry):
            found.add((f"region {group}", channel, byte // size))
    return Counter(channel for _, channel, _ in found)


def spread(rng: np.random.Generator, matrix: C2sr) -> C2sr:
    """The same with the channels' rows in another order, and room between them."""
    pointers = matrix.pointers.copy()
    for channel in range(matrix.layout.channels):
        rows = np.arange(channel, matrix.shape[0], matrix.layout.channels)
        rng.shuffle(rows)
        gaps = rng.integers(0, 4, len(rows))
        ends = np.cumsum(matrix.lengths[rows] + gaps)
        pointers[rows] = ends - matrix.lengths[rows]
    return replace(matrix, pointers=pointers)


@pytest.mark.parametrize("parallel", slow_but([(2, 2), (4, 2), (2, 4)], PARALLEL))
@pytest.mark.parametrize("mode", ["rows", "outer"])
def test_pieces_are_those_of_the_bytes(parallel: tuple[int, int], mode: str) -> None:
    lanes, channels = parallel
    rng = np.random.default_rng(31)
    for number in range(cases(24)):
        config = MatRaptorConfig(
            lanes=lanes,
            channels=channels,
            interleave=int(rng.choice([64, 256])),
            data_bits=int(rng.choice([128, 256])),
            value=str(rng.choice(["fp32", "fp64", "fp16"])),
        )
        rows, inner, columns = (int(size) for size in rng.integers(1, 30, 3))
        a = uniform(rows, inner, float(rng.choice([0.05, 0.3])), number)
        b = uniform(inner, columns, float(rng.choice([0.05, 0.5])), number + 99)
        c = ones(a) @ ones(b)
        left, right = (from_csr(m, config.layout) for m in (a, b))
        if mode == "outer":
            left = by_columns(config, left)
        if mode == "rows":
            # Only the bound depends on the placement here; the model's rows are packed.
            left, right = spread(rng, left), spread(rng, right)
            used_rows = [*range(rows)]
            uses = a.indices.tolist()
            work = by_rows(config, a, b, Places(left.pointers, right.pointers))
        else:
            used_rows = [row for row in range(inner * lanes) if row % lanes < rows]
            uses = [row // lanes for row in np.flatnonzero(left.lengths)]
            work = by_outer_products(config, left, right, rows)
        groups = max(lanes, channels)
        entries = np.bincount(np.arange(rows) % groups, np.diff(c.indptr), groups).astype(int)
        for memory in (FLAT, HBM, HBM_32, replace(HBM, access_bytes=512)):
            found = bound(config, work, entries, memory, 2.0)
            sizes = {"port": config.beat_bytes}
            if found.dram is not None:
                sizes["dram"] = max(config.beat_bytes, min(memory.access_bytes, config.interleave))
            for name, size in sizes.items():
                demand = getattr(found, name)
                each, once = reads_of(config, left, used_rows, uses, right, size)
                written = writes_of(config, c, size)
                for counted, slow in ((demand.reads, each), (demand.reads_once, once),
                                      (demand.writes, written)):  # fmt: skip
                    assert counted == tuple(slow[n] for n in range(channels)), (number, name)
        lane = np.arange(rows) % lanes
        per_row = (ones(a) @ ones(b)).sum(axis=1)
        assert found.products == tuple(int(per_row[lane == n].sum()) for n in range(lanes))
