"""Numbers rounded to the unit's formats: once, to nearest even."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tilewright.apps.common.rounding import Rounded, largest
from tilewright.apps.common.units.matrix_unit_numbers import numbers_of
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS
from tilewright.hw.spec.m3xu import MODES, M3xuConfig
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.verif.kit.commands import Run

pytestmark = pytest.mark.quick


def operands(values: NDArray[Any], mode: str) -> Rounded:
    return numbers_of(M3xuConfig(), mode).operands(values)


def _exactly_rounded(value: float, name: str) -> float:
    """Round to nearest even in rational arithmetic."""
    fmt = FLOAT_FORMATS[name]
    exact = abs(Fraction(value))
    if not exact:
        return value
    exponent = fmt.emax
    while exponent > fmt.emin and exact < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - fmt.fraction_bits)
    rounded = round(exact / unit) * unit
    if rounded > (2 - Fraction(1, 2**fmt.fraction_bits)) * Fraction(2) ** fmt.emax:
        return float(np.copysign(np.inf, value))
    return float(np.copysign(float(rounded), value))


@pytest.mark.parametrize("mode", ["fp16", "bf16", "tf32", "fp32"])
def test_operands_are_rounded_once(mode: str) -> None:
    fmt = MODES[mode].element
    generator = np.random.default_rng(5)
    scales = generator.integers(fmt.emin - fmt.fraction_bits - 3, fmt.emax + 2, 400)
    values = np.ldexp(generator.uniform(1, 2, 400), scales)
    # Ties, and ties broken by a bit that a detour over fp32 would lose.
    ties = np.ldexp(2.0**fmt.fraction_bits + np.arange(40) + 0.5, scales[:40] - fmt.fraction_bits)
    values = np.concatenate([values, ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), [0]])
    values[::2] *= -1
    rounded = operands(values, mode)
    expected = np.array([_exactly_rounded(float(v), fmt.name) for v in values])
    np.testing.assert_array_equal(rounded.values, expected)
    np.testing.assert_array_equal(np.signbit(rounded.values), np.signbit(values))
    assert rounded.overflows == np.count_nonzero(np.isinf(expected)) > 0
    assert rounded.vanished == np.count_nonzero((expected == 0) & (values != 0)) > 0
    words = rounded.words
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if mode == "fp16":
            np.testing.assert_array_equal(words, values.astype(np.float16).view(np.uint16))
        elif mode == "fp32":
            np.testing.assert_array_equal(words, values.astype(np.float32).view(np.uint32))
        else:
            shift = np.uint32(32 - fmt.container_bits)
            single = (words.astype(np.uint32) << shift).view(np.float32)
            np.testing.assert_array_equal(single, expected.astype(np.float32))


def test_nan_and_complex_operands() -> None:
    nans = {"fp16": 0x7E00, "bf16": 0x7FC0, "tf32": 0x7FC00000, "fp32": 0x7FC00000}
    for mode, nan in nans.items():
        assert operands(np.array([np.nan]), mode).words.tolist() == [nan]
    values = np.array([1.5 - 2.25j, -0.1 + 3j])
    words = operands(values, "fp32c").words
    read = numbers_of(M3xuConfig(), "fp32c").results(words)
    np.testing.assert_array_equal(read, values.astype(np.complex64))


@pytest.mark.parametrize("fmt", ["fp8e4m3", "fp8e5m2", "fp64", "int8", "int16", "int32"])
def test_operands_of_the_semiring_unit(fmt: str) -> None:
    """Compares with ml_dtypes and NumPy; numbers out of range are counted."""
    types: dict[str, Any] = {
        "fp8e4m3": ml_dtypes.float8_e4m3fn, "fp8e5m2": ml_dtypes.float8_e5m2, "fp64": np.float64,
        "int8": np.int8, "int16": np.int16, "int32": np.int32,
    }  # fmt: skip
    numbers = numbers_of(Simd2Config(format=fmt), "mma")
    generator = np.random.default_rng(3)
    values = np.rint(generator.normal(0, 40, 300)) / (1 if fmt.startswith("int") else 8)
    values = np.clip(values, -127, 127)
    rounded = numbers.operands(values)
    expected = values.astype(types[fmt])
    np.testing.assert_array_equal(rounded.values, expected.astype(np.float64))
    width = expected.dtype.itemsize
    np.testing.assert_array_equal(rounded.words, expected.view(f"u{width}"))
    assert rounded.overflows == 0
    assert rounded.inexact == np.count_nonzero(expected.astype(np.float64) != values)
    beyond = numbers.operands(np.array([1e300 if fmt != "fp64" else 1.0, 0.0]))
    assert beyond.overflows == (fmt != "fp64")
    whole = numbers.results(numbers.accumulators(values).words)
    np.testing.assert_array_equal(whole, values)
    assert whole.dtype == (
        np.int64 if fmt.startswith("int") else np.float64 if fmt == "fp64" else np.float32
    )


def test_largest_values() -> None:
    expected = {"fp8e4m3": 448, "fp8e5m2": 57344, "fp16": 65504, "int8": 127, "int32": 2**31 - 1}
    assert {name: largest(FORMATS[name]) for name in expected} == expected
    assert largest(FORMATS["fp64"]) == np.finfo(np.float64).max


# Infinite numbers and NaN in files: every command that reads floats refuses them or warns.

WARN = {
    "gemm": "a.npy a.npy --backend model",
    "dft": "v.npy --backend model",
    "conv2d": "a.npy --filter box --backend model",
    "spgemm": "a.npy --backend model",
    "spmv": "a.npy --backend model",
    "vector": "add a.npy a.npy --backend model",
    "strassen": "a.npy a.npy",
    "polyval": "v.npy one.npy",
    "stencil": "a.npy --weights taps.npy --steps 1",
    "fft": "v.npy",
}
"""Commands that compute with special numbers."""

REFUSE = {
    "pagerank": "a.npy",
    "cg": "a.npy",
    "kmeanspp": "a.npy",
    "apsp": "a.npy",
    "knn": "a.npy a.npy",
    "lu": "a.npy",
    "pca": "a.npy",
    "eliminate": "a.npy",
    "spmul": "a.npy a.npy",
    "closure": "a.npy",
}


@pytest.fixture(autouse=True)
def _files(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.directory)
    a = np.eye(4)
    a[1, 2] = a[2, 1] = np.nan
    a[0, 3] = np.inf
    np.save("a.npy", a)
    np.save("v.npy", np.array([1, np.nan, np.inf, 2]))
    np.save("one.npy", np.ones(3))
    np.save("taps.npy", np.full((3, 3), 0.125))


@pytest.mark.parametrize("app", WARN)
def test_warnings(run: Run, app: str) -> None:
    words = WARN[app].split()
    assert run(app, *words) == 0
    file = next(word for word in words if word.endswith(".npy"))
    wrong, count = (2, 4) if file == "v.npy" else (3, 7 if app.startswith("sp") else 16)
    assert f"warning: {file}: {wrong} of {count} values are infinite or NaN\n" in run.err


@pytest.mark.parametrize("app", REFUSE)
def test_refusals(run: Run, app: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuses with one line, without a warning before it."""
    assert run.refused(app, *REFUSE[app].split()).startswith("a.npy: ")
    assert capsys.readouterr() == ("", "")
