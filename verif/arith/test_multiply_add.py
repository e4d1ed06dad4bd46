"""The model of the fused multiply-add, against SoftFloat and exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.sim.numbers.multiply_add import multiply_add
from tilewright.verif.kit.sampling import cases
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.dot_product import exact_terms
from tilewright.verif.oracles.values import round_exact

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", ["fp16", "fp32", "fp64"])
def test_against_softfloat(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    rng = np.random.default_rng(61)
    for kind in stimuli.DOT_PRODUCT_KINDS:
        a, b, c = stimuli.dot_products(rng, kind, cases(50_000), 1, fmt, fmt)
        expected = softfloat.multiply_add(a[:, 0], b[:, 0], c, fmt)
        assert np.array_equal(multiply_add(a[:, 0], b[:, 0], c, fmt), expected), kind


@pytest.mark.parametrize("name", [name for name, fmt in FLOAT_FORMATS.items() if fmt.has_infinity])
def test_against_exact_arithmetic(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    rng = np.random.default_rng(62)
    for kind in stimuli.DOT_PRODUCT_KINDS:
        a, b, c = stimuli.dot_products(rng, kind, cases(4000), 1, fmt, fmt)
        found = multiply_add(a[:, 0], b[:, 0], c, fmt)
        for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
            terms = exact_terms(x, y, z, fmt, fmt)
            nearest = round_exact(terms.sum, terms.unit, fmt, terms.negative_zeros)
            assert result == (nearest if terms.special is None else terms.special), (x, y, z)


@pytest.mark.parametrize("name", ["fp16", "fp32", "fp64"])
def test_products_beside_a_tie(name: str) -> None:
    """A power of two and a last place or few, half a unit in the last place of the addend: what is
    farthest below decides."""
    fmt = FLOAT_FORMATS[name]
    rng = np.random.default_rng(64)
    hidden, power = 1 << fmt.fraction_bits, 1 << (2 * fmt.fraction_bits + 1)
    nearest = 1 << (fmt.significand_bits - 7)
    factors: list[tuple[int, int]] = []
    while len(factors) < 100:
        x = hidden + int(rng.integers(1, hidden))
        for y in (power // x, power // x + 1):
            if 0 < abs(x * y - power) < nearest:
                factors.append((x - hidden, y - hidden))
    # Weights of 1 and 2 of the product, and half of a unit in the addend's last place.
    low = fmt.bias - fmt.fraction_bits
    fields = low + rng.integers(-2, 3, 100)
    a, b = (np.array(column, np.uint64) for column in zip(*factors, strict=True))
    a |= fields.astype(np.uint64) << np.uint64(fmt.fraction_bits)
    b |= np.uint64(fmt.bias << fmt.fraction_bits)
    c = np.uint64((fmt.bias + 1) * hidden) + rng.integers(0, 4, 100, dtype=np.uint64)
    for sign in (0, 1 << (fmt.bits - 1)):
        minus = a ^ np.uint64(sign)
        expected = softfloat.multiply_add(minus, b, c, fmt)
        assert np.array_equal(multiply_add(minus, b, c, fmt), expected)


@pytest.mark.parametrize("name", ["fp16", "fp32", "fp64"])
def test_operands_broadcast(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    rng = np.random.default_rng(63)
    a, b = (stimuli.values(rng, "uniform", shape, fmt) for shape in ((5, 1), (4,)))
    whole = multiply_add(a, b, fmt.one, fmt)
    assert whole.shape == (5, 4)
    for m, n in np.ndindex(5, 4):
        assert multiply_add(a[m, 0], b[n], fmt.one, fmt) == whole[m, n]
