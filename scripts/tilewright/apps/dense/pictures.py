"""Grey pictures from files and to files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.extras import need
from ..common.files import PICTURES, write_whole
from ..common.matrix_files import read_matrix
from ..common.picture import opened_picture

__all__ = ["read_picture", "write_pictures"]


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
