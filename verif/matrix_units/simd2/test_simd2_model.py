"""The semiring matrix unit's model: exact arithmetic, GraphBLAS, and what its contract promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.m3xu import BaselineConfig
from tilewright.hw.spec.semirings import SEMIRINGS, Semiring
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.units import any_unit as matrix_unit
from tilewright.sim.units.m3xu import matrix_unit as m3xu_results
from tilewright.sim.units.simd2 import semiring_products
from tilewright.verif.kit.sampling import cases, operand_pairs
from tilewright.verif.matrix_units.matrix_stimuli import Operations, illegal_opcodes, operations
from tilewright.verif.matrix_units.semiring_stimuli import addend_values, kinds_of
from tilewright.verif.matrix_units.simd2.semiring_rtl import alone, fault
from tilewright.verif.oracles import graphs

pytestmark = pytest.mark.quick

Array = npt.NDArray[Any]

ACCUMULATORS = ("fp16", "bf16", "fp32", "fp64", "int32", "int64")
PAIRS = [
    (element, accumulator)
    for element in ("fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8", "int16", "int32")
    for accumulator in ACCUMULATORS
    if FORMATS[accumulator].contains(FORMATS[element])
]
PLUSMIN = Semiring(
    name="plusmin", opcode=9, plus="add", times="min", identity="0", padding=("0", "0")
)


def unit(element: str = "fp16", accumulator: str = "auto", **parameters: Any) -> Simd2Config:
    return Simd2Config(**{"tile": 2, "format": element, "accumulator": accumulator, **parameters})


def compute(config: Simd2Config, name: str, sent: Operations) -> Array:
    return semiring_products(config, name, sent.a, sent.b, sent.c, sent.metadata)


def judge(config: Simd2Config, count: int, seed: int) -> None:
    """Every semiring and kind of operands against exact arithmetic."""
    for name in config.ops:
        for kind in kinds_of(config):
            sent = operations(config, count, seed, modes=(name,), kinds=(kind,), illegal=0)
            complaint = fault(config, name, sent, compute(config, name, sent))
            assert not complaint, f"{kind}, {complaint}"


@pytest.mark.parametrize(("element", "accumulator"), PAIRS)
def test_every_result_is_what_exact_arithmetic_says(element: str, accumulator: str) -> None:
    judge(unit(element, accumulator), cases(60), 801)


@pytest.mark.parametrize("element", ["fp8e4m3", "bf16", "fp32", "int8"])
@pytest.mark.parametrize("tile", [4, 6])
def test_sparse_rows_choose_their_elements_of_b(element: str, tile: int) -> None:
    judge(unit(element, tile=tile, sparsity="2:4"), cases(20), 802)


FLOATS = [
    (element, accumulator) for element, accumulator in PAIRS if element.startswith(("f", "b"))
]


@pytest.mark.parametrize("more", [0, 1, 13])
@pytest.mark.parametrize(("element", "accumulator"), FLOATS)
def test_the_least_window_keeps_the_clauses(element: str, accumulator: str, more: int) -> None:
    """Checks sums of several terms and of one: a fused multiply-add with addends near and far."""
    least = unit(element, accumulator).least_alignment_bits
    config = unit(element, accumulator, tile=3, alignment_bits=least + more, ops=("mma", "addnorm"))
    judge(config, cases(30), 803)
    rng = np.random.default_rng(815)
    assert isinstance(config.element, FloatFormat)
    pairs = operand_pairs(config.element, cases(3000), 816)
    for name in config.ops:
        sent = alone(config, name, pairs, rng)
        near = addend_values(config, len(sent.c), rng)
        sent = sent._replace(c=rng.choice(near, sent.c.shape))
        pick = rng.permutation(len(sent.op))[: cases(400)]
        sent = sent.ordered(pick)
        complaint = fault(config, name, sent, compute(config, name, sent))
        assert not complaint, complaint


def test_a_corrupted_result_is_found_out() -> None:
    """The oracles can fail: a last place off is wrong in every semiring."""
    for config in (unit(), unit("int16")):
        for name in config.ops:
            kind = "uniform" if config.is_float else "small"
            sent = operations(config, 20, 804, modes=(name,), kinds=(kind,), illegal=0)
            d = compute(config, name, sent)
            d[10, 1, 0] ^= np.uint64(1)
            assert fault(config, name, sent, d).startswith(f"{name}, a [0x"), name


@pytest.mark.parametrize("element", ["fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int16"])
def test_the_order_of_the_products_does_not_matter(element: str) -> None:
    config = unit(element, tile=5)
    order = np.random.default_rng(805).permutation(5)
    for name in config.ops:
        sent = operations(config, cases(500), 806, modes=(name,), illegal=0)
        permuted = sent._replace(a=sent.a[:, :, order], b=sent.b[:, order])
        assert np.array_equal(compute(config, name, sent), compute(config, name, permuted)), name


@pytest.mark.parametrize("element", ["fp16", "bf16"])
def test_mma_is_the_multi_mode_units_dot_product(element: str) -> None:
    """Compares with another golden model, the 16-bit baseline's, on the same tiles."""
    baseline = BaselineConfig(rows=4, cols=4, depth=4)
    config = unit(element, tile=4, alignment_bits=baseline.alignment_bits)
    sent = operations(config, cases(2000), 807, modes=("mma",), illegal=0)
    expected = m3xu_results(baseline, element, sent.a, sent.b, sent.c)
    assert np.array_equal(compute(config, "mma", sent), expected)


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Integers whose differences and sums every format holds."""
    return rng.integers(-4, 5, shape)


@pytest.mark.parametrize(
    ("element", "accumulator", "dtype"),
    [
        ("fp8e4m3", "fp16", np.float32), ("fp16", "fp32", np.float32), ("bf16", "fp64", np.float64),
        ("fp32", "fp32", np.float32), ("fp32", "fp64", np.float64), ("fp64", "fp64", np.float64),
        ("int8", "int32", np.int32), ("int16", "int64", np.int64), ("int32", "int32", np.int32),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tile", [3, 16])
def test_small_integers_give_graphblas_tiles(
    element: str, accumulator: str, dtype: type[np.generic], tile: int
) -> None:
    config = unit(element, accumulator, tile=tile)
    rng = np.random.default_rng(808)
    a, b, c = (numbers(rng, (cases(60), tile, tile)).astype(dtype) for _ in range(3))
    wide = np.int64 if np.issubdtype(dtype, np.integer) else np.float64
    words = [encode(x.astype(wide), f) for x, f in zip((a, b, c), _formats(config), strict=True)]
    assert set(graphs.NAMES) == set(config.ops)
    for name in config.ops:
        d = decode(semiring_products(config, name, *words), config.result)
        for index in range(len(d)):
            expected = graphs.tile_product(name, a[index], b[index], c[index])
            assert np.array_equal(d[index], expected), name


@pytest.mark.parametrize("element", ["fp32", "fp64"])
def test_any_numbers_and_infinities_give_graphblas_tiles(element: str) -> None:
    """Compares semirings whose terms both sides round once, in the accumulator's format."""
    config = unit(element, element, tile=4)
    dtype = np.float32 if element == "fp32" else np.float64
    rng = np.random.default_rng(809)
    a, b, c = (rng.standard_normal((cases(200), 4, 4)).astype(dtype) for _ in range(3))
    b[rng.random(b.shape) < 0.2] = np.inf
    words = [x.view(f"u{x.itemsize}").astype(np.uint64) for x in (a, b, c)]
    for name in ("minplus", "maxplus", "minmul", "maxmul", "minmax", "maxmin", "orand"):
        d = decode(semiring_products(config, name, *words), config.result)
        for index in range(len(d)):
            expected = graphs.tile_product(name, a[index], b[index], c[index])
            assert np.array_equal(d[index], expected), name


def _formats(config: Simd2Config) -> tuple[Any, Any, Any]:
    return config.element, config.element, config.result


@pytest.mark.parametrize(("element", "accumulator"), PAIRS)
def test_padding_leaves_the_rest_of_a_tile_alone(element: str, accumulator: str) -> None:
    """Compares a tile of 4 with three used rows, columns and products with a tile of 3."""
    small, large = (unit(element, accumulator, tile=n) for n in (3, 4))
    for name, described in large.operations.items():
        kinds = ("small",) if element.startswith("int") else ("uniform", "special")
        sent = operations(small, cases(200), 810, modes=(name,), kinds=kinds, illegal=0)
        if described.padding is None or described.addend is None:
            assert element == "fp8e4m3"
            continue
        pad_a, pad_b = described.padding
        around = ((0, 0), (0, 1), (0, 1))
        d = semiring_products(
            large, name,
            np.pad(sent.a, around, constant_values=pad_a),
            np.pad(sent.b, around, constant_values=pad_b),
            np.pad(sent.c, around, constant_values=described.addend),
        )  # fmt: skip
        inner, expected = d[:, :3, :3], compute(small, name, sent)
        # A padded product is +0, so that a sum of negative zeros alone becomes +0.
        if name in ("mma", "addnorm"):
            inner, expected = (decode(x, large.result) for x in (inner, expected))
        assert np.array_equal(inner, expected, equal_nan=True), name
        corner = decode(d[:, 3, 3], large.result)
        assert (corner == decode(described.addend, large.result)).all()


def test_products_in_two_steps_change_no_value() -> None:
    direct, steps = unit("fp32"), unit("fp32", multiplier_bits=12)
    sent = operations(direct, cases(1000), 811)
    found = [matrix_unit.mixed_operations(config, **sent.fields) for config in (direct, steps)]
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(("element", "accumulator"), [("fp16", "fp16"), ("int8", "int32")])
def test_upper_bits_of_a_narrow_accumulator_are_ignored(element: str, accumulator: str) -> None:
    config = unit(element, accumulator)
    above = np.uint64(config.result.bits)
    sent = operations(config, 200, 812)
    dirty = sent._replace(c=sent.c | np.uint64(0xABCD) << above)
    found = [matrix_unit.mixed_operations(config, **x.fields)[0] for x in (sent, dirty)]
    assert np.array_equal(found[0], found[1])
    assert not (found[0] >> above).any()


@pytest.mark.parametrize(("element", "accumulator"), FLOATS)
def test_differences_neither_overflow_nor_underflow(element: str, accumulator: str) -> None:
    """The largest difference squared is less than an infinity; the least is more than nothing."""
    config = unit(element, accumulator, ops=("addnorm",))
    fmt, result = config.element, config.result
    assert isinstance(fmt, FloatFormat)
    assert isinstance(result, FloatFormat)
    minus = 1 << (fmt.bits - 1)
    far, near = (fmt.largest, minus | fmt.largest), (1, 0)
    a, b = (np.array([[[far[i], 0]] * 2, [[near[i], 0]] * 2], np.uint64) for i in (0, 1))
    b = b.swapaxes(1, 2)
    minus_infinity = result.infinity | 1 << (result.bits - 1)
    c = np.full(a.shape, minus_infinity, np.uint64)
    assert (semiring_products(config, "addnorm", a, b, c) == minus_infinity).all()
    sent = Operations(np.full(2, 8, np.uint64), a, b, np.full_like(c, 1), ["far", "near"])
    complaint = fault(config, "addnorm", sent, compute(config, "addnorm", sent))
    assert not complaint, complaint


@pytest.mark.parametrize("ops", [tuple(SEMIRINGS), ("minplus", "orand")])
def test_illegal_opcodes_give_zero_and_the_flag(ops: tuple[str, ...]) -> None:
    config = unit("bf16", ops=ops)
    sent = operations(config, 300, 813, illegal=0.3)
    d, error = matrix_unit.mixed_operations(config, **sent.fields)
    assert np.array_equal(error, np.isin(sent.op, illegal_opcodes(config)))
    assert set(illegal_opcodes(config)) == set(range(16)) - {SEMIRINGS[name].opcode for name in ops}
    assert error.any()
    assert not d[error].any()
    assert d[~error].any()


def test_a_tenth_semiring_is_a_row_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """plusmin, ``c + sum of min(a_k, b_k)``, in floats one fused sum."""
    monkeypatch.setitem(SEMIRINGS, "plusmin", PLUSMIN)
    for element in ("fp8e4m3", "fp16", "fp64", "int8", "int32"):
        judge(unit(element, tile=3, ops=("mma", "plusmin")), cases(60), 814)


def test_wrong_arguments_are_named() -> None:
    config, sparse = unit(ops=("mma",)), unit(sparsity="2:4")
    tile = np.zeros((3, 2, 2), np.uint64)
    with pytest.raises(ValueError, match=r"^`name` must be mma, not 'minplus'$"):
        semiring_products(config, "minplus", tile, tile, tile)
    with pytest.raises(ValueError, match=r"^`b` must have shape \(3, 2, 2\), not \(3, 1, 2\)$"):
        semiring_products(config, "mma", tile, tile[:, :1], tile)
    with pytest.raises(ValueError, match=r"^`b` must have shape \(3, 4, 2\), not \(3, 2, 2\)$"):
        semiring_products(sparse, "mma", tile, tile, tile, tile)
    with pytest.raises(ValueError, match=r"^`metadata` must have shape \(3, 2, 2\), not \(0,\)$"):
        semiring_products(sparse, "mma", tile, np.zeros((3, 4, 2), np.uint64), tile)
    for refused in (config, BaselineConfig(rows=2, cols=2, depth=2)):
        with pytest.raises(ValueError, match=r"^`metadata` must be None without sparsity$"):
            matrix_unit.mixed_operations(refused, tile[:, 0, 0], tile, tile, tile, tile)
