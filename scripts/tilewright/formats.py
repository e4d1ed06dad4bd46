"""Converts numbers, sparse matrices and sparse tensors from and to NumPy and SciPy."""

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
"""The names of the number formats."""


def _check(format: str) -> None:
    if format not in NUMBERS:
        raise ValueError(not_one_of("`format`", NUMBERS, format))


def to_words(numbers: npt.ArrayLike, format: str) -> npt.NDArray[np.uint64]:
    """Converts numbers to the words that carry them in memory and on streams.

    Numbers are rounded once, to nearest, ties to even. Integers are taken modulo ``2**bits``.

    Parameters
    ----------
    numbers: numbers in any shape
    format: a name of ``NUMBERS``

    Returns
    -------
    The words, uint64, in the same shape.

    Raises
    ------
    ValueError: an unknown format; a fraction in an integer format; an imaginary part in a format
        other than fp32c

    Example
    -------
        from tilewright import formats

        assert formats.to_words([1.0, -2.5], "bf16").tolist() == [0x3F80, 0xC020]
    """
    _check(format)
    return matrices.to_words(numbers, format)


def from_words(words: npt.ArrayLike, format: str) -> npt.NDArray[Any]:
    """Converts words to numbers, the inverse of :func:`to_words`.

    Parameters
    ----------
    words: words in any shape. The low 13 bits of a tf32 word are ignored
    format: a name of ``NUMBERS``

    Returns
    -------
    The numbers in the same shape, in NumPy's narrowest type that holds the format: float16,
    float32, float64, complex64, or int8 to int64.

    Raises
    ------
    ValueError: an unknown format; a word that is negative or wider than the format
    TypeError: a word that is no integer

    Example
    -------
        from tilewright import formats

        assert formats.from_words([0x3F80, 0xC020], "bf16").tolist() == [1.0, -2.5]
    """
    _check(format)
    return matrices.from_words(words_of(words, matrices.container_bits(format)), format)


def to_c2sr(matrix: Any, layout: C2srLayout) -> C2sr:
    """Converts a sparse matrix of SciPy to C2SR, the format of MatRaptor.

    Entries of one place are added, and values rounded to the layout's format. Stored zeros stay
    entries.

    Parameters
    ----------
    matrix: a matrix in any of SciPy's sparse formats, which is not changed
    layout: ``config.layout`` of a MatRaptor or of a converter

    Raises
    ------
    TypeError: ``matrix`` is not a sparse matrix of real numbers; ``layout`` is no C2srLayout
    ValueError: the matrix does not fit the layout

    Example
    -------
        import scipy.sparse as sp
        import tilewright
        from tilewright import formats

        layout = tilewright.units["matraptor"].config(lanes=2, channels=2).layout
        stored = formats.to_c2sr(sp.csr_array([[0, 1.5], [2, 0]]), layout)
        assert formats.from_c2sr(stored).toarray().tolist() == [[0, 1.5], [2, 0]]
    """
    check_type("layout", layout, C2srLayout, "a C2srLayout")
    return _c2sr.from_csr(matrix, layout)


def from_c2sr(matrix: C2sr) -> csr_array:
    """Converts a matrix in C2SR to SciPy's CSR: float64, int32 or, for narrower formats,
    float32."""
    check_type("matrix", matrix, C2sr, "a C2sr")
    return _c2sr.to_csr(matrix)


def to_ciss(tensor: Any, layout: CissLayout, mode: int = 0) -> Ciss:
    """Converts a sparse tensor to CISS, the stream that Tensaurus reads.

    Entries of one place are added, and values rounded to the layout's format. If the layout marks
    headers by a zero, values that are then zero are dropped.

    Parameters
    ----------
    tensor: a :class:`Tensor`, or a sparse matrix of SciPy
    layout: ``config.layout(order)`` of a Tensaurus
    mode: the mode, from 0, whose indices are the slices

    Raises
    ------
    TypeError: ``tensor`` is neither; ``layout`` is no CissLayout
    ValueError: the tensor does not fit the layout
    """
    check_type("layout", layout, CissLayout, "a CissLayout")
    given = _tensor.from_csr(tensor) if issparse(tensor) else tensor
    check_type("tensor", given, Tensor, "a Tensor or a sparse matrix of SciPy")
    return _ciss.from_tensor(given, layout, mode)


def from_ciss(stream: Ciss) -> Tensor:
    """Converts a stream in CISS to a tensor, slices ascending, with values in float64 or int64."""
    check_type("stream", stream, Ciss, "a Ciss")
    return _ciss.to_tensor(stream)
