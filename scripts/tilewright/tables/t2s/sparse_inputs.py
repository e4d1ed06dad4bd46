"""Random sparse operands of the tables: whole numbers, so that all sums are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...sim.sparse.tensor import Tensor

__all__ = ["dense_of", "drawn", "skewed"]

_LARGEST = 8
"""Largest magnitude of the numbers, which are of both signs; 0 is not among them."""


def drawn(shape: tuple[int, ...], density: float, seed: int = 1) -> Tensor:
    """A tensor in which all places are as likely to have an entry."""
    import numpy as np

    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    places = np.sort(rng.choice(size, round(size * density), replace=False))
    return _tensor(shape, places, rng)


def skewed(shape: tuple[int, ...], density: float, seed: int = 1) -> Tensor:
    """A tensor with as many entries, whose n-th longest row has an n-th of the longest one's, as
    far as a row has places; in no order."""
    import numpy as np

    rng = np.random.default_rng(seed)
    rows, places = shape[0], int(np.prod(shape[1:]))
    share = 1 / (1 + rng.permutation(rows))
    lengths = np.minimum(places, np.rint(share * rows * places * density / share.sum()))
    kept = [
        np.sort(rng.choice(places, int(length), replace=False)) + row * places
        for row, length in enumerate(lengths)
    ]
    return _tensor(shape, np.concatenate(kept), rng)


def dense_of(tensor: Tensor) -> Any:
    """Returns a tensor as a dense array, zeros included."""
    import numpy as np

    dense = np.zeros(tensor.shape)
    dense[tuple(tensor.indices.T)] = tensor.values
    return dense


def _tensor(shape: tuple[int, ...], places: Any, rng: Any) -> Tensor:
    import numpy as np

    from ...sim.sparse.tensor import Tensor

    indices = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
    values = rng.integers(1, _LARGEST, len(places), endpoint=True)
    signs = rng.choice([-1.0, 1.0], len(places))
    return Tensor(shape=shape, indices=indices, values=values * signs)
