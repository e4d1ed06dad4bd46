"""Computes the results of designs with NumPy and SciPy functions that do not use the mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import correlate

from .designs import IN_HARDWARE


def by_numpy(name: str, operands: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The result of whole numbers, in the order of the definition's tensors."""
    given = [one.astype(np.int64) for one in operands.values()]
    if name.startswith("cgra/"):
        *factors, start = given
        return start + np.einsum(IN_HARDWARE[name].einsum, *factors)
    if IN_HARDWARE[name].einsum:
        return np.einsum(IN_HARDWARE[name].einsum, *given)
    if name == "apsp":
        return np.min(given[0][:, :, None] + given[1][None, :, :], axis=1)
    if name == "fir":
        return np.correlate(given[0], given[1], mode="valid")
    if name == "stencil3d":
        return _valid(*given)
    images, filters = given
    return np.stack([_valid(images, one)[0] for one in filters])


def _valid(image: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The correlation of an image with weights that lie inside it."""
    whole = correlate(image, weights, mode="constant", origin=[-(n // 2) for n in weights.shape])
    return whole[tuple(slice(n - k + 1) for n, k in zip(image.shape, weights.shape, strict=True))]
