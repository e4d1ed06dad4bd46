"""The fused dot product's model against exact arithmetic, SoftFloat, and the fp32 FMA chain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.m3xu import BaselineConfig
from tilewright.sim.numbers import fused
from tilewright.sim.numbers.fused import fused_dot_product
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.accuracy import ACCURACY_KINDS, as_fp32, fma_chain, ulp_errors
from tilewright.verif.oracles.dot_product import Report, check_dot_products

pytestmark = pytest.mark.quick

FP32 = FLOAT_FORMATS["fp32"]
MODES = {"fp16": 8, "bf16": 8, "tf32": 4, "fp32": 4}
BASELINE = {"fp16": 8, "bf16": 8, "tf32": 4}
CLAUSE_WINDOW = 28
"""A small window with which every clause holds (as from 25 on)."""

ACCURATE_WINDOW = BaselineConfig().alignment_bits
"""The baseline unit's default window, 34: the least that was no less accurate than the chain in
every sample of a sweep over 24..36, on every distribution but one; 28 fails in some samples where
sums cancel, and now and then on log-uniform operands."""

BEYOND = {"accumulator_cancels"}
"""The one: the addend cancels one product and the others lie far below. No window up to 36 passes,
as the chain is exact where it happens to cancel first; 56 does."""

Patterns = npt.NDArray[np.uint64]
Triple = tuple[Patterns, Patterns, Patterns]


def model(operands: Triple, name: str, window: int) -> Patterns:
    a, b, c = operands
    return fused_dot_product(
        a, b, c, operand=FLOAT_FORMATS[name], result=FP32, alignment_bits=window
    )


def judge(operands: Triple, d: Patterns, name: str, window: int) -> Report:
    fmt = FLOAT_FORMATS[name]
    return check_dot_products(*operands, d, operand=fmt, result=FP32, alignment_bits=window)


def draw(name: str, kind: str, count: int, seed: int, products: int | None = None) -> Triple:
    rng = np.random.default_rng(seed)
    n = MODES[name] if products is None else products
    return stimuli.dot_products(rng, kind, count, n, FLOAT_FORMATS[name], FP32)


@pytest.mark.parametrize("kind", stimuli.DOT_PRODUCT_KINDS)
@pytest.mark.parametrize("name", MODES)
def test_clauses_hold(name: str, kind: str) -> None:
    for window in (56, CLAUSE_WINDOW) if name in BASELINE else (56,):
        operands = draw(name, kind, cases(5_000), 11)
        report = judge(operands, model(operands, name, window), name, window)
        assert report.checked == cases(5_000)
        assert not report.violations, report.violations[0]


def test_a_window_that_is_too_small_is_found_out() -> None:
    """The oracle can fail: at 23 bits single products are no longer fused multiply-adds."""
    operands = draw("fp16", "single_product", 4000, 12)
    report = judge(operands, model(operands, "fp16", 23), "fp16", 23)
    assert report.violations
    assert "clause 2" in report.violations[0][1]


@pytest.mark.parametrize("name", MODES)
def test_corrupted_results_are_found_out(name: str) -> None:
    """One unit in the last place off an exact result breaks a clause."""
    operands = draw(name, "uniform", 500, 13)
    d = model(operands, name, 56)
    report = judge(operands, d ^ np.uint64(1), name, 56)
    assert len(report.violations) > 400


@pytest.mark.parametrize("name", MODES)
def test_order_does_not_matter(name: str) -> None:
    rng = np.random.default_rng(14)
    for kind in stimuli.DOT_PRODUCT_KINDS:
        a, b, c = draw(name, kind, 1500, 15)
        order = rng.permuted(np.tile(np.arange(a.shape[1]), (len(c), 1)), axis=1)
        permuted = np.take_along_axis(a, order, 1), np.take_along_axis(b, order, 1), c
        assert np.array_equal(model((a, b, c), name, 56), model(permuted, name, 56))


@pytest.mark.parametrize("name", ["fp16", "fp32"])
def test_one_product_is_softfloats_multiply_add(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    for kind in stimuli.DOT_PRODUCT_KINDS:
        a, b, c = draw(name, kind, cases(20_000), 16, products=1)
        expected = softfloat.multiply_add(as_fp32(a[:, 0], fmt), as_fp32(b[:, 0], fmt), c, FP32)
        assert np.array_equal(model((a, b, c), name, 56), expected), kind


@pytest.mark.parametrize(("products", "window"), [(4, 56), (17, 56), (64, 56), (7, 60)])
def test_fast_and_general_sums_agree(
    monkeypatch: pytest.MonkeyPatch, products: int, window: int
) -> None:
    """64-bit sums, in one and in two limbs, against Python integers."""
    for kind in stimuli.DOT_PRODUCT_KINDS:
        operands = draw("fp32", kind, 400, 17, products=products)
        fast = model(operands, "fp32", window)
        with monkeypatch.context() as patch:
            patch.setattr(fused, "_sum_int64", fused._sum_exact)
            assert np.array_equal(fast, model(operands, "fp32", window)), kind


@pytest.mark.parametrize("window", [61, 100, 120])
def test_wide_windows_use_the_general_sum(window: int) -> None:
    operands = draw("fp32", "accumulator_cancels", 1000, 18)
    report = judge(operands, model(operands, "fp32", window), "fp32", window)
    assert not report.violations


def accuracy(name: str, kind: str, window: int, seed: int) -> npt.NDArray[np.float64]:
    """(chain, model) x (largest, mean) error in units in the last place."""
    # Never fewer cases: where sums cancel, the largest error of a small sample is chance.
    operands = draw(name, kind, 20_000, seed)
    results = [fma_chain(*operands, FLOAT_FORMATS[name]), model(operands, name, window)]
    errors = ulp_errors(*operands, results, FLOAT_FORMATS[name])
    return np.stack([errors.max(axis=1), errors.mean(axis=1)], axis=1)


@pytest.mark.parametrize("kind", ACCURACY_KINDS)
@pytest.mark.parametrize("name", slow_but([], MODES, ["fp16"]))
def test_no_less_accurate_than_the_chain(name: str, kind: str) -> None:
    chain, ours = accuracy(name, kind, 56, 21)
    assert (ours <= chain).all(), f"largest, mean: {ours}, chain {chain}"


@pytest.mark.parametrize("kind", [kind for kind in ACCURACY_KINDS if kind not in BEYOND])
@pytest.mark.parametrize("name", slow_but([], BASELINE, ["fp16"]))
def test_small_window_is_no_less_accurate_than_the_chain(name: str, kind: str) -> None:
    chain, ours = accuracy(name, kind, ACCURATE_WINDOW, 22)
    assert (ours <= chain).all(), f"largest, mean: {ours}, chain {chain}"


def test_exact_zero_below_the_window_is_reported_apart() -> None:
    """p + q - r with every term's low places cut off cancels exactly, but the cut terms do not:
    1 * 1 - (1 - 2**-24) * 1 - 2**-24 * 1, seen through a window of 20 bits."""
    one, below, tiny = 0x3F800000, 0xBF7FFFFF, 0xB3800000
    a = np.array([[one, below, tiny]], np.uint64)
    b = np.array([[one, one, one]], np.uint64)
    operands = a, b, np.array([0], np.uint64)
    assert model(operands, "fp32", 56)[0] == 0
    d = model(operands, "fp32", 20)
    assert d[0] != 0
    report = judge(operands, d, "fp32", 20)
    assert report.unreachable_zeros == [0]
    assert not report.violations


def test_broadcasting_and_shapes() -> None:
    a = np.zeros((3, 1, 4), np.uint64)
    b = np.zeros((2, 4), np.uint64)
    d = model((a, b, np.zeros((3, 2), np.uint64)), "fp32", 56)
    assert d.shape == (3, 2)
    message = r"^`a` and `b` must have as many products, not \(3, 1, 4\) and \(2, 5\)$"
    with pytest.raises(ValueError, match=message):
        model((a, np.zeros((2, 5), np.uint64), np.zeros((3, 2), np.uint64)), "fp32", 56)
