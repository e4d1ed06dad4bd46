"""Checks that no product is faster than its lower bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.apps.common import session
from tilewright.apps.common.units.matraptor import SparseChoice
from tilewright.apps.common.units.matraptor_products import SparseProducts
from tilewright.cli import main
from tilewright.errors import CheckFailed
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.bound import Bound, Work, by_rows
from tilewright.sim.matraptor.cycles.plan import Places, packed
from tilewright.sim.matraptor.cycles.rows import Cycles, simulate
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.tables.cycle_deviation import power_law, square, uniform
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size, cases, draw_until, slow_but
from tilewright.verif.matraptor.cycles.bounded import PARALLEL, ones, simulated
from tilewright.verif.matraptor.jobs import fits

pytestmark = pytest.mark.slow

MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)
LANES = (1, 2, 4, 8)
SHIPPED = ("A", "LFAT5", "cover", "cryg2500", "karate", "ldbc-directed-example",
           "ldbc-undirected-example", "lp_afiro", "olm1000", "p2p-Gnutella31", "test_BF",
           "test_FW_1000", "west0067")  # fmt: skip

every_memory = pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)


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
    assert found.bandwidth_utilisation <= found.memory_bytes / (memory.peak * found.cycles) <= 1


@every_memory
@pytest.mark.parametrize("mode", ["rows", pytest.param("outer", marks=pytest.mark.slow)])
def test_random_products(memory: MemoryModel, mode: str) -> None:
    """Draws products of any shape, on any number of lanes and channels, at any clock and
    latency."""
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
        # Only the corner of a large matrix: thousands of tiles would test no more.
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
    text, even = page("matraptor-results.md").read_text(), found.bound.cycles_even
    assert f"| cycles (time at the paper's 2 GHz) | {found.cycles:,} (" in text
    assert f"has to move | {found.bound.cycles:,.0f} |" in text
    assert f"| **ratio to the bound** | **{found.ratio:.3f}** |" in text
    assert f"evenly spread, and the ratio to it | {even:,.0f}: {found.cycles / even:.3f} |" in text


# A bound that does not hold


def demand_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raises the bound of every job to a hundred times its value."""

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


def test_a_device_that_beats_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds a device that is faster than the bound, which the model beside it computes."""
    config = MatRaptorConfig(lanes=2, channels=2)
    choice = SparseChoice(config=config, backend="rtl")
    matrix = uniform(30, 30, 0.2)
    for device in (MatRaptorModel, Hasty):

        def made(unit: Any, config: Any, size: int, device: Any = device) -> Any:
            del unit
            return device(config, size, channel=FLAT)

        monkeypatch.setattr(session, "rtl_device", made)
        products = SparseProducts(choice)
        operand = products.operand(matrix)
        if device is Hasty:
            with pytest.raises(CheckFailed, match=r"^a job took 3 cycles, fewer than its bound of"):
                products.multiply(operand, operand)
        else:
            products.multiply(operand, operand)
            assert [job.ratio >= 1 for job in products.tally.timed] == [True]


def test_operands_with_room_between_rows() -> None:
    """Reads depend on the placement of rows, as in a product by lanes that share a channel."""
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
