"""Matrices, pictures and signals from files, as dense applications take them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.files import PICTURES, need, write_whole
from ..common.matrix_files import read_array, read_matrix
from ..common.picture import opened_picture
from ..common.rounding import Rounded, warn_rounding
from ..common.units.matrix_unit import UnitChoice

__all__ = ["radices", "read_picture", "read_rounded", "read_signal", "write_pictures"]


def read_picture(path: Path | None) -> tuple[str, NDArray[Any]]:
    """Grey values: 0..255 of a picture file, or the numbers of a matrix file as they are."""
    if path is None:
        loader = need("sklearn.datasets", "scikit-learn")
        image = need("PIL.Image", "Pillow")
        colours = loader.load_sample_image("china.jpg")
        return "china.jpg", np.asarray(image.fromarray(colours).convert("L"), np.float64)
    if path.suffix.lower() not in PICTURES:
        matrix = read_matrix(path)
        if np.iscomplexobj(matrix):
            raise UserError(f"{path}: holds complex numbers; a picture must be real")
        return str(path), matrix
    with opened_picture(path) as opened:
        return str(path), np.asarray(opened.convert("L"), np.float64)


def write_pictures(
    directory: Path, names: list[str], pixels: NDArray[Any], filtered: NDArray[Any]
) -> None:
    """Grey pictures: magnitudes, clipped to 0..255."""
    image = need("PIL.Image", "Pillow")
    for name, values in [("input", pixels), *zip(names, filtered, strict=True)]:
        finite = np.nan_to_num(np.abs(values), nan=0.0, posinf=255.0)
        grey = image.fromarray(np.clip(np.rint(finite), 0, 255).astype(np.uint8))
        write_whole(directory / f"{name}.png", partial(grey.save, format="PNG"))


def read_rounded(choice: UnitChoice, path: Path, *, addend: bool = False) -> Rounded:
    """A file's matrix rounded to the format of the operands, or to that of the addend."""
    matrix, numbers = read_matrix(path), choice.numbers
    if np.iscomplexobj(matrix) and not numbers.pairs:
        raise UserError(f"{path}: holds complex numbers, which mode {choice.mode} does not take; "
                        f"only mode fp32c does")  # fmt: skip
    rounded = (numbers.accumulators if addend else numbers.operands)(matrix)
    warn_rounding(path, rounded, numbers.result if addend else numbers.element)
    return rounded


_LINES = 8


def read_signal(file: Path | None, length: int | None) -> tuple[str, NDArray[Any]]:
    if file:
        array = read_array(file)
        if max(array.shape, default=0) != array.size:
            shape = " x ".join(map(str, array.shape))
            raise UserError(f"{file}: must be one row or one column of samples, not {shape}")
        name, signal = str(file), array.reshape(-1)
    else:
        picture = need("sklearn.datasets", "scikit-learn").load_sample_image("china.jpg")
        middle = picture.shape[0] // 2
        lines = picture[middle : middle + _LINES, :, 1]
        name, signal = f"china.jpg, {_LINES} scan lines", lines.reshape(-1).astype(np.float64)
    if length is None:
        return name, signal
    if not 1 <= length <= len(signal):
        raise UserError(
            f"--length must be in 1..{len(signal)}, the samples there are, not {length}"
        )
    return name, signal[:length]


def radices(length: int, largest: int) -> list[int]:
    """Factors of a length, none above ``largest``, large ones first.

    Raises UserError if the length has a larger prime factor.
    """
    found, rest = [], length
    while rest > 1:
        factor = next((r for r in range(min(largest, rest), 1, -1) if rest % r == 0), 0)
        if not factor:
            prime = next(p for p in range(2, rest + 1) if rest % p == 0)
            raise UserError(
                f"length {length} has the prime factor {prime}; with {largest} rows in the unit "
                f"none may exceed {largest}"
            )
        found.append(factor)
        rest //= factor
    return found or [1]
