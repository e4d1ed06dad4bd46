"""A result of sums of products beside NumPy's, or, of sparse operands, SciPy's."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import FloatFormat, Format, IntFormat
from ...hw.spec.t2s.program import Program
from ...sim.t2s.sizes import walked_indices
from ...sim.t2s.sparse.entries import Entries
from .operand_files import Operand

__all__ = ["wrong_elements"]

Numbers = NDArray[Any]


def wrong_elements(
    program: Program,
    meant: str,
    bounds: Mapping[str, int],
    operands: Mapping[str, Operand],
    result: Numbers,
    fmt: Format,
) -> int:
    """Counts the elements that differ: integers modulo 2^bits; floats by more than the rounding
    errors of sums of so many products.

    Parameters
    ----------
    meant: the expression
    operands: as the array has them
    fmt: of the result
    """

    def sums(*, whole: bool = False, magnitudes: bool = False) -> Numbers:
        values = {name: one.values for name, one in operands.items()}
        if magnitudes:
            values = {name: np.abs(one) for name, one in values.items()}
        kind = np.int64 if whole else np.float64
        numbers = {name: one.astype(kind) for name, one in values.items()}
        if program.sparse:
            return _by_scipy(program, bounds, operands, numbers)
        return np.asarray(np.einsum(meant, *numbers.values()))

    if isinstance(fmt, IntFormat):
        return int(np.count_nonzero(sums(whole=True).astype(f"int{fmt.bits}") != result))
    assert isinstance(fmt, FloatFormat)
    exact, size = sums(), sums(magnitudes=True)
    roundings = 3 + 2 * _most_products(program, bounds, operands)
    least = 2.0 ** (fmt.emin - fmt.fraction_bits)
    allowed = min(roundings * 2.0**-fmt.significand_bits, 0.5) * size + roundings * least
    usable = np.isfinite(result) & np.isfinite(exact) & np.isfinite(size)
    with np.errstate(invalid="ignore"):
        wrong = np.abs(result - exact) > allowed
    return int(np.count_nonzero(wrong & usable))


def _most_products(
    program: Program, bounds: Mapping[str, int], operands: Mapping[str, Operand]
) -> int:
    """Products of an element of the result at most."""
    if not program.sparse:
        result = walked_indices(program.tensor(program.result).dimensions)
        found = 1
        for name, bound in bounds.items():
            found *= bound if name not in result else 1
        return found
    counts = [_matrix(program, bounds, operands, name, None)[0] for name in program.sparse]
    return int(sum(np.diff(one.indptr).max(initial=0) for one in counts))


def _by_scipy(
    program: Program,
    bounds: Mapping[str, int],
    operands: Mapping[str, Operand],
    numbers: Mapping[str, Numbers],
) -> Numbers:
    """Sparse tensors as matrices, of rows and of the other indices together, times the products of
    dense ones; the products' own are multiplied before, those of a sum added."""
    result = walked_indices(program.tensor(program.result).dimensions)
    total: Any = 0
    for names in program.products:
        sparse = [one for one in names if one in program.sparse]
        matrix, others = _matrix(program, bounds, operands, sparse[0], numbers[sparse[0]])
        for name in sparse[1:]:
            matrix = matrix.multiply(_matrix(program, bounds, operands, name, numbers[name])[0])
        matrix = matrix.tocsr()
        row = walked_indices(program.tensor(sparse[0]).dimensions)[0]
        across = tuple(one for one in result if one != row)
        used, matrix.indices = np.unique(matrix.indices, return_inverse=True)
        matrix = type(matrix)(
            (matrix.data, matrix.indices, matrix.indptr), shape=(bounds[row], len(used))
        )
        sizes = [bounds[one] for one in others]
        places = dict(zip(others, np.unravel_index(used, sizes), strict=True))
        dense = np.ones((len(used), *(bounds[one] for one in across)), matrix.dtype)
        for name in names:
            if name not in sparse:
                dense = dense * _rows(program, name, numbers[name], places, across)
        with np.errstate(all="ignore"):
            product = matrix @ dense.reshape(len(used), prod(dense.shape[1:]))
        found = product.reshape(bounds[row], *dense.shape[1:])
        total = total + np.moveaxis(found, 0, result.index(row))
    return np.asarray(total)


def _matrix(
    program: Program,
    bounds: Mapping[str, int],
    operands: Mapping[str, Operand],
    name: str,
    values: Numbers | None,
) -> tuple[Any, tuple[str, ...]]:
    """A sparse tensor's rows, and which indices its columns are, outermost first: the same for all.
    Without ``values`` it is of ones."""
    from scipy.sparse import csr_array

    indices = walked_indices(program.tensor(name).dimensions)
    others = tuple(one for one in program.indices if one in indices[1:])
    entries = operands[name].words
    assert isinstance(entries, Entries)
    sizes = [bounds[one] for one in others]
    columns = np.ravel_multi_index(
        tuple(entries.places[:, indices.index(one)] for one in others), sizes
    )
    data = np.ones(len(entries), np.int64) if values is None else values
    where = (entries.places[:, 0], columns)
    return csr_array((data, where), shape=(bounds[indices[0]], int(np.prod(sizes)))), others


def _rows(
    program: Program,
    name: str,
    numbers: Numbers,
    places: Mapping[str, Numbers],
    across: tuple[str, ...],
) -> Numbers:
    """A dense operand's numbers at places of the sparse tensors' columns, by the result's other
    indices, (columns, across...)."""
    indices = walked_indices(program.tensor(name).dimensions)
    summed = [one for one in indices if one not in across]
    kept = [one for one in across if one in indices]
    turned = numbers.transpose([indices.index(one) for one in (*summed, *kept)])
    found = turned[tuple(places[one] for one in summed)]
    sizes = iter(found.shape[1:])
    return found.reshape(len(found), *(next(sizes) if one in kept else 1 for one in across))
