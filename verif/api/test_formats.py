"""``tilewright.formats`` against NumPy, ml_dtypes and SciPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tilewright import formats, units
from tilewright.verif.kit.refusal import refused

pytestmark = pytest.mark.quick

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
    # Integers of any type are words, and those of a list.
    again = formats.from_words(words.astype(object), name)
    narrow = formats.from_words(words.tolist(), name)
    assert np.array_equal(narrow, again)
    assert np.array_equal(formats.to_words(narrow, name), words)


def test_one_number() -> None:
    for name in formats.NUMBERS:
        word = formats.to_words(2, name)
        assert (word.shape, formats.from_words(word, name)) == ((), 2)
        assert formats.from_words([], name).shape == (0,)


def test_integers_are_taken_modulo() -> None:
    for given in ([300, -1], [300.0, -1.0], [300 + 0j, -1], np.array([300, -1], object)):
        assert formats.to_words(given, "int8").tolist() == [44, 255]
    large: list[Any] = [(1 << 64) - 1, -(1 << 63), (1 << 80) + 5, 2.0**63]
    expected = [(1 << 64) - 1, 1 << 63, 5, 1 << 63]
    assert formats.to_words(large, "int64").tolist() == expected


@pytest.mark.parametrize(
    ("numbers", "name", "message"),
    [
        ([1, 2.5, 3.5], "int8", "numbers of int8 must be whole, not 2.5"),
        (np.float16(np.nan), "int32", "numbers of int32 must be whole, not nan"),
        ([np.inf, 1.0], "int64", "numbers of int64 must be whole, not inf"),
        ([2j], "int16", "numbers of int16 must be real, not 2j"),
        ([[1, 1 + 2j]], "fp16", "numbers of fp16 must be real, not (1+2j)"),
    ],
)
def test_numbers_that_a_format_cannot_take(numbers: Any, name: str, message: str) -> None:
    with refused(ValueError, message):
        formats.to_words(numbers, name)


@pytest.mark.parametrize(
    ("words", "name", "kind", "message"),
    [
        ([1, -1], "fp16", ValueError, "words must be of 16 bits, not -1"),
        ([1 << 16], "bf16", ValueError, "words must be of 16 bits, not 65536"),
        (np.array([3, 256]), "int8", ValueError, "words must be of 8 bits, not 256"),
        ([1, 1 << 64], "fp64", ValueError, "words must be of 64 bits, not 18446744073709551616"),
        (np.array([-2]), "fp32c", ValueError, "words must be of 64 bits, not -2"),
        ([1, 1.0], "fp32", TypeError, "words must be integers, not 1.0"),
        (np.array([0.5]), "fp32", TypeError, "words must be integers, not 0.5"),
        (["1"], "fp32", TypeError, "words must be integers, not '1'"),
    ],
)
def test_what_is_no_word(words: Any, name: str, kind: type[Exception], message: str) -> None:
    with refused(kind, message):
        formats.from_words(words, name)


def test_c2sr() -> None:
    layout = units["c2sr_converter"].config(channels=3).layout
    matrix = random_array((20, 30), density=0.2, rng=np.random.default_rng(2), dtype=np.float32)
    stored = formats.to_c2sr(matrix, layout)
    assert isinstance(stored, formats.C2sr)
    assert (formats.from_c2sr(stored) != matrix.tocsr()).nnz == 0
    with refused(TypeError, "`matrix` must be a sparse matrix of SciPy, not list"):
        formats.to_c2sr([[1]], layout)


def test_ciss() -> None:
    """Converts a tensor by each mode, and a SciPy matrix, to CISS and back."""
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


def test_arguments_of_other_types() -> None:
    matrix = csr_array(np.eye(2))
    entries: Any = [[0, 0]]
    numbers: Any = [1.0]
    calls: dict[str, Any] = {
        "`layout` must be a C2srLayout, not NoneType": lambda: formats.to_c2sr(matrix, None),  # type: ignore[arg-type]
        "`layout` must be a CissLayout, not int": lambda: formats.to_ciss(matrix, 2),  # type: ignore[arg-type]
        "`tensor` must be a Tensor or a sparse matrix of SciPy, not list": lambda: formats.to_ciss(
            entries, units["tensaurus"].config(rows=2).layout(2)
        ),
        "`matrix` must be a C2sr, not csr_array": lambda: formats.from_c2sr(matrix),
        "`stream` must be a Ciss, not csr_array": lambda: formats.from_ciss(matrix),
        "`indices` must be an array of NumPy, not list": lambda: formats.Tensor(
            shape=(1, 1), indices=entries, values=np.ones(1)
        ),
        "`values` must be an array of NumPy, not list": lambda: formats.Tensor(
            shape=(1, 1), indices=np.array(entries), values=numbers
        ),
    }
    for message, call in calls.items():
        with refused(TypeError, message):
            call()


def test_refusals() -> None:
    known = ", ".join(formats.NUMBERS)
    for function in (formats.to_words, formats.from_words):
        with refused(ValueError, f"`format` must be one of {known}, not 'fp24'"):
            function([1], "fp24")
