"""Octets of elements by planes of bytes, as the banks of the lanes hold them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.jobs.gta_vector import OCTET

__all__ = ["from_planes", "octets_of", "octets_of_rows", "to_planes"]

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


def octets_of(words: Patterns) -> Patterns:
    """A vector cut into octets, (octets, 8), the last one filled up with zeros."""
    filled = np.zeros((-(-len(words) // OCTET), OCTET), np.uint64)
    filled.reshape(-1)[: len(words)] = words
    return filled


def octets_of_rows(rows: Patterns) -> Patterns:
    """Rows of terms, (rows, chain), eight at a time: octets of a term of each, those of the same
    rows behind each other, (octets * chain, 8)."""
    count, chain = rows.shape
    padded = np.zeros((-(-count // OCTET) * OCTET, chain), np.uint64)
    padded[:count] = rows
    return padded.reshape(-1, OCTET, chain).swapaxes(1, 2).reshape(-1, OCTET)
