"""Which iterations end with each tile of a sparse operand."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

__all__ = ["tile_ends"]


def tile_ends(trips: tuple[int, ...]) -> npt.NDArray[np.uint64]:
    """The ``ends`` of the token behind each tile, whose levels have so many iterations, outermost
    first: bit n, that of level n ends, since all inside of it are in their last."""
    found = np.zeros(prod(trips), np.uint64)
    inside = 1
    for level, count in reversed(list(enumerate(trips))):
        found[inside - 1 :: inside] |= np.uint64(1 << level)
        inside *= count
    return found
