"""What no product can beat: counted once more, by the byte; and that nothing does beat it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.apps.sparse.devices import Devices
from tilewright.apps.sparse.options import SparseChoice
from tilewright.apps.sparse.session import SparseProducts
from tilewright.cli import main
from tilewright.errors import CheckFailed
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.bound import Bound, Work, bound, by_rows
from tilewright.sim.matraptor.cycles.outer import simulate_outer
from tilewright.sim.matraptor.cycles.plan import Places, packed
from tilewright.sim.matraptor.cycles.rows import Cycles, simulate
from tilewright.sim.matraptor.cycles.traffic import by_outer_products
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.outer import by_columns, fits
from tilewright.sim.sparse.c2sr import C2sr, from_csr
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.tables.cycle_deviation import power_law, square, uniform
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size, cases, draw_until, slow_but

pytestmark = pytest.mark.slow

MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)
LANES = (1, 2, 4, 8)
SHIPPED = ("A", "LFAT5", "cover", "cryg2500", "karate", "ldbc-directed-example",
           "ldbc-undirected-example", "lp_afiro", "olm1000", "p2p-Gnutella31", "test_BF",
           "test_FW_1000", "west0067")  # fmt: skip
PARALLEL = [(1, 1), (2, 2), (4, 2), (2, 4), (3, 3), (6, 2), (1, 8), (8, 8)]

every_memory = pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)


# By hand


def test_a_bound_by_hand() -> None:
    """Two entries of A, one in each row; B's rows have three entries and one."""
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


def simulated(
    config: MatRaptorConfig, a: sp.csr_array, b: sp.csr_array, memory: MemoryModel, mode: str
) -> Cycles:
    if mode == "rows":
        return simulate(config, a, b, memory=memory)
    left, right = (from_csr(m, config.layout) for m in (a, b))
    return simulate_outer(config, by_columns(config, left), right, a.shape[0], memory=memory)


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


def ones(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)


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
            # Where they are is only a matter of the bound here; the model's is packed.
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


# Nothing beats it


def check(found: Cycles) -> None:
    """The bound holds as a whole, and piece by piece in every channel."""
    limit, memory = found.bound, found.bound.memory
    assert found.ratio >= 1
    assert found.cycles >= limit.cycles >= max(limit.cycles_even, limit.cycles_once)
    needed = [[count * memory.piece_bytes for count in counts]
              for counts in (memory.reads, memory.writes)]  # fmt: skip
    moved = (found.memory_read, found.memory_written)
    assert all(
        x >= y for pair in zip(moved, needed, strict=True) for x, y in zip(*pair, strict=True)
    )
    assert limit.operations == found.operations
    assert limit.product_cycles == found.lane_busy_max
    assert found.bandwidth_utilisation <= found.memory_bytes / memory.peak / found.cycles <= 1


@every_memory
@pytest.mark.parametrize("mode", ["rows", pytest.param("outer", marks=pytest.mark.slow)])
def test_random_products(memory: MemoryModel, mode: str) -> None:
    """Of any shape, on any number of lanes and channels, at any clock and latency."""
    rng = np.random.default_rng(37)

    def draw() -> Cycles | None:
        lanes, channels = PARALLEL[rng.integers(len(PARALLEL))]
        config = MatRaptorConfig(
            lanes=lanes, channels=channels, data_bits=int(rng.choice([64, 128, 512])),
            interleave=int(rng.choice([64, 256])), queues=int(rng.choice([3, 10])),
            outstanding=int(rng.choice([2, 64])), outer_product=mode == "outer",
        )  # fmt: skip
        rows, inner, columns = (int(size) for size in rng.integers(1, 120, 3))
        densities = rng.choice([0.0, 0.02, 0.1, 0.5, 1.0], 2)
        seed = int(rng.integers(1 << 20))
        a, b = uniform(rows, inner, densities[0], seed), uniform(inner, columns, densities[1], seed)
        if mode == "outer" and not fits(config, rows, columns):
            return None
        how = replace(memory, latency=int(rng.integers(1, 40)))
        if rng.random() < 0.3:
            # A memory that could move more than the ports, or keeps more in its queue.
            how = replace(how, gigabytes=float(rng.choice([4, 200])), write_queue=4)
        return simulated(config, a, b, how, mode)

    for _ in range(cases(120)):
        check(draw_until(draw))


@every_memory
def test_products_of_any_kind(memory: MemoryModel) -> None:
    for lanes in LANES:
        config = MatRaptorConfig(lanes=lanes, channels=lanes)
        for a, b in (square(uniform(300, 300, 0.01)), square(power_law(150))):
            check(simulate(config, a, b, memory=memory))


def shipped(name: str) -> list[sp.csr_array]:
    matrix = sp.csr_array(scipy.io.mmread(data_file(f"matrices/{name}.mtx")))
    return [matrix, matrix if matrix.shape[0] == matrix.shape[1] else matrix.T.tocsr()]


@needs_data
@pytest.mark.parametrize(
    ("name", "lanes", "memory"),
    [("west0067", 1, FLAT), ("cryg2500", 1, FLAT), ("karate", 1, HBM_32)],
    ids=lambda value: getattr(value, "name", value),
)
def test_matrices_that_were_faster_than_a_bound_once_was(
    name: str, lanes: int, memory: MemoryModel
) -> None:
    check(simulate(MatRaptorConfig(lanes=lanes, channels=lanes), *shipped(name), memory=memory))


@needs_data
@pytest.mark.parametrize("mode", ["rows", pytest.param("outer", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", slow_but(["karate"], SHIPPED, [name for name in SHIPPED if name != "p2p-Gnutella31"])
)
def test_shipped_matrices(name: str, mode: str) -> None:
    """All memories and lanes, by the driver: jobs that overflow are split, and large C's are
    cut into tiles."""
    a, b = shipped(name)
    if mode == "outer" and a.shape[0] > 300:
        # Of a large one the corner: tiles by the thousand say no more.
        a, b = a[:300], b[:, :300]
    for lanes in by_size((1,), (1, 8), LANES):
        config = MatRaptorConfig(lanes=lanes, channels=lanes, outer_product=mode == "outer")
        left, right = (from_csr(m, config.layout) for m in (a, b))
        for memory in MEMORIES:
            model = MatRaptorModel(config, 1 << 30, channel=memory)
            driver = SparseDriver(model)
            driver.multiply(left, right, mode=mode)
            assert len(model.cycles) == sum(job.error == "none" for job in driver.jobs) > 0
            for found in model.cycles:
                check(found)


@needs_data
@pytest.mark.slow
def test_gnutella_is_near_its_bound() -> None:
    """The paper's set-up: 8 lanes at 2 GHz, 8 channels of 16 GB/s. Even if every channel had as
    much to move as the others, which is less than is sure, the bar of 1.25 holds."""
    g = shipped("p2p-Gnutella31")
    found = simulate(MatRaptorConfig(), *g, memory=HBM)
    check(found)
    assert found.ratio < found.cycles / found.bound.cycles_even < 1.25
    assert found.bound.memory_cycles > found.bound.product_cycles
    text, even = page("matraptor.md").read_text(), found.bound.cycles_even
    assert f"| cycles | {found.cycles:,} (" in text
    assert f"has to move | {found.bound.cycles:,.0f} |" in text
    assert f"| **ratio to the bound** | **{found.ratio:.3f}** |" in text
    assert f"evenly spread, and the ratio to it | {even:,.0f}: {found.cycles / even:.3f} |" in text


# A bound that does not hold


def demand_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every job, a hundred times what it needs."""

    def more(limit: Bound) -> float:
        return 100 * max(limit.memory_cycles, limit.product_cycles)

    monkeypatch.setattr(Bound, "cycles", property(more))


def test_a_broken_bound_ends_the_command(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.mtx"
    scipy.io.mmwrite(file, uniform(30, 30, 0.2).tocoo())
    command = ["run", "spgemm", str(file), "--backend", "cycles", "--lanes", "2"]
    assert main(command) == 0
    capsys.readouterr()
    demand_more(monkeypatch)
    assert main(command) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: a job took ")
    assert lines[0].endswith("one of the two is wrong")


class Hasty(MatRaptorModel):
    """A device that says it needs no time."""

    def _job(self) -> tuple[str, int, dict[str, int]]:
        error, detail, counts = super()._job()
        return error, detail, counts | {"cycles": 3}


def test_a_device_that_beats_the_bound() -> None:
    """As RTL would: the model beside it has the bound."""
    config = MatRaptorConfig(lanes=2, channels=2)
    choice = SparseChoice(config=config, backend="rtl", memory=FLAT, gigahertz=2.0, json_file=None)
    matrix = uniform(30, 30, 0.2)
    for device in (MatRaptorModel, Hasty):
        both = Devices(*(kind(config, 1 << 20, channel=FLAT) for kind in (device, MatRaptorModel)))
        devices: Any = SimpleNamespace(now=both)
        products = SparseProducts(choice, devices)
        operand = products.operand(matrix)
        if device is Hasty:
            with pytest.raises(CheckFailed, match=r"^a job took 3 cycles, fewer than its bound of"):
                products.multiply(operand, operand)
        else:
            products.multiply(operand, operand)
            assert [job.ratio >= 1 for job in products.tally.timed] == [True]


def test_operands_with_room_between_rows() -> None:
    """What is read follows from where the rows are: as of a product by lanes that share a
    channel."""
    config = MatRaptorConfig(lanes=2, channels=2)
    a = uniform(40, 40, 0.2)
    matrix = from_csr(a, config.layout)
    apart = replace(matrix, pointers=matrix.pointers * 8)
    close, wide = (
        simulate(config, a, a, places=Places(m.pointers, m.pointers)) for m in (matrix, apart)
    )
    assert (
        close
        == simulate(config, a, a)
        == simulate(config, a, a, places=packed(a, a, config.channels))
    )
    assert wide.bytes_a_entries > close.bytes_a_entries
    assert sum(wide.bound.port.reads) != sum(close.bound.port.reads)
    check(wide)


def test_work_is_what_it_says() -> None:
    config = MatRaptorConfig(lanes=2, channels=4)
    a, b = uniform(9, 7, 0.4), uniform(7, 5, 0.4, 2)
    work: Work = by_rows(config, a, b, packed(a, b, 4))
    assert work.rows == 9
    assert work.uses.sum() == a.nnz
    assert sum(work.products) == int((ones(a) @ ones(b)).sum())
