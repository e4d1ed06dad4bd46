"""Driver, tiles and the model of the device: products of any size, in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.device.driver import NoRoom
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.driver import TensorDriver, plan_of
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.sim.tensaurus.result.entries import Entries, of_dense
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.result.tile import add_tile, empty_output
from tilewright.sim.tensaurus.work import STORES, Cut, Work
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.tensaurus.model.cases import (
    EQUATIONS,
    Product,
    device,
    encoded,
    patterns,
    random_product,
    to_dense,
)

SMALL = {"spm_bytes": 256, "out_bytes": 512, "banks": 2}
"""32 units of operands, 21 units of results, of fp32: everything is cut."""

BYTES = {"int8": 1, "int32": 4, "fp32": 4, "fp64": 8}


def run(
    config: TensaurusConfig, product: Product, cut: Cut | None = None, store: str | None = None
) -> Any:
    """Runs a product on the model; returns the driver and the result."""
    fixed = {} if store is None else {"store": STORES.index(store)}
    driver = TensorDriver(TensaurusModel(config, 1 << 20))
    tensor = encoded(to_dense(product.tensor), config) if product.work.dense else product.tensor
    if cut is None:
        cut = plan_of(config, product.work, tensor, fixed=fixed).cut
    operands = product.operands(config)
    if isinstance(tensor, Tensor):
        return driver, driver.sparse(product.work, cut, tensor, operands)
    return driver, driver.dense(product.work, cut, tensor, operands)


WORKS = [
    ("mv", (70, 300), (1,)),
    ("mm", (60, 50), (1,)),
    ("mm", (45, 33), (40,)),
    ("mttkrp", (40, 30, 20), (13, 13)),
    ("mttkrp", (1, 1, 1), (70, 70)),
    ("ttmc", (25, 30, 20), (5, 9)),
    ("mttkrp", (9, 8, 7, 12), (7, 7, 7)),
    ("ttmc", (9, 8, 7, 12), (3, 2, 7)),
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("value", slow_but(["int8"], ["int8", "int32", "fp32", "fp64"]))
@pytest.mark.parametrize(("kernel", "shape", "ranks"), WORKS)
def test_products_of_any_size_are_exact(
    kernel: str,
    shape: tuple[int, ...],
    ranks: tuple[int, ...],
    value: str,
    dense: bool,
    store: str,
) -> None:
    """Whole numbers, in as many tiles as a small device needs, equal NumPy's results."""
    store = "buffer" if kernel == "mv" else store
    rng = np.random.default_rng(len(shape) + ranks[0])
    config = device(value=value, marker="zero", **SMALL | {"spm_bytes": 64 * BYTES[value]})
    product = random_product(rng, kernel, shape, ranks, count=by_size(60, 300, 800), dense=dense)
    driver, found = run(config, product, store=store)
    assert (decode(found, config.sum_format) == product.exact).all()
    assert driver.tiles > 1 or product.tensor.nnz == 1
    assert driver.counts["products"] > 0


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("loops", [(1, 2), (2, 1)])
def test_tiles_are_added_in_the_order_of_the_loops(loops: tuple[int, int], store: str) -> None:
    """Bits of floats, with any values: the same as from tiles cut by hand, every loop turning back
    at its end."""
    rng = np.random.default_rng(loops)
    config = device(**SMALL)
    kernel = Kernel(name="mttkrp", order=3)
    cut = Cut(kernel=kernel, steps=(5, 3, 4), loops=loops, store=store)
    shape = (12, 8, 10)
    work = Work(kernel="mttkrp", shape=shape, ranks=(6, 6))
    places = np.sort(rng.choice(960, 400, replace=False))
    indices = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
    values = rng.standard_normal(400).astype(np.float32).astype(np.float64)
    tensor = Tensor(shape=shape, indices=indices, values=values)
    operands = {mode: patterns(rng, (shape[mode], 6), config.format) for mode in (1, 2)}
    driver = TensorDriver(TensaurusModel(config))
    found = driver.sparse(work, cut, tensor, operands)
    ranges = {1: [(0, 3), (3, 6), (6, 8)], 2: [(0, 4), (4, 8), (8, 10)]}
    outer, inner = (ranges[mode] for mode in loops)
    there = [(a, b) for n, a in enumerate(outer) for b in (inner[::-1] if n & 1 else inner)]
    for turn, (low, high) in enumerate(((0, 5), (5, 10), (10, 12))):
        output = empty_output(config, kernel, high - low)
        for pair in there[::-1] if turn & 1 else there:
            (j0, j1), (k0, k1) = pair if loops == (1, 2) else pair[::-1]
            i, j, k = indices.T
            mine = (i >= low) & (i < high) & (j >= j0) & (j < j1) & (k >= k0) & (k < k1)
            entries = Entries(i[mine] - low, np.stack([j[mine] - j0, k[mine] - k0]),
                              encode(values[mine], config.format))  # fmt: skip
            add_tile(config, kernel, output, entries,
                     {1: operands[1][j0:j1], 2: operands[2][k0:k1]})  # fmt: skip
        assert (found[low:high] == output).all()
    assert driver.tiles == 27


@pytest.mark.parametrize("semiring", slow_but(["minplus"], ["minplus", "orand", "maxmul"]))
def test_semirings_in_tiles(semiring: str) -> None:
    """Whole numbers against NumPy; elements that nothing adds to are the identity."""
    rng = np.random.default_rng(6)
    config = device(semiring=semiring, **SMALL)
    product = random_product(rng, "mm", (50, 40), (20,), count=150)
    driver, found = run(config, product)
    left = to_dense(product.tensor).astype(float)
    stored = np.zeros(left.shape, bool)
    stored[tuple(product.tensor.indices.T)] = True
    a, b = left[:, :, None], product.factors[1].astype(float)[None]
    terms = {"minplus": a + b, "orand": 1.0 * ((a != 0) & (b != 0)), "maxmul": a * b}[semiring]
    empty = {"minplus": np.inf, "orand": 0.0, "maxmul": -np.inf}[semiring]
    terms = np.where(stored[:, :, None], terms, empty)
    wanted = terms.min(axis=1) if semiring == "minplus" else terms.max(axis=1)
    assert (decode(found, config.format) == wanted).all()
    assert driver.tiles > 1


def test_nothing_to_do_is_the_identity() -> None:
    """No values, no rows, no columns of the tensor: no job, and a right result."""
    for shape in ((4, 5), (0, 5), (4, 0)):
        for dense in (False, True):
            config = device(semiring="maxplus")
            product = random_product(
                np.random.default_rng(0), "mm", shape, (3,), count=0, dense=dense
            )
            if dense and 0 not in shape:
                continue
            driver, found = run(config, product)
            assert (decode(found, config.format) == -np.inf).all()
            assert found.shape == (shape[0], 3)
            assert not driver.tiles


def test_too_small_a_memory_is_refused() -> None:
    config = device()
    product = random_product(np.random.default_rng(0), "mm", (100, 100), (30,), count=500)
    driver = TensorDriver(TensaurusModel(config, 1 << 10))
    cut = plan_of(config, product.work, product.tensor).cut
    with pytest.raises(NoRoom, match="of memory are needed for the operands and the result"):
        driver.sparse(product.work, cut, product.tensor, product.operands(config))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_any_mode_is_the_slices(mode: int) -> None:
    """The tensor as it is, along each of its modes."""
    rng = np.random.default_rng(mode)
    config = device(value="fp64", **SMALL)
    shape = (11, 13, 9)
    tensor = Tensor(shape=shape, indices=np.stack([rng.integers(0, n, 200) for n in shape], 1),
                    values=rng.integers(-9, 10, 200).astype(float))  # fmt: skip
    others = [other for other in range(3) if other != mode]
    factors = [rng.integers(-9, 10, (shape[other], 8)).astype(float) for other in others]
    work = Work(kernel="ttmc", shape=(shape[mode], *(shape[o] for o in others)), ranks=(8, 8))
    cut = plan_of(config, work, tensor, mode).cut
    driver = TensorDriver(TensaurusModel(config))
    operands = {m: encoded(factor, config) for m, factor in enumerate(factors, 1)}
    found = driver.sparse(work, cut, tensor, operands, mode)
    wanted = np.einsum(EQUATIONS["ttmc", 3], np.moveaxis(to_dense(tensor), mode, 0), *factors)
    assert (decode(found, config.format) == wanted).all()


@pytest.mark.parametrize("order", [3, 4])
def test_bits_are_those_of_one_tile_where_one_suffices(order: int) -> None:
    """Dense and sparse results, through memory and back, are the golden sums to the bit."""
    rng = np.random.default_rng(order)
    config = device()
    shape = (5, 4, 3, 6)[:order]
    kernel = Kernel(name="mttkrp", order=order)
    work = Work(kernel="mttkrp", shape=shape, ranks=(6,) * (order - 1), dense=True)
    values = patterns(rng, shape, config.format)
    operands = {m: patterns(rng, (shape[m], 6), config.format) for m in range(1, order)}
    driver = TensorDriver(TensaurusModel(config))
    cut = plan_of(config, work, values).cut
    found = driver.dense(work, cut, values, operands)
    output = empty_output(config, kernel, shape[0])
    add_tile(config, kernel, output, of_dense(values), operands)
    assert (found == output).all()
    assert driver.tiles == 1
