"""The tile planner: its predicted bytes are moved, and no cheaper plan was left out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.jobs.tensaurus_operations import TILE_BYTES
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.tensaurus.driver import TensorDriver, plan_of
from tilewright.sim.tensaurus.job_list import JobList
from tilewright.sim.tensaurus.job_tiles import dense_tiles, output_bytes, sparse_tiles
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.sim.tensaurus.tile_cost import cost_of
from tilewright.sim.tensaurus.tiles import plan
from tilewright.sim.tensaurus.work import STORES, Cut, Work
from tilewright.verif.tensaurus.model.cases import device, encoded, random_product, to_dense

SMALL = {"spm_bytes": 256, "out_bytes": 512, "banks": 2}

BUFFER = {"store": STORES.index("buffer")}
MEMORY = {"store": STORES.index("memory")}

WORKS = [
    ("mv", (70, 300), (1,)),
    ("mm", (45, 33), (40,)),
    ("mttkrp", (40, 30, 20), (13, 13)),
    ("ttmc", (25, 30, 20), (5, 9)),
    ("mttkrp", (9, 8, 7, 12), (7, 7, 7)),
    ("ttmc", (9, 8, 7, 12), (3, 2, 7)),
]


def moved(config: TensaurusConfig, cut: Cut, job: JobList) -> dict[str, int]:
    """Bytes by operand that a list of tiles says, tile by tile."""
    kernel = cut.kernel
    found = {"tensor": 0, "output": 0, "list": 0}
    fields = job.fields(dict.fromkeys(job.sizes, 0))
    for number in range(len(job.part)):
        tile = {name: int(field[number]) for name, field in fields.items()}
        found["list"] += TILE_BYTES
        found["tensor"] += tile["entries"] * config.layout(kernel.order).entry_bytes
        found["tensor"] += tile["slices"] * tile.get("pitch", 0)
        found["output"] += output_bytes(config, kernel, tile["slices"]) * tile["last"]
        for mode in range(1, kernel.order):
            values = tile[f"size_{mode}"] * kernel.row_values(config, mode)
            size = values * config.format.bits // 8 if tile["load"] >> mode - 1 & 1 else 0
            found[f"operand_{mode}"] = found.get(f"operand_{mode}", 0) + size
    return found


@pytest.mark.parametrize(("kernel", "shape", "ranks"), WORKS)
def test_costs_of_dense_tensors_are_what_is_moved(
    kernel: str, shape: tuple[int, ...], ranks: tuple[int, ...]
) -> None:
    """Tiles and outputs to the byte; operands but for the last range, which may be shorter."""
    config = device(**SMALL)
    product = random_product(np.random.default_rng(1), kernel, shape, ranks, count=9, dense=True)
    tensor = encoded(to_dense(product.tensor), config)
    found = plan_of(config, product.work, tensor, fixed=BUFFER)
    parts = dense_tiles(config, product.work, found.cut, tensor)
    job = JobList(config, product.work, found.cut, parts)
    real = moved(config, found.cut, job)
    assert real == job.moved()
    assert real["list"] == found.cost.list == TILE_BYTES * found.cost.tiles
    assert real["output"] == found.cost.output
    assert real["tensor"] <= found.cost.tensor
    for mode, expected in enumerate(found.cost.operands, 1):
        step = 1 / max(1, product.work.shape[mode] // found.cut.steps[mode])
        assert abs(real[f"operand_{mode}"] - expected) <= step * expected
    # The same from the formula of any other cut: none is cheaper.
    assert found.cost == cost_of(config, product.work, found.cut, None)


@pytest.mark.parametrize(("kernel", "shape", "ranks"), WORKS)
def test_costs_of_sparse_tensors_are_about_what_is_moved(
    kernel: str, shape: tuple[int, ...], ranks: tuple[int, ...]
) -> None:
    """The estimated tiles are within a fifth for values that are spread evenly."""
    config = device(**SMALL)
    product = random_product(np.random.default_rng(1), kernel, shape, ranks, count=1500)
    found = plan_of(config, product.work, product.tensor, fixed=BUFFER)
    parts = sparse_tiles(config, product.work, found.cut, product.tensor, 0)
    job = JobList(config, product.work, found.cut, parts)
    real = moved(config, found.cut, job)
    assert real == job.moved()
    assert abs(len(job.part) - found.cost.tiles) <= 0.2 * found.cost.tiles
    assert abs(real["tensor"] - found.cost.tensor) <= 0.25 * found.cost.tensor
    assert real["output"] == found.cost.output
    total = sum(real.get(f"operand_{mode}", 0) for mode in (1, 2, 3))
    assert abs(total - sum(found.cost.operands)) <= 0.25 * sum(found.cost.operands)


@pytest.mark.parametrize(("kernel", "shape", "ranks"), WORKS)
def test_cycles_are_about_what_is_counted(
    kernel: str, shape: tuple[int, ...], ranks: tuple[int, ...]
) -> None:
    """Products a row and vectors that leave, of values that are spread evenly: within a tenth; of
    a dense tensor exactly, but for edges of ranges."""
    config = device(**SMALL)
    rng = np.random.default_rng(2)
    for count, dense in ((1500, False), (9, True)):
        product = random_product(rng, kernel, shape, ranks, count=count, dense=dense)
        everything = encoded(to_dense(product.tensor), config)
        tensor = everything if dense else product.tensor
        found = plan_of(config, product.work, tensor)
        driver = TensorDriver(TensaurusModel(config, 1 << 22))
        run = driver.dense if dense else driver.sparse
        run(product.work, found.cut, tensor, product.operands(config))  # type: ignore[arg-type]
        cycles = found.cost.cycles
        products = driver.counts["products"] / config.rows
        assert abs(products - cycles.array) <= 1 + (0 if dense else 0.1 * products)
        assert abs(driver.counts["drains"] - cycles.drains) <= (0 if dense else 0.1 * cycles.drains)
        assert cycles.most == max(cycles.memory, cycles.array, cycles.drains)
        line = config.channels * config.data_bits // 8
        assert cycles.memory == -(-found.cost.total // line)


@pytest.mark.parametrize(("kernel", "shape", "ranks"), WORKS[1:])
@pytest.mark.parametrize("dense", [False, True])
def test_costs_of_outputs_in_memory(
    kernel: str, shape: tuple[int, ...], ranks: tuple[int, ...], dense: bool
) -> None:
    """Costs equal the model's counts to the byte for dense tensors, and within a fifth for sparse
    ones. There is no limit to slices."""
    config = device(**SMALL)
    rng = np.random.default_rng(1)
    product = random_product(rng, kernel, shape, ranks, count=1500, dense=dense)
    driver = TensorDriver(TensaurusModel(config, 1 << 22))
    operands = product.operands(config)
    if dense:
        tensor = encoded(to_dense(product.tensor), config)
        found = plan_of(config, product.work, tensor, fixed=MEMORY)
        driver.dense(product.work, found.cut, tensor, operands)
    else:
        found = plan_of(config, product.work, product.tensor, fixed=MEMORY)
        driver.sparse(product.work, found.cut, product.tensor, operands)
    assert found.cut.store == "memory"
    assert found.cut.steps[0] == shape[0]
    counts = driver.counts
    assert counts["bytes_written"] == counts["drains"] * config.result_unit_bytes
    real = counts["bytes_written"] + counts["bytes_output"]
    assert abs(real - found.cost.output) <= (0 if dense else 0.2 * found.cost.output)


def test_few_values_are_added_in_memory() -> None:
    """Only slices with values move where there are few, and operands are read once. The buffer is
    faster for a dense tensor."""
    config = device(**SMALL)
    work = Work(kernel="mttkrp", shape=(40_000, 10, 12), ranks=(6, 6))
    few = plan(config, work, np.full(200, 5))
    assert few.cut.store == "memory"
    assert few.cut.steps[0] == 40_000
    assert few.cost.tiles <= 6
    buffered = plan(config, work, np.full(200, 5), BUFFER)
    assert buffered.cost.total > 10 * few.cost.total
    dense = Work(kernel="mttkrp", shape=(30, 50, 60), ranks=(6, 6), dense=True)
    assert plan(config, dense, None).cut.store == "buffer"


def test_few_long_fibers_are_not_cut() -> None:
    """A tensor of few fibers along its last mode: cutting that would make more of them."""
    config = device(**SMALL)
    work = Work(kernel="mttkrp", shape=(20, 40, 40), ranks=(8, 8))
    lengths = np.full(20, 80)
    spread, long = plan(config, work, lengths), plan(config, work, lengths, None, [40])
    assert spread.cost.cycles.array > long.cost.cycles.array
    assert long.cut.steps[2] >= spread.cut.steps[2]


def test_a_plan_is_the_best_of_all_loops() -> None:
    """No other loop order takes less time."""
    config = device(**SMALL)
    work = Work(kernel="mttkrp", shape=(40, 50, 20), ranks=(6, 6))
    lengths = np.full(40, 30)
    best = plan(config, work, lengths)
    forced = [plan(config, work, lengths, {"loops": loops}) for loops in ((1, 2), (2, 1))]
    assert best.cost.order == min(each.cost.order for each in forced)
    assert best.compared == sum(each.compared for each in forced)
    other = plan(config, work, lengths, {"step_0": 3, "step_1": 4, "vectors": 1})
    assert other.cut.steps[:2] == (3, 4)
    assert other.cost.order >= best.cost.order


def test_everything_that_fits_is_read_once() -> None:
    config = device()
    work = Work(kernel="mttkrp", shape=(20, 10, 12), ranks=(6, 6))
    found = plan(config, work, np.full(20, 5))
    assert list(found.cut.steps) == [20, 10, 12]
    assert list(found.loads) == [1, 1, 1]
    assert found.cost.operands == (10 * 24, 12 * 24)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"step_0": 1000} | BUFFER, "no tiles fit the device: an output must have at most 21 "
         "slices, not 1000"),
        ({"step_0": 1 << 25} | MEMORY, "no tiles fit the device: an output must have at most "
         "16777216 slices, not 33554432"),
        ({"step_1": 30, "step_2": 20}, "no tiles fit the device: a tile's operands must have at "
         "most 32 units, not 50"),
        ({"step_3": 1}, "`fixed` must be of loops, scalars_1, scalars_2, step_0, step_1, step_2, "
         "store, vectors, not step_3"),
        ({"loops": (1, 1)}, "`loops` must have modes 1 to 2, not (1, 1)"),
        ({"step_1": 0}, "`steps` must be 3 of at least 1, not (20, 0, 20)"),
    ],
)  # fmt: skip
def test_tiles_that_do_not_fit_are_refused(fixed: dict[str, Any], message: str) -> None:
    config = device(**SMALL)
    work = Work(kernel="mttkrp", shape=(40, 30, 20), ranks=(6, 6))
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        plan(config, work, np.full(40, 5), fixed)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "gemm"}, "`kernel` must be one of mttkrp, ttmc, mm, mv, not 'gemm'"),
        ({"shape": (1, 2)}, "`shape` must have 3 or 4 modes with kernel mttkrp and `ranks` one "
         "fewer, not 2 and 2"),
        ({"ranks": (0, 0)}, "`ranks` must be at least 1, not (0, 0)"),
        ({"ranks": (1, 2)}, "`ranks` must be alike with kernel mttkrp, not (1, 2)"),
        ({"kernel": "mv", "shape": (2, 2), "ranks": (2,)}, "`ranks` must be 1 with kernel mv, "
         "not 2"),
    ],
)  # fmt: skip
def test_works_that_are_none(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Work(**{"kernel": "mttkrp", "shape": (3, 4, 5), "ranks": (2, 2), **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("cut", "`cut` must be of mttkrp, not of mm"),
        ("shape", "`tensor` must be of shape (4, 5, 6), not (4, 5, 7)"),
        ("operand", "the operand of mode 2 must be (6, 3), not (6, 4)"),
    ],
)
def test_parts_that_do_not_fit_each_other(change: str, message: str) -> None:
    config, rng = device(), np.random.default_rng(0)
    driver = TensorDriver(TensaurusModel(config))
    product = random_product(rng, "mttkrp", (4, 5, 6), (3, 3), count=20)
    operands = product.operands(config)
    cut: Cut = plan_of(config, product.work, product.tensor).cut
    tensor = product.tensor
    if change == "cut":
        matrix = Work(kernel="mm", shape=(4, 5), ranks=(3,))
        cut = plan(config, matrix, np.full(4, 2)).cut
    if change == "shape":
        tensor = random_product(rng, "mttkrp", (4, 5, 7), (3, 3), count=20).tensor
    if change == "operand":
        operands[2] = np.zeros((6, 4), np.uint64)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        driver.sparse(product.work, cut, tensor, operands)
