"""The semiring unit's parameters: what is refused, and what is worked out from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS, TIMES
from tilewright.hw.spec.simd2 import Simd2Config

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tile": 1}, "`tile` must be an integer in 2..16, not 1"),
    ({"tile": 17}, "`tile` must be an integer in 2..16, not 17"),
    ({"format": "int8", "accumulator": "fp32"},
     "`accumulator` must be one of int32, int64 for int8, not 'fp32'"),
    ({"format": "bf16", "accumulator": "fp16"},
     "`accumulator` must be one of bf16, fp32, fp64 for bf16, not 'fp16'"),
    ({"format": "fp64", "accumulator": "fp32"},
     "`accumulator` must be one of fp64 for fp64, not 'fp32'"),
    ({"alignment_bits": 25},
     "`alignment_bits` must be 0 or at least 26 for fp16 with fp32, not 25"),
    ({"format": "fp32", "alignment_bits": 54},
     "`alignment_bits` must be 0 or at least 56 for fp32 with fp64, not 54"),
    ({"multiplier_bits": 12}, "`multiplier_bits` must be one of 0, 11 for fp16, not 12"),
    ({"format": "fp32", "multiplier_bits": 11},
     "`multiplier_bits` must be one of 0, 12, 24 for fp32, not 11"),
    ({"format": "int16", "multiplier_bits": 12},
     "`multiplier_bits` must be one of 0 for int16, not 12"),
    ({"format": "fp32", "multiplier_bits": 12, "shared": False},
     "`shared` must be true with multiplier_bits 12, not False"),
    ({"tile": 3, "sparsity": "2:4"}, "`tile` must be even with sparsity 2:4, not 3"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "message"), REFUSED)
def test_what_cannot_be_built_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^`") as caught:
        Simd2Config(**parameters)
    assert str(caught.value) == message


def test_an_unknown_semiring_is_named() -> None:
    with pytest.raises(ValueError, match="plusmin") as caught:
        Simd2Config(ops=("mma", "plusmin"))
    assert all(name in str(caught.value) for name in ("`ops`", *SEMIRINGS))


@pytest.mark.parametrize("element", ["fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8"])
def test_the_window_keeps_the_bound_of_the_numerics_page(element: str) -> None:
    config = Simd2Config(format=element)
    if not isinstance(config.element, FloatFormat) or not isinstance(config.result, FloatFormat):
        assert config.window_bits == 0
        return
    assert config.window_bits >= config.least_alignment_bits > config.result.significand_bits
    assert config.window_bits >= 56
    assert config.resolved()["alignment_bits"] == config.window_bits


@pytest.mark.parametrize(
    ("plus", "times", "message"),
    [
        ("mul", "add", "`plus` must be one of add, min, max, or, not 'mul'"),
        ("add", "or", f"`times` must be one of {', '.join(TIMES)}, not 'or'"),
        ("min", "and", "`plus` must be or with times and, not 'min'"),
        ("max", "square_difference", "`plus` must be add with times square_difference, not 'max'"),
        ("or", "mul", "`times` must be and with plus or, not 'mul'"),
    ],
)
def test_a_row_of_operators_that_do_not_fit_is_refused(plus: str, times: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^`") as caught:
        replace(SEMIRINGS["mma"], name="new", opcode=9, plus=plus, times=times)
    assert str(caught.value) == message


def test_semirings_have_a_code_and_padding_of_their_own() -> None:
    """Each row's padding is a pair whose product is the identity."""
    codes = [row.opcode for row in SEMIRINGS.values()]
    assert codes == list(range(9))
    unit = Simd2Config(format="fp8e4m3")
    assert [name for name, row in unit.operations.items() if row.padding is not None] == [
        "mma", "orand", "addnorm"
    ]  # fmt: skip
    described = Simd2Config(format="int8").operations
    assert described["maxmul"].padding == (0x80, 0x7F)
    assert described["maxmul"].addend == 0x80000000
    assert described["minplus"].padding == (0x7F, 0x7F)
    assert described["minplus"].addend == 0x7FFFFFFF
    assert FORMATS["fp32"].constant("-inf") == 0xFF800000
