"""Generated sparse matrices of three kinds that are found in practice, square, from seeds.

Squares of them take about as many products as are asked for; ``products`` of a matrix says how
many it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

__all__ = ["KINDS", "products"]

_EXPONENT, _FEWEST, _MOST = 2.5, 3, 200
"""Exponent of the power law, and fewest and most neighbours of a vertex, before duplicates are
dropped."""
_BAND, _FILLED = 20, 0.5
"""Diagonals on either side, and the share of their places that are filled."""
_BLOCK, _BLOCKS = 8, 3
"""Rows of a full block, and blocks in a row of blocks."""


def products(matrix: sp.csr_array) -> int:
    """Counts the products in the square of a matrix."""
    return int(np.diff(matrix.indptr)[matrix.indices].sum())


def _power_law(wanted: int, seed: int) -> sp.csr_array:
    """A network, symmetric: how many neighbours a vertex has follows a power law; who they are is
    drawn. Collaborations, links, mails look like this."""
    rng = np.random.default_rng(seed)
    counts = np.arange(_FEWEST, _MOST + 1)
    shares = counts**-_EXPONENT / (counts**-_EXPONENT).sum()
    vertices = int(wanted / (shares @ (counts * counts)))
    degrees = rng.choice(counts, vertices, p=shares)
    ends = rng.permutation(np.repeat(np.arange(vertices), degrees))
    half = len(ends) // 2
    pairs = ends[:half], ends[half : 2 * half]
    edges = sp.coo_array((np.ones(half), pairs), (vertices, vertices))
    return _filled(edges + edges.T)


def _banded(wanted: int, seed: int) -> sp.csr_array:
    """Places near the diagonal, half of them filled: a structure's or a grid's equations."""
    rng = np.random.default_rng(seed)
    width = 2 * _BAND + 1
    rows = int(wanted / (_FILLED * width) ** 2)
    row = np.repeat(np.arange(rows), width)
    column = row + np.tile(np.arange(-_BAND, _BAND + 1), rows)
    kept = (rng.random(len(row)) < _FILLED) & (column >= 0) & (column < rows)
    return _filled(sp.coo_array((np.ones(kept.sum()), (row[kept], column[kept])), (rows, rows)))


def _blocks(wanted: int, seed: int) -> sp.csr_array:
    """Full blocks anywhere: several unknowns at each node, or a pruned layer of a network."""
    rng = np.random.default_rng(seed)
    number = int(wanted / (_BLOCK * (_BLOCK * _BLOCKS) ** 2))
    row = np.repeat(np.arange(number), _BLOCKS)
    at = sp.coo_array(
        (np.ones(len(row)), (row, rng.integers(0, number, len(row)))), (number, number)
    )
    return _filled(sp.kron(at, np.ones((_BLOCK, _BLOCK)), format="coo"))


def _filled(matrix: sp.sparray) -> sp.csr_array:
    """Converts a matrix to CSR and sets every entry to one."""
    found = sp.csr_array(matrix)
    found.sum_duplicates()
    found.data[:] = 1
    return found


KINDS: dict[str, Callable[[int, int], sp.csr_array]] = {
    "power law": _power_law,
    "banded": _banded,
    "random blocks": _blocks,
}
"""Generators of matrices from the number of products in their square, and a seed."""
