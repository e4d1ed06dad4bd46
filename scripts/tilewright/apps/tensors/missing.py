"""Values of a tensor that nobody knows: where they are, and what stands for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...sim.sparse.tensor import Tensor, canonical
from ..common.matrix_files import read_array

__all__ = ["MissingValues", "split_missing", "with_missing"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MissingValues:
    """Entries of a tensor that stand for missing values.

    Parameters
    ----------
    entries: their numbers
    places: their indices, (entries, order)
    """

    entries: Ints
    places: Ints

    def __len__(self) -> int:
        return len(self.entries)

    def of_terms(self, weights: Floats, factors: list[Floats]) -> Floats:
        """What a sum of outer products has in these places."""
        products = np.broadcast_to(weights, (len(self), len(weights)))
        for mode, factor in enumerate(factors):
            products = products * factor[self.places[:, mode]]
        found: Floats = products.sum(axis=1)
        return found


def split_missing(path: Path, tensor: Tensor, mask: Path | None) -> tuple[Tensor, Ints]:
    """What is known of a tensor, and the places of what is missing: NaN, and where ``mask``, an
    array of the tensor's shape, is 0.

    Raises UserError if the mask is no such array, or nothing is known.
    """
    places = np.zeros((0, tensor.order), np.int64)
    if mask is not None:
        known = read_array(mask)
        if known.shape != tensor.shape:
            raise UserError(
                f"{mask}: must be {_shape(tensor.shape)}, as {path} is, not {_shape(known.shape)}"
            )
        if not ((known == 0) | (known == 1)).all():
            raise UserError(f"{mask}: must hold 1 where a value is known and 0 where it is missing")
        places = np.argwhere(known == 0)
        tensor = _only(tensor, known[tuple(tensor.indices.T)] != 0)
    if tensor.values.dtype.kind == "f" and np.isnan(tensor.values).any():
        # Of entries of one place that are added one is enough.
        tensor = canonical(tensor)
        nan = np.isnan(tensor.values)
        places = np.concatenate([places, tensor.indices[nan]])
        tensor = _only(tensor, ~nan)
    if len(places) and not tensor.values.any():
        raise UserError(f"{path}: has no values but zeros and missing ones; nothing to factorise")
    return tensor, places


def _only(tensor: Tensor, which: NDArray[np.bool_]) -> Tensor:
    return Tensor(shape=tensor.shape, indices=tensor.indices[which], values=tensor.values[which])


def _shape(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def with_missing(tensor: Tensor, places: Ints, *, dense: bool) -> tuple[Tensor, MissingValues]:
    """The tensor with an entry of 0 for each missing value; of a ``dense`` one these are there."""
    if dense:
        entries = np.ravel_multi_index(tuple(places.T), tensor.shape).astype(np.int64)
        return tensor, MissingValues(entries, places)
    entries = np.arange(tensor.nnz, tensor.nnz + len(places))
    values = np.concatenate([tensor.values, np.zeros(len(places), tensor.values.dtype)])
    indices = np.concatenate([tensor.indices, places])
    found = Tensor(shape=tensor.shape, indices=indices, values=values)
    return found, MissingValues(entries, places)
