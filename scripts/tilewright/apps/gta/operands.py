"""Numbers as operands and results of GTA: of integers no bit is lost, floats are rounded once.

Products of them beside NumPy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FLOAT_FORMATS, FORMATS, FloatFormat, IntFormat
from ...hw.spec.gta import is_float, result_bytes
from ...sim.numbers.values import decode, encode
from ..common.agreement import Agreement, exactly, within
from ..common.limits import check_size, counted
from ..common.matrix_files import numeric, read_matrix_file
from ..common.rounding import round_to, warn_rounding

__all__ = ["Operand", "compare_product", "numbers_in", "operand_of", "read_numbers",
           "read_operand", "result_format"]  # fmt: skip

Floats = NDArray[np.float64]
Patterns = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Operand:
    """Numbers in a format.

    Parameters
    ----------
    words: patterns
    values: what they stand for, int64 or float64
    rounded: how many became another number; of integers none
    """

    words: Patterns
    values: NDArray[Any]
    rounded: int


def result_format(format: str) -> str:
    """The format of sums of products."""
    wide = result_bytes(format) == 8
    if is_float(format):
        return "fp64" if wide else "fp32"
    return "int64" if wide else "int32"


def read_numbers(path: Path, dimensions: int | None = 2) -> NDArray[Any]:
    """The array of a file as it is, of one type of integers or floats, of at least one element.

    ``dimensions``: that it must have; None: any number, at least one: a number is a vector of one
    element. Raises UserError.
    """
    found = read_matrix_file(path)
    array = found if isinstance(found, np.ndarray) else found.toarray()
    array = np.atleast_1d(array) if dimensions is None else array
    if array.dtype.kind not in "biu":
        array = numeric(array, path)
        if array.dtype.kind == "c":
            raise UserError(f"{path}: holds complex numbers, which gta does not take")
    else:
        check_size(path, *array.shape)
    if dimensions is not None and array.ndim != dimensions:
        shape = counted(array.ndim, "dimension")
        raise UserError(f"{path}: must hold a matrix (2 dimensions), not {shape}")
    return array


def read_operand(path: Path, format: str, *, finite: str = "") -> Operand:
    """The matrix of a file in a format. Raises UserError for values that have no place in it, and
    says on stderr what rounding destroyed.

    ``finite``: what to refuse the file with, if a number is infinite or NaN
    """
    numbers = read_numbers(path)
    if finite and numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise UserError(f"{path}: {finite}")
    return operand_of(path, numbers, format)


def operand_of(what: object, array: NDArray[Any], format: str) -> Operand:
    """Numbers in a format; ``what`` they are to messages. Raises and says as `read_operand`."""
    fmt = FORMATS[format]
    if isinstance(fmt, IntFormat):
        return _integers(what, array, fmt)
    found = round_to(numeric(array, what), fmt)
    warn_rounding(what, found, fmt)
    return Operand(words=found.words, values=found.values, rounded=found.inexact)


def _integers(what: object, array: NDArray[Any], fmt: IntFormat) -> Operand:
    """float64 has 2**63, which bounds all that fits; comparisons of integers are exact."""
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        outside = ~np.isfinite(array) | (array < fmt.lowest) | (array >= float(fmt.highest + 1))
        broken = int(np.count_nonzero(array[~outside] % 1))
    else:
        array = array.astype(np.uint8) if array.dtype.kind == "b" else array
        outside = (array < fmt.lowest) | (array > fmt.highest)
        broken = 0
    wrong = int(np.count_nonzero(outside))
    if wrong:
        raise UserError(f"{what}: {wrong} of {array.size} values are not in "
                        f"{fmt.lowest}..{fmt.highest}, the range of {fmt.name}")  # fmt: skip
    if broken:
        raise UserError(f"{what}: {broken} of {array.size} values are not integers, which "
                        f"{fmt.name} needs")  # fmt: skip
    values = array.astype(np.int64)
    return Operand(words=encode(values, fmt), values=values, rounded=0)


def numbers_in(words: Patterns, format: str) -> NDArray[Any]:
    """Decodes patterns of a format to NumPy's type of the same width; bf16 and fp16 to float32."""
    fmt = FORMATS[format]
    values = decode(words, fmt)
    if isinstance(fmt, IntFormat):
        return values.astype(f"i{fmt.bits // 8}")
    return values if format == "fp64" else values.astype(np.float32)


def _product_bound(format: str, size: Floats, depth: int) -> Floats:
    """Bounds the rounding errors of ``depth`` fused multiply-adds.

    ``size``: the sum of the magnitudes that each result adds up. The reference, in float64, rounds
    as often; both round to subnormals, too (Higham, Accuracy and Stability, section 3.1).
    """
    found = FLOAT_FORMATS[result_format(format)]
    double = FLOAT_FORMATS["fp64"]
    depth += 1
    relative = sum(depth * _unit(each) / (1 - depth * _unit(each)) for each in (found, double))
    smallest = 2.0 ** (found.emin - found.significand_bits)
    return relative * size + depth * smallest


def _unit(fmt: FloatFormat) -> float:
    """Half of the distance from 1 to the next number."""
    return 2.0**-fmt.significand_bits


def compare_product(
    format: str,
    words: Patterns,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any] | None = None,
) -> Agreement:
    """A product of values in a format, and C, against NumPy: integers modulo the width of the
    sums, floats in float64."""
    found = numbers_in(words, result_format(format))
    if not is_float(format):
        expected = a @ b if c is None else a @ b + c
        return exactly("NumPy, modulo the width of sums", found, expected.astype(found.dtype))
    with np.errstate(all="ignore"):
        addend = np.zeros((1, 1)) if c is None else c
        reference = a @ b + addend
        size = np.abs(a) @ np.abs(b) + np.abs(addend)
        return within("NumPy, float64", found, reference, _product_bound(format, size, a.shape[1]))
