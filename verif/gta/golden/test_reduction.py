"""Reductions of vectors: Python's integers, SoftFloat and ml_dtypes, one addition at a time."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA, is_float
from tilewright.sim.gta.golden.reduction import REDUCTIONS, reduce
from tilewright.sim.gta.golden.vector import elementwise
from tilewright.verif.kit.sampling import cases
from tilewright.verif.oracles import softfloat, stimuli

from .exact_integers import signed, wrapped
from .float_matrices import FLOATS

Array = npt.NDArray[Any]

INTEGERS = tuple(name for name in FORMATS_OF_GTA if not is_float(name))


@pytest.mark.parametrize("format", INTEGERS)
def test_integers(format: str) -> None:
    bits = FORMATS[format].bits
    rng = np.random.default_rng(81)
    a = rng.integers(0, (1 << bits) - 1, (cases(4000), 37), dtype=np.uint64, endpoint=True)
    start = rng.integers(0, (1 << bits) - 1, len(a), dtype=np.uint64, endpoint=True)
    whole = np.column_stack([signed(start, bits), signed(a, bits)])
    assert np.array_equal(reduce("sum", format, a, start), wrapped(whole.sum(axis=1), bits))
    assert np.array_equal(reduce("min", format, a, start), wrapped(whole.min(axis=1), bits))
    assert np.array_equal(reduce("max", format, a, start), wrapped(whole.max(axis=1), bits))
    assert np.array_equal(reduce("max", format, a), wrapped(whole[:, 1:].max(axis=1), bits))


@pytest.mark.parametrize("format", FLOATS)
def test_sums_of_floats_ascend(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    rng = np.random.default_rng(82)
    shape = cases(4000), 33
    a = np.concatenate([stimuli.values(rng, kind, shape, fmt) for kind in stimuli.VALUE_KINDS])
    start = rng.permutation(a[:, 0])
    total = start
    for k in range(a.shape[1]):
        total = softfloat.add(total, a[:, k], fmt)
    assert np.array_equal(reduce("sum", format, a, start), total)


@pytest.mark.parametrize("format", FLOATS)
def test_long_sums_of_floats_ascend(format: str) -> None:
    """Adds numbers of one sign and magnitude, for which the order matters most."""
    fmt = FLOAT_FORMATS[format]
    rng = np.random.default_rng(83)
    near_one = np.uint64(fmt.one) - rng.integers(0, 1 << 6, 3000, dtype=np.uint64)
    total = np.zeros(1, np.uint64)
    for k in range(len(near_one)):
        total = softfloat.add(total, near_one[k : k + 1], fmt)
    assert reduce("sum", format, near_one) == total[0]


def test_bf16_sums_round_at_each_step() -> None:
    """Rounds after each addition as ml_dtypes does; a sum of ones stops at 256."""
    ones = np.full(300, FLOAT_FORMATS["bf16"].one, np.uint64)
    total = ml_dtypes.bfloat16(0)
    for _ in ones:
        total = total + ml_dtypes.bfloat16(1)
    assert reduce("sum", "bf16", ones) == np.asarray(total).view(np.uint16)
    assert float(total) == 256


@pytest.mark.parametrize("format", FLOATS)
@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_are_those_of_pairs(format: str, operation: str) -> None:
    """Compares with the element-wise operation, which is checked against exact arithmetic."""
    fmt = FLOAT_FORMATS[format]
    rng, shape = np.random.default_rng(84), (cases(2000), 5)
    kinds = ("bits", "special", "uniform")
    a = np.concatenate([stimuli.values(rng, kind, shape, fmt) for kind in kinds])
    chosen = a[:, 0]
    for k in range(1, a.shape[1]):
        chosen = elementwise(operation, format, chosen, a[:, k])
    assert np.array_equal(reduce(operation, format, a), chosen)


@pytest.mark.parametrize("format", FORMATS_OF_GTA)
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_of_no_elements_the_start_is_left(format: str, operation: str) -> None:
    start = FORMATS[format].constant(REDUCTIONS[operation])
    assert reduce(operation, format, np.zeros((2, 0), np.uint64)).tolist() == [start] * 2
    assert reduce(operation, format, np.zeros(0, np.uint64)).tolist() == start
    assert reduce(operation, format, np.zeros(0, np.uint64), 1).tolist() == 1


@pytest.mark.parametrize("format", FLOATS)
def test_zeros_and_nan(format: str) -> None:
    fmt = FLOAT_FORMATS[format]
    minus = 1 << (fmt.bits - 1)
    assert reduce("sum", format, [minus, minus]).tolist() == 0
    assert reduce("sum", format, [minus, minus], minus).tolist() == minus
    assert reduce("max", format, [minus, minus]).tolist() == minus
    assert reduce("max", format, [minus, 0]).tolist() == 0
    assert reduce("min", format, [0, minus]).tolist() == minus
    payload = fmt.infinity | minus | 1
    for operation in REDUCTIONS:
        assert reduce(operation, format, [0, payload, fmt.one]).tolist() == fmt.nan
    assert reduce("sum", format, [fmt.infinity, fmt.infinity | minus]).tolist() == fmt.nan
    assert reduce("sum", format, [fmt.largest, fmt.largest, fmt.one]).tolist() == fmt.infinity


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mean", "int8", [0]), "`operation` must be one of sum, min, max, not 'mean'"),
        (("sum", "fp8", [0]), "`format` must be one of int8, int16, int32, int64, bf16, fp16, "
         "fp32, fp64, not 'fp8'"),
        (("sum", "int8", [[0], [1]], 0), "`start` must have shape (2,), not ()"),
        (("sum", "int8", [300]), "words must be of 8 bits, not 300"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        reduce(*arguments)
