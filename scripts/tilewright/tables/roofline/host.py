"""Computes the products by SciPy, on one core of the machine at hand."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...sim.sparse.tensor import Tensor, arrangement, modes_from
from ...sim.tensaurus.work import Work

__all__ = ["host_product", "host_seconds"]

Floats = npt.NDArray[np.float32]

_PIECE = 1 << 20
"""Values whose fibers are summed at once."""
_LEAST = 0.01
"""Seconds that are measured at least: the clock of a process may have steps of milliseconds."""


def host_seconds(work: Work, tensor: Tensor, mode: int, tries: int = 3) -> float:
    """Processor time of a product in fp32, the fastest of some, or of one that takes long; what is
    prepared once for many products, the tensor in compressed fibers, is not counted. A short
    product is repeated."""
    prepared = _Prepared(work, tensor, mode)
    rng = np.random.default_rng(1)
    operands = [
        rng.random((size, rank), np.float32)
        for size, rank in zip(work.shape[1:], work.ranks, strict=True)
    ]
    best, repeats = np.inf, 1
    while tries:
        began = time.process_time()
        for _ in range(repeats):
            prepared.product(operands)
        taken = time.process_time() - began
        if taken < _LEAST:
            repeats *= 4
            continue
        best, tries = min(best, taken / repeats), tries - 1
        if taken > 1:
            break
    return best


def host_product(
    work: Work, tensor: Tensor, mode: int, operands: list[npt.NDArray[np.float32]]
) -> Floats:
    """The product, in ``work.result_shape``; ``operands``: of the other modes, in their order."""
    return _Prepared(work, tensor, mode).product(operands)


class _Prepared:
    """A tensor as matrices: of each piece its fibers times the last mode, then for each mode
    before that which of the sums are added to which."""

    def __init__(self, work: Work, tensor: Tensor, mode: int) -> None:
        self._work = work
        order, _ = arrangement(tensor, mode)
        columns = [tensor.indices[order, one] for one in modes_from(tensor.order, mode)]
        values = tensor.values[order].astype(np.float32)
        self._pieces = list(self._cut(columns, values))

    def _cut(
        self, columns: list[npt.NDArray[np.int64]], values: Floats
    ) -> Iterator[list[tuple[sp.csr_array, npt.NDArray[np.int64]]]]:
        """Cuts the tensor into pieces. A piece has levels from the last mode on: a matrix, and the
        index in the preceding mode of each of its rows."""
        shape = self._work.shape
        for begin in range(0, max(1, len(values)), _PIECE):
            part = slice(begin, begin + _PIECE)
            own = [column[part] for column in columns]
            data, inner, width = values[part], own[-1], shape[-1]
            levels = []
            for level in range(len(own) - 1, 0, -1):
                new = np.ones(len(own[0]), np.bool_)
                new[1:] = False
                for column in own[:level]:
                    new[1:] |= column[1:] != column[:-1]
                first = np.flatnonzero(new)
                starts = np.append(first, len(new))
                rows = len(first)
                levels.append(
                    (sp.csr_array((data, inner, starts), (rows, width)), own[level - 1][first])
                )
                own = [column[first] for column in own[:level]]
                data, inner, width = np.ones(rows, np.float32), np.arange(rows), rows
            yield levels

    def product(self, operands: list[Floats]) -> Floats:
        """See :func:`host_product`."""
        work = self._work
        found = np.zeros((work.shape[0], int(np.prod(work.result_shape[1:]))), np.float32)
        for levels in self._pieces:
            sums = operands[-1]
            for depth, (matrix, outer) in enumerate(levels):
                sums = matrix @ sums
                if depth == len(levels) - 1:
                    # A slice may be in two pieces, but not twice in one.
                    found[outer] += sums
                elif work.kernel == "ttmc":
                    factor = operands[-2 - depth][outer]
                    sums = (factor[:, :, None] * sums[:, None, :]).reshape(len(sums), -1)
                else:
                    sums *= operands[-2 - depth][outer]
        return found.reshape(work.result_shape)
