"""Operands of operations on vectors: numbers of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....errors import UserError
from ....hw.spec.gta import is_float
from ..operands import Operand, operand_of, read_numbers
from .names import SLIDES

__all__ = ["read_operands"]


def read_operands(format: str, function: str, files: Sequence[Path]) -> list[Operand]:
    """Operands of one shape; one number stands for as many. Of a slide it is a vector, of a mask 0
    and 1. Raises UserError for values and shapes that do not fit."""
    found = []
    for number, file in enumerate(files):
        array = read_numbers(file, None)
        if function in SLIDES:
            if array.size != max(array.shape):
                raise UserError(
                    f"{file}: must hold a vector (1 dimension), not {array.ndim} dimensions"
                )
            array = array.ravel()
        if function == "select" and not number:
            array = _mask(array, format)
        found.append(operand_of(file, array, format))
    sizes = [operand.words.size for operand in found]
    largest = sizes.index(max(sizes))
    shape = found[largest].words.shape
    for file, operand in zip(files, found, strict=True):
        if operand.words.shape != shape and operand.words.size > 1:
            wanted, given = (" x ".join(map(str, x)) for x in (shape, operand.words.shape))
            raise UserError(
                f"{file}: must be {wanted}, as {files[largest]} is, or one number, not {given}"
            )
    return [
        Operand(
            words=_filled(operand.words, shape),
            values=_filled(operand.values, shape),
            rounded=operand.rounded,
        )
        for operand in found
    ]


def _mask(array: NDArray[Any], format: str) -> NDArray[np.uint8]:
    """1 of what is not 0: the lanes look at all bits, of floats at those of -0, too."""
    some = array != 0
    if is_float(format) and array.dtype.kind == "f":
        some |= np.signbit(array)
    return some.astype(np.uint8)


def _filled(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if array.shape == shape:
        return array
    return np.full(shape, array.reshape(-1)[0], array.dtype)
