"""Converts sRGB to XYZ: light by a table, then a product of matrices on GTA, against NumPy.

Source: IEC 61966-2-1, whose curve and matrix these are. In an integer format light is a number of
steps, of int8 less 128 so that it fits, which C makes good; the matrix is rounded to multiples of a
power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.gta import is_float
from ..common.files import need
from ..common.matrix_files import write_array
from ..common.picture import opened_picture
from ..common.units.gta import GtaChoice
from .operands import Operand, compare_product, numbers_in, operand_of, result_format
from .product_report import gta_report
from .products import GtaProducts, check_products

__all__ = ["MATRIX", "convert_picture", "light"]

MATRIX = (
    (0.4124, 0.3576, 0.1805),
    (0.2126, 0.7152, 0.0722),
    (0.0193, 0.1192, 0.9505),
)
"""Rows X, Y, Z of red, green and blue light."""

_WHITE = 255


@dataclass(frozen=True, kw_only=True)
class _Fixed:
    """Light and matrix in an integer format: numbers of steps.

    Parameters
    ----------
    light: steps of full light
    middle: what is subtracted from steps of light
    weight: steps of 1 in the matrix
    """

    light: int
    middle: int
    weight: int


_FIXED = {
    "int8": _Fixed(light=255, middle=128, weight=1 << 7),
    "int16": _Fixed(light=(1 << 15) - 1, middle=0, weight=1 << 15),
}


@dataclass(frozen=True, kw_only=True)
class _Operands:
    """``scale``: steps of 1 in the results."""

    light: Operand
    matrix: Operand
    addend: Operand | None
    scale: float


def light(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Light, 0..1, of sRGB values of 8 bits."""
    values = np.arange(256) / 255
    curve = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    found: NDArray[np.float64] = curve[pixels]
    return found


def convert_picture(choice: GtaChoice, path: Path | None, output: Path | None) -> None:
    """Convert a picture to XYZ, Y of white 1, write it if that is asked for, and report.

    Raises UserError for a file that is no picture of three channels of 8 bits.
    """
    title, pixels = _read(path)
    shape = pixels.shape[:2]
    check_products(title, choice, pixels.size * len(MATRIX))
    rays = light(pixels).reshape(-1, 3)
    given = _operands(choice.format, rays)
    with GtaProducts(choice) as products:
        addend = None if given.addend is None else given.addend.words
        words = products.multiply(given.light.words, given.matrix.words, addend)
    found = numbers_in(words, result_format(choice.format)) / given.scale
    addend_values = None if given.addend is None else given.addend.values
    agreement = compare_product(
        choice.format, words, given.light.values, given.matrix.values, addend_values
    )
    error = np.abs(found - rays @ np.array(MATRIX).T)
    lines = [
        ("picture", f"{shape[0]:,} x {shape[1]:,}"),
        ("error", f"max {error.max():.2e}, mean {error.mean():.2e} of XYZ in double precision, "
                  f"Y of white 1"),
    ]  # fmt: skip
    if output:
        write_array(output, found.reshape(*shape, 3))
        lines.append(("XYZ", str(output)))
    details = {
        "picture": title,
        "shape": list(shape),
        "error": {"max": float(error.max()), "mean": float(error.mean())},
    }
    gta_report(
        "color", f"XYZ of {title}", lines, choice, products.tally, [agreement], details
    ).finish()


def _read(path: Path | None) -> tuple[str, NDArray[np.uint8]]:
    if path is None:
        loader = need("sklearn.datasets", "scikit-learn")
        return "china.jpg", np.asarray(loader.load_sample_image("china.jpg"))
    with opened_picture(path) as opened:
        deep = any(map(_is_deep, opened.tile))
        if opened.mode != "RGB" or deep:
            kind = "of 16 bits each" if deep else f"mode {opened.mode}"
            raise UserError(f"{path}: must be a picture of red, green and blue of 8 bits each, "
                            f"not {kind}")  # fmt: skip
        return str(path), np.asarray(opened)


def _is_deep(tile: Any) -> bool:
    """Tells whether a part of a picture has 16 bits a channel, of which Pillow would drop half."""
    codec, words = tile[0], tile[-1] if isinstance(tile[-1], tuple) else tile[-1:]
    return any(";16" in str(word) for word in words) or (codec == "ppm" and words[1] > _WHITE)


def _operands(format: str, rays: NDArray[np.float64]) -> _Operands:
    matrix = np.array(MATRIX).T
    if is_float(format):
        return _Operands(
            light=operand_of("light", rays, format),
            matrix=operand_of("the matrix", matrix, format),
            addend=None,
            scale=1.0,
        )
    fixed = _FIXED[format]
    steps = np.rint(rays * fixed.light).astype(np.int64) - fixed.middle
    weights = np.rint(matrix * fixed.weight).astype(np.int64)
    addend: Any = None
    if fixed.middle:
        start = np.broadcast_to(fixed.middle * weights.sum(axis=0), rays.shape)
        addend = operand_of("C", start, result_format(format))
    return _Operands(
        light=operand_of("light", steps, format),
        matrix=operand_of("the matrix", weights, format),
        addend=addend,
        scale=float(fixed.light * fixed.weight),
    )
