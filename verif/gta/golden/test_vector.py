"""Vector operations against SoftFloat, exact arithmetic and Python's integers."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS, INT_FORMATS, FloatFormat
from tilewright.hw.spec.gta import FORMATS_OF_GTA, is_float
from tilewright.sim.gta.golden.vector import OPERATIONS, elementwise
from tilewright.verif.kit.sampling import by_size, cases, integer_pairs, operand_pairs
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.dot_product import exact_terms
from tilewright.verif.oracles.softfloat import decode, order_key, round_exact

from .references import FLOATS, signed, wrapped

pytestmark = pytest.mark.quick

Array = npt.NDArray[Any]

INTEGERS = tuple(name for name in FORMATS_OF_GTA if not is_float(name))
COUNT = by_size(10_000, 40_000, 1_000_000)

ON_INTEGERS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "fma": lambda a, b, c: a * b + c,
    "min": np.minimum,
    "max": np.maximum,
    "eq": lambda a, b: (a == b).astype(object) * 1,
    "ne": lambda a, b: (a != b).astype(object) * 1,
    "lt": lambda a, b: (a < b).astype(object) * 1,
    "le": lambda a, b: (a <= b).astype(object) * 1,
}
"""Functions on signed integers of unlimited size."""


@pytest.mark.parametrize("operation", ON_INTEGERS)
@pytest.mark.parametrize("format", INTEGERS)
def test_integers(format: str, operation: str) -> None:
    fmt = INT_FORMATS[format]
    a, b = integer_pairs(fmt, COUNT // 2, 71)
    operands = [a, b, np.random.default_rng(72).permutation(a)][: OPERATIONS[operation].operands]
    exact = ON_INTEGERS[operation](*(signed(words, fmt.bits) for words in operands))
    assert np.array_equal(elementwise(operation, format, *operands), wrapped(exact, fmt.bits))


@pytest.mark.parametrize("format", INTEGERS)
def test_upper_halves_of_products(format: str) -> None:
    bits = INT_FORMATS[format].bits
    a, b = integer_pairs(INT_FORMATS[format], COUNT // 2, 73)
    exact = (signed(a, bits) * signed(b, bits)) >> bits
    assert np.array_equal(elementwise("mulh", format, a, b), wrapped(exact, bits))


@pytest.mark.parametrize("format", INTEGERS)
def test_shifts_by_any_word(format: str) -> None:
    """Shifts by the low bits of a word; low bits of 0 and w - 1 occur."""
    bits = INT_FORMATS[format].bits
    a, b = integer_pairs(INT_FORMATS[format], COUNT // 2, 74)
    places = b.astype(object) % bits
    assert {0, bits - 1} <= set(places.tolist())
    left = wrapped(a.astype(object) << places, bits)
    assert np.array_equal(elementwise("sll", format, a, b), left)
    assert np.array_equal(elementwise("srl", format, a, b), wrapped(a.astype(object) >> places, 64))
    right = wrapped(signed(a, bits) >> places, bits)
    assert np.array_equal(elementwise("sra", format, a, b), right)


@pytest.mark.parametrize("format", FLOATS)
def test_floats_that_round(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    a, b = operand_pairs(fmt, COUNT, 75)
    assert np.array_equal(elementwise("add", format, a, b), softfloat.add(a, b, fmt))
    assert np.array_equal(elementwise("mul", format, a, b), softfloat.multiply(a, b, fmt))
    minus = b ^ np.uint64(1 << (fmt.bits - 1))
    assert np.array_equal(elementwise("sub", format, a, b), softfloat.add(a, minus, fmt))


@pytest.mark.parametrize("format", [name for name in FLOATS if name != "bf16"])
def test_fused_floats(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    a, b = operand_pairs(fmt, COUNT, 76)
    c = np.random.default_rng(77).permutation(a)
    assert np.array_equal(elementwise("fma", format, a, b, c), softfloat.multiply_add(a, b, c, fmt))


def test_fused_bf16_against_exact_arithmetic() -> None:
    """SoftFloat has none. Addends of all kinds, among them such that cancel the product."""
    fmt = FLOAT_FORMATS["bf16"]
    rng = np.random.default_rng(78)
    for kind in stimuli.DOT_PRODUCT_KINDS:
        a, b, c = stimuli.dot_products(rng, kind, cases(80_000) // 10, 1, fmt, fmt)
        found = elementwise("fma", "bf16", a[:, 0], b[:, 0], c)
        for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
            terms = exact_terms(x, y, z, fmt, fmt)
            nearest = round_exact(terms.sum, terms.unit, fmt, terms.negative_zeros)
            assert result == (nearest if terms.special is None else terms.special)


@pytest.mark.parametrize("format", FLOATS)
def test_relations_of_floats(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    a, b = operand_pairs(fmt, COUNT // 2, 79)
    equal, less = softfloat.equal(a, b, fmt), softfloat.less(a, b, fmt)
    for operation, holds in {
        "eq": equal, "ne": ~equal, "lt": less, "le": less | equal
    }.items():  # fmt: skip
        assert np.array_equal(elementwise(operation, format, a, b), holds), operation


def extreme(a: int, b: int, fmt: FloatFormat, choose: Callable[..., int]) -> int:
    """IEEE 754-2019 minimum or maximum."""
    if "nan" in (decode(a, fmt).kind, decode(b, fmt).kind):
        return fmt.nan
    return choose(a, b, key=lambda pattern: order_key(pattern, fmt))


@pytest.mark.parametrize("format", FLOATS)
@pytest.mark.parametrize(("operation", "choose"), [("min", min), ("max", max)])
def test_extremes_of_floats(format: str, operation: str, choose: Callable[..., int]) -> None:
    fmt = FLOAT_FORMATS[format]
    a, b = operand_pairs(fmt, COUNT // 10, 80)
    found = elementwise(operation, format, a, b)
    for x, y, result in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        assert result == extreme(x, y, fmt, choose)


def test_every_operation_is_tested() -> None:
    assert set(OPERATIONS) == {*ON_INTEGERS, "mulh", "sll", "srl", "sra"}
    floating = {name for name, row in OPERATIONS.items() if row.floats}
    assert floating == {"add", "sub", "mul", "fma", "min", "max", "eq", "ne", "lt", "le"}


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
def test_operands_broadcast(format: str) -> None:
    a = np.array([[0], [1]], np.uint64)
    assert elementwise("max", format, a, [0, 0, 0]).tolist() == [[0] * 3, [1] * 3]
    assert elementwise("sub", format, 1, 1).tolist() == 0


@pytest.mark.parametrize(
    ("operation", "format", "operands", "message"),
    [
        ("sll", "fp32", (0, 0), "`operation` on fp32 must be one of add, sub, mul, fma, min, max, "
         "eq, ne, lt, le, not 'sll'"),
        ("div", "int8", (0, 0), "`operation` on int8 must be one of add, sub, mul, mulh, fma, min, "
         "max, sll, srl, sra, eq, ne, lt, le, not 'div'"),
        ("add", "tf32", (0, 0), "`format` must be one of int8, int16, int32, int64, bf16, fp16, "
         "fp32, fp64, not 'tf32'"),
        ("add", "bf16", (0, 1 << 16), "words must be of 16 bits, not 65536"),
    ],
)  # fmt: skip
def test_what_is_refused(operation: str, format: str, operands: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        elementwise(operation, format, *operands)


def test_as_many_operands_as_the_operation_takes() -> None:
    with pytest.raises(TypeError, match=r"^`fma` takes 3 operands, not 2$"):
        elementwise("fma", "int8", 0, 0)
