"""Generated graphs of kinds that iterative algorithms meet, as patterns, from seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

# Generated sparse matrices of three kinds that are found in practice, square, from seeds.
#
# Squares of them take about as many products as are asked for; ``products`` of a matrix says how
# many it is.

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


_QUARTERS = (0.57, 0.19, 0.19)
"""Shares of an R-MAT graph's edges in three of the matrix's quarters, as Graph500 has them."""
_EDGES = 16
"""Edges of an R-MAT graph per vertex."""
_KEPT = 0.6
"""Share of a lattice's edges that are roads."""


def _pattern(rows: np.ndarray, cols: np.ndarray, size: int) -> sp.csr_array:
    found = sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(size, size))
    found.sum_duplicates()
    found.data[:] = 1
    return found


def rmat(vertices: int, seed: int) -> sp.csr_array:
    """A network with a few large hubs, directed: R-MAT (Chakrabarti et al., 2004) with the shares
    of Graph500, 16 edges a vertex before those that come twice are dropped; vertices in any
    order. ``vertices`` is made a power of two."""
    rng = np.random.default_rng(seed)
    scale = max(1, round(np.log2(vertices)))
    count = _EDGES << scale
    rows = np.zeros(count, np.int64)
    cols = np.zeros(count, np.int64)
    a, b, c = _QUARTERS
    for _ in range(scale):
        drawn = rng.random(count)
        lower = drawn >= a + b
        right = np.where(lower, drawn >= a + b + c, drawn >= a)
        rows = 2 * rows + lower
        cols = 2 * cols + right
    names = rng.permutation(1 << scale)
    return _pattern(names[rows], names[cols], 1 << scale)


def _lattice(sides: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours along every axis, once."""
    number = np.arange(np.prod(sides)).reshape(sides)
    pairs = [
        (number.take(range(side - 1), axis).ravel(), number.take(range(1, side), axis).ravel())
        for axis, side in enumerate(sides)
    ]
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def _grid(sides: tuple[int, ...]) -> sp.csr_array:
    one, other = _lattice(sides)
    size = int(np.prod(sides))
    itself = np.arange(size)
    return _pattern(
        np.concatenate([one, other, itself]), np.concatenate([other, one, itself]), size
    )


def grid_2d(vertices: int, seed: int) -> sp.csr_array:
    """Equations of a square grid, five points, row by row."""
    side = max(1, round(vertices**0.5))
    return _grid((side, side))


def grid_3d(vertices: int, seed: int) -> sp.csr_array:
    """Equations of a cube, seven points, plane by plane."""
    side = max(1, round(vertices ** (1 / 3)))
    return _grid((side, side, side))


def road(vertices: int, seed: int) -> sp.csr_array:
    """Roads: a square lattice of which six edges of ten are there, both ways; about 2.4
    neighbours a vertex, as road networks have."""
    rng = np.random.default_rng(seed)
    side = max(1, round(vertices**0.5))
    one, other = _lattice((side, side))
    kept = rng.random(len(one)) < _KEPT
    one, other = one[kept], other[kept]
    return _pattern(np.concatenate([one, other]), np.concatenate([other, one]), side * side)


GRAPHS: dict[str, Callable[[int, int], sp.csr_array]] = {
    "R-MAT": rmat,
    "2-D grid": grid_2d,
    "3-D grid": grid_3d,
    "roads": road,
}
"""Generators of graphs from the approximate number of vertices, and a seed."""
