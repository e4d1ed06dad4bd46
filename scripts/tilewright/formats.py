"""Formats of numbers, of sparse matrices and of sparse tensors, from and to NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from .hw.spec.c2sr import C2srLayout
from .hw.spec.ciss import CissLayout
from .hw.spec.formats import FORMATS
from .hw.spec.host.words import not_one_of
from .sim.device.driver import check_type
from .sim.engine import matrices
from .sim.numbers.container_words import words_of
from .sim.sparse import c2sr as _c2sr
from .sim.sparse import ciss as _ciss
from .sim.sparse import tensor as _tensor
from .sim.sparse.c2sr import C2sr
from .sim.sparse.ciss import Ciss
from .sim.sparse.tensor import Tensor

__all__ = [
    "NUMBERS",
    "C2sr",
    "C2srLayout",
    "Ciss",
    "CissLayout",
    "Tensor",
    "from_c2sr",
    "from_ciss",
    "from_words",
    "to_c2sr",
    "to_ciss",
    "to_words",
]

NUMBERS = (*FORMATS, "fp32c")
"""The formats of numbers."""


def _check(format: str) -> None:
    if format not in NUMBERS:
        raise ValueError(not_one_of("`format`", NUMBERS, format))


def to_words(numbers: npt.ArrayLike, format: str) -> npt.NDArray[np.uint64]:
    """The words that carry numbers in memory and on streams, an array of the same shape.

    Numbers are rounded to the format once, to nearest, ties to even; integers are taken modulo
    ``2**bits``. Raises ValueError for a format that is none of ``NUMBERS``, and for a number with a
    fraction in a format of integers, or an imaginary part in any but fp32c.
    """
    _check(format)
    return matrices.to_words(numbers, format)


def from_words(words: npt.ArrayLike, format: str) -> npt.NDArray[Any]:
    """The numbers of words, in the narrowest type of NumPy that holds the format's: float16,
    float32, float64, complex64, int8 to int64. Below the 19 bits of tf32 words may hold anything.

    Raises ValueError for a format that is none of ``NUMBERS``, and for a word that is negative or
    wider than the format's; TypeError for one that is no integer.
    """
    _check(format)
    return matrices.from_words(words_of(words, matrices.container_bits(format)), format)


def to_c2sr(matrix: Any, layout: C2srLayout) -> C2sr:
    """A sparse matrix of SciPy in C2SR, MatRaptor's format.

    Parameters
    ----------
    matrix: in any of SciPy's sparse formats; it stays as it is. Entries of one place are added, and
        values rounded to the layout's format; zeros that are stored stay entries
    layout: ``config.layout`` of a MatRaptor or of a converter

    Raises
    ------
    TypeError if it is not a sparse matrix of real numbers, or the layout is none; ValueError if it
    does not fit.
    """
    check_type("layout", layout, C2srLayout, "a C2srLayout")
    return _c2sr.from_csr(matrix, layout)


def from_c2sr(matrix: C2sr) -> csr_array:
    """The matrix of SciPy: float64, int32 or, for narrower formats, float32."""
    check_type("matrix", matrix, C2sr, "a C2sr")
    return _c2sr.to_csr(matrix)


def to_ciss(tensor: Any, layout: CissLayout, mode: int = 0) -> Ciss:
    """A sparse tensor in CISS, the stream that Tensaurus reads.

    Parameters
    ----------
    tensor: a :class:`Tensor`, or a sparse matrix of SciPy; entries of one place are added, values
        rounded to the layout's format, and what is then zero is dropped if the layout marks headers
        by a zero
    layout: ``config.layout(order)`` of a Tensaurus
    mode: the mode whose indices are the slices

    Raises
    ------
    TypeError if it is neither, or the layout is none; ValueError if it does not fit the layout.
    """
    check_type("layout", layout, CissLayout, "a CissLayout")
    given = _tensor.from_csr(tensor) if issparse(tensor) else tensor
    check_type("tensor", given, Tensor, "a Tensor or a sparse matrix of SciPy")
    return _ciss.from_tensor(given, layout, mode)


def from_ciss(stream: Ciss) -> Tensor:
    """The tensor of a stream, slices ascending; its values are float64 or int64."""
    check_type("stream", stream, Ciss, "a Ciss")
    return _ciss.to_tensor(stream)
