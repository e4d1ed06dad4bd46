"""Assigns every cycle of a lane to one cause, and checks that it is the right one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.cycles.outer import simulate_outer
from tilewright.sim.matraptor.cycles.reasons import REASONS
from tilewright.sim.matraptor.cycles.rows import Cycles, simulate
from tilewright.sim.matraptor.result.outer import by_columns
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.timing.dram import FLAT, HBM, HBM_32, MemoryModel
from tilewright.tables.cycle_deviation import (
    CONFIGS,
    INPUTS,
    OUTER_INPUTS,
    Operands,
    config_of,
    square,
    uniform,
)
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.slow

MEMORIES: tuple[MemoryModel, ...] = (FLAT, HBM, HBM_32)
OUTSIDE = ("start", "drain", "idle")
"""Causes outside the time from a lane's first product to its last."""


def by_outer_products(config: MatRaptorConfig, operands: Operands, **how: Any) -> Cycles:
    a, b = (from_csr(m, config.layout) for m in operands)
    return simulate_outer(config, by_columns(config, a), b, a.shape[0], **how)


def check(found: Cycles, *, outer: bool = False) -> None:
    spent = found.lane_cycles
    assert list(spent) == list(REASONS)
    assert min(spent.values()) >= 0
    assert sum(spent.values()) == found.lanes * found.cycles
    assert spent["product"] == found.operations
    inside = sum(count for name, count in spent.items() if name not in (*OUTSIDE, "product"))
    if found.lanes == 1:
        # The RTL's counter. By outer products the first ones wait until their sums are cleared.
        cleared = found.stalls - inside
        assert 0 <= cleared <= (spent["start"] if outer else 0)


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
@pytest.mark.parametrize("name", slow_but(["1x1", "2x2", "2x6"], CONFIGS))
def test_they_sum_to_the_whole(name: str, memory: MemoryModel) -> None:
    for shape in ("medium", "power_law", "banded", "empty_rows", "dense_column", "one_row"):
        check(simulate(config_of(name), *INPUTS[shape](), memory=memory))


@pytest.mark.slow
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["1x1", "2x2"]))
def test_they_sum_to_the_whole_of_outer_products(name: str, memory: MemoryModel) -> None:
    config = config_of(name, outer=True)
    for shape in ("medium", "power_law", "few_columns", "one_row", "one_column"):
        found = by_outer_products(config, OUTER_INPUTS[shape](), memory=memory)
        check(found, outer=True)
        assert [found.lane_cycles[name] for name in ("merge", "sets", "writes")] == [0, 0, 0]


def one_lane(operands: Operands, memory: MemoryModel = FLAT, **more: Any) -> dict[str, int]:
    found = simulate(MatRaptorConfig(lanes=1, channels=1, **more), *operands, memory=memory)
    check(found)
    return found.lane_cycles


def most(spent: dict[str, int]) -> str:
    """Returns the cause of most cycles, without products and the cycles before and after them."""
    return max((name for name in spent if name not in (*OUTSIDE, "product")), key=spent.__getitem__)


def rows_of(columns: list[list[int]], width: int) -> sp.csr_array:
    starts = np.cumsum([0, *map(len, columns)])
    index = np.concatenate(columns).astype(int)
    return sp.csr_array((np.ones(len(index)), index, starts), (len(columns), width))


def test_long_rows_of_b_wait_for_nothing() -> None:
    """One entry in each row of A: nothing is merged, and memory keeps up."""
    spent = one_lane((sp.eye_array(40, format="csr"), sp.csr_array(np.ones((40, 200)))))
    assert spent["product"] == 8000
    assert sum(spent.values()) - spent["product"] < 0.1 * 8000
    assert spent["merge"] == spent["adder"] == spent["conflict"] == 0


def test_merging() -> None:
    """Rows of B have separate columns: a merge moves old entries between the products."""
    columns = [[64 * n + k for n in range(16)] for k in range(64)]
    b = rows_of(columns, 1024)
    spent = one_lane((sp.csr_array(np.ones((4, 64))), b), queues=3)
    assert most(spent) == "merge"
    found = simulate(
        MatRaptorConfig(lanes=1, channels=1, queues=3), sp.csr_array(np.ones((4, 64))), b
    )
    # Each entry that is moved is a product or holds one up.
    moved = found.merge_steps
    appended = 4 * 2 * 16
    assert 0.9 * (moved + appended - found.operations) < spent["merge"] <= moved


@pytest.mark.parametrize("stages", [1, 3])
def test_the_adder(stages: int) -> None:
    """Rows of B with the same single column: each sum needs the one before."""
    a, b = sp.csr_array(np.ones((3, 200))), sp.csr_array(np.ones((200, 1)))
    spent = one_lane((a, b), queues=3, adder_stages=stages)
    # Two queues merge in every second row, and the merge waits for their sums.
    assert spent["adder"] > 0
    config = MatRaptorConfig(lanes=1, channels=1, adder_stages=stages, outer_product=True)
    assert spent["merge"] == 0
    assert config.adder_stages == stages


def test_both_sets_taken() -> None:
    """Short rows of about ten products, few of which are added: phase II needs as many cycles as
    phase I, and some more between rows."""
    spent = one_lane(square(uniform(300, 300, 0.01)))
    assert most(spent) == "sets"
    assert spent["writes"] == spent["merge"] == 0


def test_writes() -> None:
    """Four lanes share a channel with a high latency: each may have as many bursts of each reader
    in flight as all lanes together have of writes."""
    config = MatRaptorConfig(lanes=4, channels=1, outstanding=8)
    operands = sp.csr_array(np.ones((60, 1))), sp.csr_array(np.ones((1, 300)))
    late, soon = (
        simulate(config, *operands, memory=replace(FLAT, latency=cycles)) for cycles in (500, 5)
    )
    check(late)
    assert most(late.lane_cycles) == "writes"
    assert late.lane_cycles["writes"] > 10 * soon.lane_cycles["writes"]


def test_waiting_for_memory() -> None:
    far = replace(FLAT, latency=500)
    rng = np.random.default_rng(5)
    a = uniform(100, 3000, 0.01, 3)
    b = rows_of([[int(c)] for c in rng.integers(0, 50, 3000)], 50)
    spent = one_lane((a, b), far, outstanding=2)
    assert spent["b_pairs"] + spent["b_rows"] > 0.8 * (sum(spent.values()) - spent["start"])
    assert spent["start"] >= 4 * 500
    # Empty rows of A between: nothing but A can be waited for.
    sparse = sp.csr_array(([1.0, 1.0], ([0, 3999], [0, 0])), (4000, 1))
    spent = one_lane((sparse, sp.csr_array(np.ones((1, 1)))), replace(FLAT, latency=50))
    assert spent["row_end"] + spent["a"] > 0.8 * (sum(spent.values()) - spent["start"])
    assert spent["row_end"] > 3900


def test_conflicts() -> None:
    """All lanes need the one row of B, in the same channel."""
    config = config_of("8x8")
    a = sp.csr_array((np.ones(400), np.zeros(400, int), np.arange(401)), (400, 8))
    b = sp.csr_array((np.ones(1), ([0], [0])), (8, 4))
    many, few = (simulate(config, m, b) for m in (a, sp.eye_array(8, format="csr")))
    check(many)
    assert many.lane_cycles["conflict"] > 100
    assert few.lane_cycles["conflict"] < 8
    assert many.conflicts >= many.lane_cycles["conflict"]
    alone = simulate(MatRaptorConfig(lanes=1, channels=1), a, b)
    assert alone.lane_cycles["conflict"] == 0


def test_finished_early() -> None:
    """A single row: seven lanes of eight have nothing to do."""
    a, b = INPUTS["one_row"]()
    found = simulate(config_of("8x8"), a, b)
    check(found)
    alone = found.lane_cycles["idle"] + found.lane_cycles["drain"]
    assert alone > 0.97 * 7 * found.cycles


@pytest.mark.slow
def test_a_range_that_ends_before_it_begins() -> None:
    """Takes as long as any range without columns: every entry is read and skipped."""
    a, b = uniform(20, 20, 0.3, 1), uniform(20, 40, 0.4, 2)
    found, none = (simulate(config_of("2x2"), a, b, columns=part) for part in ((10, 3), (40, 41)))
    check(found)
    assert found == none
    assert found.operations == found.results == 0 < found.bytes_b_entries


def test_sums_of_one_element() -> None:
    """A row times a column, by outer products: the adder."""
    config = MatRaptorConfig(lanes=1, channels=1, outer_product=True)
    row, column = sp.csr_array(np.ones((1, 500))), sp.csr_array(np.ones((500, 1)))
    found = by_outer_products(config, (row, column))
    check(found, outer=True)
    assert most(found.lane_cycles) == "adder"
    # Many rows of C: the sums leave the chip when the last product is taken.
    wide = by_outer_products(config, square(uniform(100, 100, 0.02)))
    assert wide.lane_cycles["drain"] > wide.results


def test_the_report(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, capsys)
    scipy.io.mmwrite(tmp_path / "a.mtx", uniform(200, 200, 0.03).tocoo())
    json = tmp_path / "report.json"
    # One whose rows must be split, too.
    for settings in ((), ("--set", "queue_depth=16")):
        arguments = ("spgemm", tmp_path / "a.mtx", "--backend", "cycles", "--lanes", 2, *settings)
        assert run(*arguments, "--json", json) == 0
        found = run.report()
        spent, counters = found["lane_cycles"], found["counters"]
        assert sum(spent.values()) == 2 * counters["cycles"]
        assert spent["product"] == counters["operations"]
        share = spent["product"] / sum(spent.values())
        assert f"products {share:.1%}" in run.out.replace("\n", " ")
        assert found["multiplier_utilisation"] == pytest.approx(share)
    assert found["overflows"] > 0
    assert found["bound_cycles_one_job"] != found["bound_cycles"]
    assert "were it one job" in run.out
