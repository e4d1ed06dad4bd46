"""``tilewright.formats`` against NumPy, ml_dtypes and SciPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tilewright import formats, units
from tilewright.verif.kit.refusal import refused

_NUMPY: dict[str, Any] = {
    "fp8e4m3": ml_dtypes.float8_e4m3fn,
    "fp8e5m2": ml_dtypes.float8_e5m2,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
}


@pytest.mark.parametrize("name", formats.NUMBERS)
def test_words(name: str) -> None:
    rng = np.random.default_rng(1)
    numbers: Any = rng.standard_normal((5, 7)) * 3
    if name.startswith("int"):
        numbers = rng.integers(-100, 100, (5, 7))
        expected = numbers.astype(name).view(f"u{int(name[3:]) // 8}")
        assert formats.from_words(formats.to_words(numbers, name), name).dtype == np.dtype(name)
    elif name == "tf32":
        # The upper 19 bits of fp32, ties to even.
        bits = numbers.astype(np.float32).view(np.uint32).astype(np.int64)
        expected = (bits + 0xFFF + (bits >> 13 & 1)) >> 13 << 13
        numbers = numbers.astype(np.float32)
    elif name == "fp32c":
        numbers = (numbers + 1j * numbers[::-1]).astype(np.complex64)
        expected = numbers.view(np.uint64)
    else:
        rounded = numbers.astype(_NUMPY[name])
        expected = rounded.view(f"u{rounded.itemsize}")
        back = formats.from_words(formats.to_words(numbers, name), name)
        assert np.array_equal(back.astype(np.float64), rounded.astype(np.float64))
    words = formats.to_words(numbers, name)
    assert words.dtype == np.uint64
    assert np.array_equal(words, expected.astype(np.uint64))
    # Any integers are words.
    narrow = formats.from_words(words.astype(np.int64), name)
    assert np.array_equal(formats.to_words(narrow, name), words)


def test_c2sr() -> None:
    layout = units["c2sr_converter"].config(channels=3).layout
    matrix = random_array((20, 30), density=0.2, rng=np.random.default_rng(2), dtype=np.float32)
    stored = formats.to_c2sr(matrix, layout)
    assert isinstance(stored, formats.C2sr)
    assert (formats.from_c2sr(stored) != matrix.tocsr()).nnz == 0
    with refused(TypeError, "`matrix` must be a sparse matrix of SciPy, not list"):
        formats.to_c2sr([[1]], layout)


def test_ciss() -> None:
    """Of a tensor by any mode, and of a matrix of SciPy."""
    config = units["tensaurus"].config(rows=2)
    places = np.array([[0, 0, 1], [0, 1, 0], [2, 1, 1]])
    values = np.array([1.0, 2.0, 3.0])
    tensor = formats.Tensor(shape=(3, 2, 2), indices=places, values=values)
    for mode in range(3):
        stream = formats.to_ciss(tensor, config.layout(3), mode)
        assert isinstance(stream, formats.Ciss)
        again = formats.from_ciss(stream)
        found = dict(zip(map(tuple, again.indices.tolist()), again.values.tolist(), strict=True))
        assert found == dict(zip(map(tuple, places.tolist()), values.tolist(), strict=True))
    matrix = csr_array(np.array([[0, 1.5], [2, 0]]))
    again = formats.from_ciss(formats.to_ciss(matrix, config.layout(2)))
    assert (again.indices.tolist(), again.values.tolist()) == ([[0, 1], [1, 0]], [1.5, 2.0])


def test_refusals() -> None:
    known = ", ".join(formats.NUMBERS)
    for function in (formats.to_words, formats.from_words):
        with refused(ValueError, f"`format` must be one of {known}, not 'fp24'"):
            function([1], "fp24")
