"""The entries of a sparse operand: from what users have, in the order of its indices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FloatFormat, Format
from ...numbers.container_words import real_numbers, to_container, whole_numbers, words_of
from ...sparse.tensor import Tensor, arrangement, canonical

__all__ = ["Entries", "entries_of_numbers", "entries_of_words", "is_sparse"]

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Entries:
    """Stored entries of a tensor.

    Parameters
    ----------
    shape: places of each dimension
    places: (entries, dimensions), each place once
    words: (entries,), container words
    """

    shape: tuple[int, ...]
    places: Ints
    words: Words

    def __len__(self) -> int:
        return len(self.words)

    def transposed(self, dimensions: tuple[int, ...]) -> Entries:
        """Returns the entries with their dimensions in this order."""
        shape = tuple(self.shape[one] for one in dimensions)
        return replace(self, shape=shape, places=self.places[:, dimensions])


def is_sparse(given: object) -> bool:
    """Tells whether an operand is a SciPy sparse array or matrix, a sparse tensor, or entries.
    Every value that it stores is an entry, zeros too."""
    from scipy.sparse import issparse

    return isinstance(given, Tensor | Entries) or bool(issparse(given))


def entries_of_numbers(given: Any, fmt: Format, pad: int) -> Entries:
    """The entries of a tensor of numbers, which are rounded to the format.

    Numbers of one place are added before: in float64, or in int64.

    Parameters
    ----------
    given: a sparse array or matrix of SciPy, a sparse tensor, or a dense array. Of the last what is
        not stored are words of the pattern ``pad``, and -0, if that is 0

    Raises ValueError for imaginary parts, and for fractions in a format of integers.
    """
    if isinstance(given, Entries):
        raise TypeError("numbers must be of a sparse or a dense array, not of entries of words")
    if not is_sparse(given):
        return _of_dense(to_container(given, fmt), fmt, pad)
    fitting = real_numbers if isinstance(fmt, FloatFormat) else whole_numbers
    shape, places, values = _parts(given)
    values = fitting(values, fmt.name)
    kind = np.float64 if values.dtype.kind == "f" else np.int64
    tensor = canonical(Tensor(shape=shape, indices=places, values=values.astype(kind)))
    return Entries(shape=shape, places=tensor.indices, words=to_container(tensor.values, fmt))


def entries_of_words(given: Any, fmt: Format, pad: int) -> Entries:
    """Does as :func:`entries_of_numbers`, but on container words, or entries.

    Raises TypeError and ValueError for what are none, and ValueError for a place that is there more
    than once.
    """
    if isinstance(given, Entries):
        return given
    if not is_sparse(given):
        return _of_dense(words_of(given, fmt.container_bits), fmt, pad)
    shape, places, values = _parts(given)
    words = words_of(values, fmt.container_bits)
    order, first = arrangement(Tensor(shape=shape, indices=places, values=words.view(np.int64)), 0)
    if not first.all():
        again = tuple(places[order[np.argmin(first)]].tolist())
        raise ValueError(f"words must be of a place each, not several of {again}")
    return Entries(shape=shape, places=places[order], words=words[order])


def _of_dense(words: Words, fmt: Format, pad: int) -> Entries:
    shift = np.uint64(fmt.container_bits - fmt.bits)
    absent = words == np.uint64(pad) << shift
    if pad == 0 and isinstance(fmt, FloatFormat):
        absent |= words == np.uint64(1 << (fmt.bits - 1)) << shift
    places = np.argwhere(~absent).astype(np.int64)
    return Entries(shape=words.shape, places=places, words=words[tuple(places.T)])


def _parts(given: Any) -> tuple[tuple[int, ...], Ints, npt.NDArray[Any]]:
    """Shape, places and values, in the type that they have."""
    if isinstance(given, Tensor):
        return given.shape, given.indices, given.values
    from scipy.sparse import coo_array

    coo = coo_array(given)
    places = np.stack([np.asarray(axis, np.int64) for axis in coo.coords], axis=1)
    return tuple(int(size) for size in coo.shape), places, coo.data
