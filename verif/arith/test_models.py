"""The scalar models against SoftFloat, NumPy, ml_dtypes and exact arithmetic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.sim.numbers import scalars as arith
from tilewright.sim.numbers.floats import bit_length, from_container, to_container, unpack
from tilewright.verif.kit.sampling import cases, operand_pairs
from tilewright.verif.oracles import softfloat, stimuli
from tilewright.verif.oracles.values import decode, round_exact

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", softfloat.FORMATS)
def test_operations_against_softfloat(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    a, b = operand_pairs(fmt, cases(200_000), 31)
    assert np.array_equal(arith.add(a, b, fmt), softfloat.add(a, b, fmt))
    assert np.array_equal(arith.multiply(a, b, fmt), softfloat.multiply(a, b, fmt))
    relation = arith.compare(a, b, fmt)
    assert np.array_equal(relation.less, softfloat.less(a, b, fmt))
    assert np.array_equal(relation.equal, softfloat.equal(a, b, fmt))


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_unpacked_values_are_the_decoded_ones(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    rng = np.random.default_rng(32)
    patterns = np.concatenate(
        [stimuli.special_values(fmt), stimuli.values(rng, "bits", (2000,), fmt)]
    )
    fields = unpack(patterns, fmt)
    for index, pattern in enumerate(patterns.tolist()):
        value = decode(pattern, fmt)
        assert fields.negative[index] == value.negative
        assert fields.nan[index] == (value.kind == "nan")
        assert fields.infinite[index] == (value.kind == "infinite")
        if value.kind != "finite":
            continue
        assert fields.zero[index] == (value.integer == 0)
        if value.integer:
            shift = value.exponent - (int(fields.exponent[index]) - fmt.fraction_bits)
            assert int(fields.significand[index]) == abs(value.integer) << shift


@pytest.mark.parametrize("name", FLOAT_FORMATS)
@pytest.mark.parametrize("wide", ["fp32", "fp64"])
def test_conversion_against_exact_rounding(name: str, wide: str) -> None:
    fmt, source = FLOAT_FORMATS[name], FLOAT_FORMATS[wide]
    rng = np.random.default_rng(33)
    drawn = [stimuli.values(rng, kind, (2000,), source) for kind in stimuli.VALUE_KINDS]
    near = stimuli.values(rng, "log_uniform", (2000,), fmt)
    patterns = np.concatenate([*drawn, arith.convert(near, fmt, source)])
    got = arith.convert(patterns, source, fmt)
    for pattern, result in zip(patterns.tolist(), got.tolist(), strict=True):
        value = decode(pattern, source)
        if value.kind == "nan":
            assert result == fmt.nan
        elif value.kind == "finite":
            zero = value.negative
            assert result == round_exact(value.integer, value.exponent, fmt, zero)


@pytest.mark.parametrize(
    ("name", "dtype"), [("bf16", ml_dtypes.bfloat16), ("fp8e5m2", ml_dtypes.float8_e5m2),
                        ("fp8e4m3", ml_dtypes.float8_e4m3fn), ("fp16", np.float16)]
)  # fmt: skip
def test_conversion_against_libraries(name: str, dtype: type) -> None:
    fmt, fp32 = FLOAT_FORMATS[name], FLOAT_FORMATS["fp32"]
    a, _ = operand_pairs(fp32, cases(200_000), 34)
    with np.errstate(over="ignore", invalid="ignore"):
        theirs: Any = a.astype(np.uint32).view(np.float32).astype(dtype)
    bits = theirs.view(np.uint16 if fmt.bits == 16 else np.uint8).astype(np.uint64)
    expected = np.where(np.isnan(theirs.astype(np.float32)), np.uint64(fmt.nan), bits)
    assert np.array_equal(arith.convert(a, fp32, fmt), expected)


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_minimum_and_maximum_order_zeros_and_keep_nan(name: str) -> None:
    fmt = FLOAT_FORMATS[name]
    negative_zero = 1 << (fmt.bits - 1)
    zeros = np.array([0, negative_zero], np.uint64)
    assert arith.minimum(zeros, zeros[::-1], fmt).tolist() == [negative_zero] * 2
    assert arith.maximum(zeros, zeros[::-1], fmt).tolist() == [0, 0]
    nan = np.array([fmt.nan | negative_zero], np.uint64)
    assert arith.minimum(nan, zeros[:1], fmt).tolist() == [fmt.nan]
    assert arith.maximum(zeros[:1], nan, fmt).tolist() == [fmt.nan]


def test_round_value_breaks_ties_by_what_lies_below() -> None:
    fp16 = FLOAT_FORMATS["fp16"]
    tie = (1 << 11) + 1
    rounded = arith.round_value(False, [tie] * 3, 0, [0, 1, -1], fp16)
    assert rounded.tolist() == [0x6800, 0x6801, 0x6800]
    assert arith.round_value(True, 1, -100, 0, fp16).tolist() == 0x8000


def test_bit_length_of_every_power_of_two_and_its_neighbours() -> None:
    values = [max(0, (1 << k) + d) for k in range(63) for d in (-1, 0, 1)]
    lengths = bit_length(np.array(values, np.int64))
    assert lengths.tolist() == [value.bit_length() for value in values]


def test_containers_ignore_and_clear_their_padding() -> None:
    tf32 = FLOAT_FORMATS["tf32"]
    assert from_container(np.array([0x3F801FFF], np.uint32), tf32).tolist() == [0x3F800000 >> 13]
    assert to_container([0x3F800000 >> 13], tf32).tolist() == [0x3F800000]
