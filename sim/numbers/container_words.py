"""Numbers to and from container words: what lies in memory, a value in its word's upper bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format, IntFormat
from .scalars import Patterns
from .values import decode, encode


def to_bytes(patterns: Patterns, fmt: Format) -> bytes:
    """Patterns of a format of whole bytes, in the order of the array."""
    return np.ascontiguousarray(patterns).astype(f"<u{fmt.bits // 8}").tobytes()


def from_bytes(content: bytes, fmt: Format) -> Patterns:
    """The patterns again, in one dimension."""
    return np.frombuffer(content, f"<u{fmt.bits // 8}").astype(np.uint64)


def real_numbers(numbers: npt.ArrayLike, format: str) -> npt.NDArray[Any]:
    """The numbers, without imaginary parts that are 0. Raises ValueError for one that is not."""
    array = np.asarray(numbers)
    if array.dtype.kind != "c":
        return array
    _refuse(array, array.imag != 0, f"numbers of {format} must be real")
    return array.real


def whole_numbers(numbers: npt.ArrayLike, format: str) -> npt.NDArray[Any]:
    """The numbers as integers, modulo 2^64 if some do not fit. Raises ValueError for one that is
    not whole, or not real."""
    array = real_numbers(numbers, format)
    if array.dtype.kind in "biu":
        return array
    with np.errstate(invalid="ignore"):
        _refuse(array, array % 1 != 0, f"numbers of {format} must be whole")
    if array.dtype.kind == "f" and np.all(np.abs(array) < 2.0**63):
        return array.astype(np.int64)
    # NumPy makes a float of integers of a list that no integer type holds together.
    exact = array if hasattr(numbers, "dtype") else np.asarray(numbers, object)
    wrapped = [int(number.real) % (1 << 64) for number in exact.astype(object).flat]
    return np.array(wrapped, np.uint64).reshape(array.shape)


def words_of(words: npt.ArrayLike, bits: int) -> npt.NDArray[np.uint64]:
    """Words of so many bits. Raises TypeError for what are no integers, ValueError for one that is
    negative or wider."""
    array = np.asarray(words)
    if array.dtype.kind not in "iu":
        # As above.
        array = array if hasattr(words, "dtype") else np.asarray(words, object)
        strange = [word for word in array.flat if type(word) is not int]
        if strange:
            shown = strange[0].item() if isinstance(strange[0], np.generic) else strange[0]
            raise TypeError(f"words must be integers, not {shown!r}")
    _refuse(array, (array < 0) | (array > (1 << bits) - 1), f"words must be of {bits} bits")
    return array.astype(np.uint64)


def _refuse(values: npt.NDArray[Any], bad: Any, rule: str) -> None:
    """Raise ValueError, if some are bad, with the first one."""
    if np.any(bad):
        raise ValueError(f"{rule}, not {np.extract(bad, values)[0]}")


_DTYPES = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def to_container(values: npt.ArrayLike, fmt: Format) -> npt.NDArray[np.uint64]:
    """Container words of numbers, rounded to the format; integers modulo ``2**bits``.

    Raises ValueError for imaginary parts, and for fractions in a format of integers.
    """
    fitting = whole_numbers if isinstance(fmt, IntFormat) else real_numbers
    return encode(fitting(values, fmt.name), fmt) << np.uint64(fmt.container_bits - fmt.bits)


def from_container(words: npt.NDArray[np.uint64], fmt: Format) -> npt.NDArray[Any]:
    """Numbers of container words: the format's NumPy type, float32 where there is none."""
    numbers = decode(words >> np.uint64(fmt.container_bits - fmt.bits), fmt)
    if numbers.dtype == np.int64:
        return numbers.astype(f"i{fmt.container_bits // 8}")
    with np.errstate(invalid="ignore"):
        return numbers.astype(_DTYPES.get(fmt.name, np.float32))
