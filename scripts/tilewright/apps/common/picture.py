"""Pictures: a matrix as a picture, a square of colour for each value; pictures in files, opened."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.host import inputs
from .files import need, write_whole
from .limits import check_size

__all__ = ["colours", "density", "opened_picture", "write_picture"]

_SCALE = np.array(
    [(48, 18, 59), (65, 105, 200), (40, 165, 160), (130, 205, 90), (250, 230, 60)], np.float64
)
"""Colours from the smallest value to the largest, evenly spaced; lightness grows."""
_NONE = (255, 255, 255)
_LEAST = 512
"""Pixels along the shorter side, at least."""


def colours(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(rows, columns, 3): finite values from dark to light, others white."""
    finite = np.isfinite(values)
    shown = np.where(finite, values, 0.0)
    low, high = (float(f(values[finite])) if finite.any() else 0.0 for f in (np.min, np.max))
    place = (shown - low) / ((high - low) or 1.0) * (len(_SCALE) - 1)
    channels = [np.interp(place, np.arange(len(_SCALE)), _SCALE[:, c]) for c in range(3)]
    painted = np.where(finite[..., np.newaxis], np.stack(channels, axis=-1), _NONE)
    return np.rint(painted).astype(np.uint8)


def write_picture(path: Path, values: NDArray[np.float64]) -> None:
    """Write a matrix as a PNG picture, the first row on top."""
    each = -(-_LEAST // min(values.shape))
    pixels = colours(values).repeat(each, axis=0).repeat(each, axis=1)
    image = need("PIL.Image", "Pillow").fromarray(pixels)
    write_whole(path, partial(image.save, format="PNG"))


def density(matrix: Any) -> NDArray[np.float64]:
    """Computes a picture of the entries of a sparse matrix: at most 512 squares each way. A square
    is darker the more entries are in it, and infinite where there is none."""
    rows, cols = (min(count, _LEAST) for count in matrix.shape)
    entries = matrix.tocoo()
    place = (
        entries.row.astype(np.int64) * rows // matrix.shape[0] * cols
        + entries.col.astype(np.int64) * cols // matrix.shape[1]
    )
    counts = np.bincount(place, minlength=rows * cols).reshape(rows, cols)
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = -np.log(counts.astype(np.float64))
    return found


@contextmanager
def opened_picture(path: Path) -> Iterator[Any]:
    """The picture of a file, Pillow's. Raises UserError if it is none, is too large, or is damaged,
    which may be found when its pixels are asked for."""
    image = need("PIL.Image", "Pillow")
    try:
        with image.open(io.BytesIO(inputs.read_bytes(path))) as opened:
            check_size(path, *opened.size)
            yield opened
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        if isinstance(error, image.UnidentifiedImageError):  # which names what it cannot name
            reason = "cannot identify image file"
        raise UserError(f"{path}: not a picture that can be read: {reason}") from None
