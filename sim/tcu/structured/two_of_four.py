"""Rows of which each four neighbours hold at most two words other than zero, and where they stand:
the left operand of hw/simd2's sparse unit."""

from __future__ import annotations

import numpy as np

from ..words import Array, Words

__all__ = ["compressed", "expanded", "is_two_of_four"]


def _groups(x: Array) -> Array:
    if x.ndim != 2 or x.shape[1] % 4 or not x.size:
        raise ValueError(f"`x` must be of shape (n, 4 k), n and k from 1, not {x.shape}")
    return x.reshape(len(x), -1, 4)


def is_two_of_four(x: Array, words: Words) -> bool:
    """True if no group of four has more than two words other than zero."""
    return bool(np.all(np.count_nonzero(_groups(x) != words.zero, axis=2) <= 2))


def compressed(x: Array, words: Words) -> tuple[Array, Array]:
    """The words kept, (n, k / 2), and where each stood in its group, 0..3: of a group of four the
    first two that are not zero; zeros in their place if there are fewer.

    Raises ValueError for other shapes, and for a group with more, naming it.
    """
    groups = _groups(x)
    zeros = groups == words.zero
    if not is_two_of_four(x, words):
        row, group = np.argwhere(np.count_nonzero(~zeros, axis=2) > 2)[0]
        raise ValueError(
            f"`x` must hold at most two words other than zero in each four of a row, not more in "
            f"row {row}, columns {4 * group}..{4 * group + 3} (from 0)"
        )
    # Words that are kept first, each kind in its own order.
    places = np.sort(np.argsort(zeros, axis=2, kind="stable")[:, :, :2], axis=2)
    kept = np.take_along_axis(groups, places, axis=2)
    return kept.reshape(len(x), -1), places.reshape(len(x), -1).astype(np.uint8)


def expanded(kept: Array, places: Array, words: Words) -> Array:
    """What `compressed` was given."""
    found = np.full((len(kept), kept.shape[1] // 2, 4), words.zero, words.dtype)
    shape = (len(kept), -1, 2)
    np.put_along_axis(found, places.reshape(shape).astype(int), kept.reshape(shape), axis=2)
    return found.reshape(len(kept), -1)
