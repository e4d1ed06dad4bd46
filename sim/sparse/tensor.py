"""Sparse tensors by coordinates, from and to SciPy's matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Tensor", "arrangement", "canonical", "from_csr", "modes_from", "sums", "to_csr"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_KEYS = 1 << 63
"""Numbers that a key for sorting may have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tensor:
    """A sparse tensor by coordinates, in any order; entries of one place count as their sum.

    Parameters
    ----------
    shape: size of each mode
    indices: int64, (entries, order), coordinates of each entry from 0
    values: float64 or int64, (entries,)

    Raises
    ------
    TypeError: ``indices`` or ``values`` is no array of NumPy
    ValueError: the shapes or dtypes differ from these; an index is out of range
    """

    shape: tuple[int, ...]
    indices: Ints
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        for name, array in (("indices", self.indices), ("values", self.values)):
            if not isinstance(array, np.ndarray):
                raise TypeError(f"`{name}` must be an array of NumPy, not {type(array).__name__}")
        if self.values.ndim != 1 or self.values.dtype not in (np.float64, np.int64):
            raise ValueError(
                "`values` must be one dimension of float64 or int64, "
                f"not {self.values.shape} {self.values.dtype}"
            )
        wanted = (len(self.values), len(self.shape))
        if self.indices.shape != wanted or self.indices.dtype != np.int64:
            raise ValueError(
                f"`indices` must be {wanted} of int64, "
                f"not {self.indices.shape} {self.indices.dtype}"
            )
        for mode, size in enumerate(self.shape):
            column = self.indices[:, mode]
            if len(column) and (column.min() < 0 or column.max() >= size):
                wrong = column.min() if column.min() < 0 else column.max()
                raise ValueError(f"`indices` of mode {mode} must be in 0..{size - 1}, not {wrong}")

    @property
    def order(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """Number of entries, zeros and repeated places included."""
        return len(self.values)


def modes_from(order: int, mode: int) -> tuple[int, ...]:
    """All modes, this one first, the others in their order. Raises ValueError if there is no such
    mode."""
    if not 0 <= mode < order:
        raise ValueError(f"`mode` must be in 0..{order - 1}, not {mode}")
    return (mode, *(other for other in range(order) if other != mode))


def arrangement(tensor: Tensor, mode: int) -> tuple[Ints, Bools]:
    """The order of entries by this mode, then by the others; entries of one place as they come.

    Returns the entries' numbers in that order, and for each whether it is the first of its place.
    """
    keys = _keys(tensor, modes_from(tensor.order, mode))
    if _ascends(keys):
        order = np.arange(tensor.nnz)
    else:
        order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
    first = np.zeros(tensor.nnz, np.bool_)
    first[:1] = True
    for key in keys:
        first[1:] |= key[1:] != key[:-1]
    return order, first


def _keys(tensor: Tensor, modes: tuple[int, ...]) -> list[Ints]:
    """Returns the fewest numbers for each entry that compare like its indices in this order."""
    keys: list[Ints] = []
    room = 0
    for mode in modes:
        size = max(tensor.shape[mode], 1)
        room //= size
        if room:
            keys[-1] *= size
            keys[-1] += tensor.indices[:, mode]
        else:
            keys.append(tensor.indices[:, mode].copy())
            room = _KEYS // size
    return keys


def _ascends(keys: list[Ints]) -> bool:
    if len(keys) == 1:
        return bool((keys[0][1:] >= keys[0][:-1]).all())
    falls = np.zeros(max(len(keys[0]) - 1, 0), np.bool_)
    for key in reversed(keys):
        falls = (key[1:] < key[:-1]) | ((key[1:] == key[:-1]) & falls)
    return not falls.any()


def sums(values: npt.NDArray[Any], first: Bools) -> npt.NDArray[Any]:
    """Values of one place added, one after the other: float64, or int64 modulo 2^64."""
    if first.all():
        return values
    found, again = values[first], ~first
    place = np.cumsum(first)[again] - 1
    with np.errstate(all="ignore"):
        np.add.at(found, place, values[again])
    return found


def canonical(tensor: Tensor, mode: int = 0) -> Tensor:
    """The same tensor, each place once, its entries by this mode and then by the others."""
    order, first = arrangement(tensor, mode)
    values = sums(tensor.values[order], first)
    return Tensor(shape=tensor.shape, indices=tensor.indices[order[first]], values=values)


def from_csr(matrix: Any) -> Tensor:
    """The entries of a SciPy sparse matrix, in any of its formats: int64 if it is of integers or
    truth values, else float64. Stored zeros stay entries.

    Raises TypeError if it is not a sparse matrix of real numbers.
    """
    from scipy.sparse import coo_array, issparse

    if not issparse(matrix) or matrix.ndim != 2:
        raise TypeError(f"`matrix` must be a sparse matrix of SciPy, not {type(matrix).__name__}")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"`matrix` must be of real numbers, not {matrix.dtype}")
    coo = coo_array(matrix)
    return Tensor(
        shape=(int(coo.shape[0]), int(coo.shape[1])),
        indices=np.stack([np.asarray(axis, np.int64) for axis in coo.coords], axis=1),
        values=coo.data.astype(np.float64 if coo.dtype.kind == "f" else np.int64),
    )


def to_csr(tensor: Tensor) -> csr_array:
    """The matrix, each place once, its columns ascending; stored zeros stay.

    Raises ValueError if the tensor has not two modes.
    """
    from scipy.sparse import csr_array

    if tensor.order != 2:
        raise ValueError(f"a matrix has 2 modes, not {tensor.order}")
    found = canonical(tensor)
    starts = np.searchsorted(found.indices[:, 0], np.arange(tensor.shape[0] + 1))
    return csr_array((found.values, found.indices[:, 1], starts), shape=tensor.shape)
