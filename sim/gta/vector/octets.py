"""Octets of elements by planes of bytes, as the banks of the lanes hold them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.jobs.gta_vector import OCTET

__all__ = ["from_planes", "to_planes"]

Patterns = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


def to_planes(words: npt.ArrayLike, size: int) -> Bytes:
    """Octets as they lie in a bank: byte 0 of all elements, then byte 1, and so on.

    Parameters
    ----------
    words: (..., octets, 8)
    size: bytes of an element, up to 8

    Returns
    -------
    Bytes, (..., octets * 8 * size).
    """
    given = np.ascontiguousarray(words, np.dtype("<u8"))
    parts = given.view(np.uint8).reshape(*given.shape, 8)[..., :size]
    planes = np.swapaxes(parts, -1, -2)
    return np.ascontiguousarray(planes).reshape(*given.shape[:-2], -1)


def from_planes(planes: Bytes, size: int) -> Patterns:
    """The octets again, (..., octets, 8), of bytes (..., octets * 8 * size)."""
    parts = planes.reshape(*planes.shape[:-1], -1, size, OCTET)
    wide = np.zeros((*parts.shape[:-2], OCTET, 8), np.uint8)
    wide[..., :size] = np.swapaxes(parts, -1, -2)
    return wide.view("<u8")[..., 0].astype(np.uint64)
