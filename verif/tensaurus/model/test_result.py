"""The golden model: against the contract value by value, and against whole libraries."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import graphblas as gb
import numpy as np
import pytest
from scipy.sparse import random_array
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sparse.ciss import from_tensor
from tilewright.sim.sparse.tensor import Tensor, from_csr
from tilewright.sim.tensaurus.result.entries import Entries, of_dense
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.result.tile import add_tile, empty_output, slice_sums
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.tensaurus.model.cases import (
    TileCase,
    device,
    items_of,
    kernels,
    of_stream,
    patterns,
    random_tile,
)
from tilewright.verif.tensaurus.model.oracle import Oracle

pytestmark = pytest.mark.quick

VALUES = ("fp32", "int8", "bf16", "fp16", "fp64", "int32")


def check_against_oracle(case: TileCase) -> None:
    """Every slice that has entries, every bit."""
    oracle, kernel = Oracle(case.config), case.kernel
    rows = {mode: operand.tolist() for mode, operand in case.operands.items()}
    slices, sums = slice_sums(case.config, kernel, of_stream(case.ciss), case.operands)
    wanted = {
        number: oracle.slice_sum(
            kernel.name, kernel.order, items, rows, kernel.vectors, kernel.scalars
        )
        for number, items in items_of(case.ciss).items()
    }
    assert slices.tolist() == list(wanted)
    assert sums.tolist() == list(wanted.values())
    # Tile by tile, from the identity on.
    output = empty_output(case.config, kernel, case.shape[0])
    for _ in range(2):
        add_tile(case.config, kernel, output, of_stream(case.ciss), case.operands)
    for number, row in enumerate(output.tolist()):
        expected = [oracle.identity()] * len(row)
        for _ in range(2):
            expected = oracle.add(expected, wanted[number]) if number in wanted else expected
        assert row == expected


@pytest.mark.parametrize("value", slow_but(VALUES[:2], VALUES))
@pytest.mark.parametrize("stages", slow_but([3], [3, 1]))
def test_sums_of_products_are_the_contracts(value: str, stages: int) -> None:
    """Every kernel of every order, with any values."""
    config = device(value=value, adder_stages=stages)
    rng = np.random.default_rng(17 + stages)
    for kernel in kernels(config):
        for _ in range(by_size(1, 2, 10)):
            check_against_oracle(random_tile(rng, config, kernel))


@pytest.mark.parametrize("value", slow_but(["fp32"], ["fp32", "int32", "bf16", "fp16", "fp64"]))
@pytest.mark.parametrize("semiring", slow_but(["minplus", "addnorm"], SEMIRINGS))
def test_sums_of_semirings_are_the_contracts(semiring: str, value: str) -> None:
    config = device(value=value, semiring=semiring)
    rng = np.random.default_rng(SEMIRINGS[semiring].opcode)
    for kernel in kernels(config):
        for _ in range(by_size(1, 2, 10)):
            check_against_oracle(random_tile(rng, config, kernel))


def test_order_of_additions_by_hand() -> None:
    """Seven ones and one that is large: the partial sums and their pairs, worked out by hand."""
    config = device(value="fp16", adder_stages=3)
    kernel = Kernel(name="mv", order=2)
    numbers = np.array([2048.0, 1, 1, 1, 1, 1, 1, 1])
    values = encode(numbers, config.format)
    entries = Entries(np.zeros(8, np.int64), np.arange(8)[None], values)
    one = encode(np.ones((8, 1)), config.format)
    _, sums = slice_sums(config, kernel, entries, {1: one})
    # Four partial sums of two: 2048 + 1 = 2048, 2, 2, 2; 2050 and 4; 2054.
    assert decode(sums, config.format).tolist() == [[2054.0]]
    faster = device(value="fp16", adder_stages=1)
    _, sums = slice_sums(faster, kernel, entries, {1: one})
    # Two of four: 2048 and 4; 2052.
    assert decode(sums, config.format).tolist() == [[2052.0]]


@pytest.mark.parametrize("order", [2, 3, 4])
def test_dense_tensors_keep_their_zeros(order: int) -> None:
    """Every element is a value: zero times infinity, and -0 alone."""
    config, rng = device(), np.random.default_rng(order)
    assert isinstance(config.format, FloatFormat)
    kernel = Kernel(name="mm" if order == 2 else "mttkrp", order=order, vectors=1)
    shape = (3, 2, 3, 2)[:order]
    values = patterns(rng, shape, config.format)
    values[0], values[1] = 0, 1 << 31
    operands = {m: patterns(rng, (shape[m], config.unit_values), config.format)
                for m in range(1, order)}  # fmt: skip
    operands[order - 1][0, 0] = config.format.infinity
    _, sums = slice_sums(config, kernel, of_dense(values), operands)
    oracle, rows = Oracle(config), {m: operand.tolist() for m, operand in operands.items()}
    for number, found in enumerate(sums.tolist()):
        places = list(np.ndindex(shape[1:]))
        items = [(place, int(values[(number, *place)])) for place in places]
        assert found == oracle.slice_sum(kernel.name, order, items, rows, 1, (1, 1))
    assert np.isnan(decode(sums[0, 0], config.format))


EQUATIONS = {
    ("mttkrp", 3): "ijk,jf,kf->if",
    ("mttkrp", 4): "ijkl,jf,kf,lf->if",
    ("ttmc", 3): "ijk,jf,kg->ifg",
    ("ttmc", 4): "ijkl,jf,kg,lh->ifgh",
    ("mm", 2): "ij,jf->if",
    ("mv", 2): "ij,jf->if",
}


def random_tensor(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> Tensor:
    """Places of any kind, some twice."""
    indices = np.stack([rng.integers(0, size, count) for size in shape], axis=1)
    return Tensor(shape=shape, indices=indices, values=rng.standard_normal(count))


def to_dense(tensor: Tensor) -> np.ndarray[Any, Any]:
    found = np.zeros(tensor.shape)
    np.add.at(found, tuple(tensor.indices.T), tensor.values)
    return found


@pytest.mark.parametrize(("name", "order"), EQUATIONS)
def test_results_are_einsums(name: str, order: int) -> None:
    """Results equal float64 except for the order of additions; fp32 is as near as its places
    allow."""
    rng = np.random.default_rng(order)
    tensor = random_tensor(rng, (11, 7, 9, 5)[:order], 400)
    for value, bound in (("fp64", 1e-13), ("fp32", 1e-5)):
        config = device(value=value)
        scalars = {("ttmc", 3): (4, 1), ("ttmc", 4): (2, 2)}.get((name, order), (1, 1))
        kernel = Kernel(name=name, order=order, scalars=scalars)
        floats = {m: rng.standard_normal((tensor.shape[m], kernel.row_values(config, m)))
                  for m in range(1, order)}  # fmt: skip
        operands = {m: encode(numbers, config.format) for m, numbers in floats.items()}
        stream = of_stream(from_tensor(tensor, config.layout(order)))
        output = empty_output(config, kernel, tensor.shape[0])
        add_tile(config, kernel, output, stream, operands)
        wanted = np.einsum(EQUATIONS[name, order], to_dense(tensor), *floats.values())
        found = decode(output, config.format).reshape(wanted.shape)
        assert np.abs(found - wanted).max() <= bound * np.abs(wanted).max()


def test_small_whole_numbers_are_exact() -> None:
    """Order 4 against exact rationals: sums of small halves lose nothing in fp32."""
    rng = np.random.default_rng(3)
    config = device()
    tensor = random_tensor(rng, (4, 3, 3, 4), 60)
    tensor = Tensor(shape=tensor.shape, indices=tensor.indices,
                    values=rng.integers(-6, 7, 60) / 2)  # fmt: skip
    kernel = Kernel(name="ttmc", order=4, scalars=(2, 2))
    floats = {m: rng.integers(-6, 7, (tensor.shape[m], kernel.row_values(config, m))) / 2
              for m in (1, 2, 3)}  # fmt: skip
    output = empty_output(config, kernel, 4)
    stream = of_stream(from_tensor(tensor, config.layout(4)))
    add_tile(config, kernel, output, stream,
             {m: encode(numbers, config.format) for m, numbers in floats.items()})  # fmt: skip
    found = decode(output, config.format).reshape(4, 2, 2, config.unit_values)
    wanted = {place: Fraction(0) for place in np.ndindex(found.shape)}
    for (i, j, k, m), value in zip(tensor.indices.tolist(), tensor.values.tolist(), strict=True):
        for f, g, h in np.ndindex(found.shape[1:]):
            rest = Fraction(floats[1][j, f]) * Fraction(floats[2][k, g]) * Fraction(floats[3][m, h])
            wanted[i, f, g, h] += Fraction(value) * rest
    assert all(Fraction(float(found[place])) == value for place, value in wanted.items())


def test_matrices_are_scipys() -> None:
    rng = np.random.default_rng(8)
    config = device(value="fp64")
    matrix = random_array((40, 30), density=0.1, rng=rng, format="csr")
    stream = of_stream(from_tensor(from_csr(matrix), config.layout(2)))
    b = rng.standard_normal((30, 2 * config.unit_values))
    for kernel, operand in (
        (Kernel(name="mm", order=2, vectors=2), b),
        (Kernel(name="mv", order=2), b[:, :1]),
    ):
        output = empty_output(config, kernel, 40)
        add_tile(config, kernel, output, stream, {1: encode(operand, config.format)})
        assert np.allclose(decode(output, config.format), matrix @ operand, rtol=0, atol=1e-14)


GRAPHBLAS = {
    "mma": "plus_times", "minplus": "min_plus", "maxplus": "max_plus", "minmul": "min_times",
    "maxmul": "max_times", "minmax": "min_max", "maxmin": "max_min",
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHBLAS)
def test_semirings_are_graphblas(name: str) -> None:
    """The values are whole numbers, so that every sum is exact."""
    rng = np.random.default_rng(5)
    config = device(semiring=name)
    tensor = random_tensor(rng, (20, 12), 0)
    places = rng.choice(240, 90, replace=False)
    rows, columns = np.divmod(places, 12)
    values = rng.integers(-9, 10, 90).astype(np.float64)
    tensor = Tensor(shape=(20, 12), indices=np.stack([rows, columns], 1), values=values)
    b = rng.integers(-9, 10, (12, config.unit_values)).astype(np.float64)
    kernel = Kernel(name="mm", order=2)
    stream = of_stream(from_tensor(tensor, config.layout(2)))
    slices, sums = slice_sums(config, kernel, stream, {1: encode(b, config.format)})
    left = gb.Matrix.from_coo(rows, columns, values, nrows=20, ncols=12)
    right = gb.Matrix.from_dense(b)
    wanted = left.mxm(right, getattr(gb.semiring, GRAPHBLAS[name])).new().to_dense(fill_value=0.0)
    assert slices.tolist() == np.unique(rows).tolist()
    assert (decode(sums, config.format) == wanted[slices]).all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_mttkrp_and_ttm_are_pyttbs(mode: int) -> None:
    """A second opinion, along every mode; einsum has the last word."""
    import pyttb  # takes seconds

    rng = np.random.default_rng(mode)
    tensor = random_tensor(rng, (9, 8, 7), 120)
    config = device(value="fp64", olen=6)
    other = [m for m in range(3) if m != mode]
    factors = [rng.standard_normal((size, config.unit_values)) for size in tensor.shape]
    sparse = pyttb.sptensor.from_aggregator(tensor.indices, tensor.values[:, None], tensor.shape)
    stream = of_stream(from_tensor(tensor, config.layout(3), mode))
    operands = {m: encode(factors[one], config.format) for m, one in enumerate(other, 1)}
    output = empty_output(config, Kernel(name="mttkrp", order=3), tensor.shape[mode])
    add_tile(config, Kernel(name="mttkrp", order=3), output, stream, operands)
    assert np.allclose(decode(output, config.format), sparse.mttkrp(factors, mode), atol=1e-12)
    kernel = Kernel(name="ttmc", order=3, scalars=(config.unit_values, 1))
    output = empty_output(config, kernel, tensor.shape[mode])
    add_tile(config, kernel, output, stream, operands)
    wanted = sparse.ttm([factors[one].T for one in other], dims=np.array(other)).double()
    found = decode(output, config.format).reshape(tensor.shape[mode], *[config.unit_values] * 2)
    assert np.allclose(found, np.moveaxis(wanted, mode, 0), atol=1e-12)


@pytest.mark.slow
def test_a_hundred_thousand_values_in_one_slice() -> None:
    """Longer than a piece, beside slices of one value."""
    rng = np.random.default_rng(2)
    config = TensaurusConfig(value="fp64")
    slices = np.concatenate([np.arange(30), np.full(100_000, 30), np.arange(31, 50_000)])
    count = len(slices)
    indices = np.sort(rng.integers(0, 1000 * 100, count))
    entries = Entries(slices, np.stack(np.divmod(indices, 100)), rng.standard_normal(count)
                      .view(np.uint64))  # fmt: skip
    kernel = Kernel(name="mttkrp", order=3)
    floats = {1: rng.standard_normal((1000, 32)), 2: rng.standard_normal((100, 32))}
    operands = {m: encode(numbers, config.format) for m, numbers in floats.items()}
    found, sums = slice_sums(config, kernel, entries, operands)
    wanted = np.zeros((50_000, 32))
    terms = entries.values.view(np.float64)[:, None] * floats[1][entries.indices[0]]
    np.add.at(wanted, slices, terms * floats[2][entries.indices[1]])
    assert found.tolist() == list(range(50_000))
    assert np.abs(decode(sums, config.format) - wanted).max() <= 1e-12 * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "gemm"}, "`name` must be one of mttkrp, ttmc, mm, mv, not 'gemm'"),
        ({"order": 2}, "`order` must be 3 or 4 with kernel mttkrp, not 2"),
        ({"name": "mm"}, "`order` must be 2 with kernel mm, not 3"),
        ({"vectors": 0}, "`vectors` must be at least 1 with kernel mttkrp, not 0"),
        ({"name": "mv", "order": 2, "vectors": 2}, "`vectors` must be 1 with kernel mv, not 2"),
        ({"scalars": (2, 1)}, "`scalars` of mode 1 must be 1, not 2"),
        ({"name": "ttmc", "scalars": (1, 2)}, "`scalars` of mode 2 must be 1, not 2"),
        ({"name": "ttmc", "scalars": (0, 1)}, "`scalars` of mode 1 must be at least 1, not 0"),
    ],
)
def test_kernels_that_are_none(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Kernel(**{"name": "mttkrp", "order": 3, **changes})


@pytest.mark.parametrize(
    ("kernel", "changes", "message"),
    [
        (Kernel(name="mttkrp", order=4), {"order": 3}, "`order` must be at most 3, not 4"),
        (
            Kernel(name="mttkrp", order=3), {"semiring": "minplus"},
            "`name` must be mm or mv with semiring minplus, not mttkrp",
        ),
        (
            Kernel(name="mttkrp", order=3, vectors=5), {"olen": 8},
            "a fiber must have at most 4 vectors, not 5",
        ),
        (
            Kernel(name="ttmc", order=3, vectors=2, scalars=(3, 1)), {},
            "a slice must have at most 4 vectors, not 6",
        ),
    ],
)  # fmt: skip
def test_kernels_that_a_device_has_not(
    kernel: Kernel, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kernel.check(device(**changes))
