"""Converts content for a memory to bytes, and rejects arrays of wider elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["bytes_of"]


def bytes_of(content: object) -> npt.NDArray[np.uint8]:
    """The bytes of ``bytes``, or of another row of items of one byte each.

    Raises TypeError for anything else: how many bytes it has, and in which order, would depend on
    its type.
    """
    try:
        given: Any = memoryview(content)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"`content` must be bytes, not {type(content).__name__}") from None
    if given.ndim != 1 or given.itemsize != 1 or not given.c_contiguous:
        kind, apart = type(content).__name__, "" if given.c_contiguous else ", apart"
        found = f"{kind} of {given.ndim} dimensions, {given.itemsize} bytes an item{apart}"
        raise TypeError(f"`content` must be bytes, not {found}")
    return np.frombuffer(given, np.uint8)
