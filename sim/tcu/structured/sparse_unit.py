"""A tensor unit whose left operands may be 2:4 sparse, and products on it."""

from __future__ import annotations

import numpy as np

from ..dense.recursive import product_operands
from ..tensor_unit import NumpyBackend, TensorUnit, add, multiple, padded
from ..words import Array, Words


def _groups(x: Array) -> Array:
    if x.ndim != 2 or x.shape[1] % 4 or not x.size:
        raise ValueError(f"`x` must be of shape (n, 4 k), n and k from 1, not {x.shape}")
    return x.reshape(len(x), -1, 4)


def is_two_of_four(x: Array, words: Words) -> bool:
    """True if no group of four has more than two words other than zero."""
    return bool(np.all(np.count_nonzero(_groups(x) != words.zero, axis=2) <= 2))


def compressed(x: Array, words: Words) -> tuple[Array, Array]:
    """The words kept, (n, k / 2), and where each stood in its group, 0..3: of a group of four the
    first two that are not zero; zeros in their place if there are fewer.

    Raises ValueError for other shapes, and for a group with more, naming it.
    """
    groups = _groups(x)
    zeros = groups == words.zero
    if not is_two_of_four(x, words):
        row, group = np.argwhere(np.count_nonzero(~zeros, axis=2) > 2)[0]
        raise ValueError(
            f"`x` must hold at most two words other than zero in each four of a row, not more in "
            f"row {row}, columns {4 * group}..{4 * group + 3} (from 0)"
        )
    # Words that are kept first, each kind in its own order.
    places = np.sort(np.argsort(zeros, axis=2, kind="stable")[:, :, :2], axis=2)
    kept = np.take_along_axis(groups, places, axis=2)
    return kept.reshape(len(x), -1), places.reshape(len(x), -1).astype(np.uint8)


def expanded(kept: Array, places: Array, words: Words) -> Array:
    """Restores the operand that was given to `compressed`."""
    found = np.full((len(kept), kept.shape[1] // 2, 4), words.zero, words.dtype)
    shape = (len(kept), -1, 2)
    np.put_along_axis(found, places.reshape(shape).astype(int), kept.reshape(shape), axis=2)
    return found.reshape(len(kept), -1)


class SparseUnit(TensorUnit):
    """The reference of a unit with twice as deep a block, 2 s x s: a left operand has s words a
    row, which stand among 2 s. A call of n rows takes ``n s + l``, as any does; where words stood,
    two bits each, comes beside them.

    Parameters
    ----------
    side: s, even
    words, latency: as of a TensorUnit

    Raises what a TensorUnit raises, and ValueError for an odd side.
    """

    def __init__(self, side: int, words: Words, latency: float = 0) -> None:
        super().__init__(NumpyBackend(side), words, latency)
        if side % 2:
            raise ValueError(f"`side` must be even, not {side}")

    def multiply_sparse(self, kept: Array, places: Array, b: Array) -> Array:
        """``a b`` of a compressed a, (n, s) and where its words stood in 2 s columns, by (2 s, s).

        Raises ValueError for other shapes.
        """
        s = self.s
        if kept.shape != places.shape or kept.shape != (len(kept), s) or len(kept) < s:
            raise ValueError(
                f"`kept` and `places` must be of shape (n, {s}), n >= {s}, not {kept.shape} and "
                f"{places.shape}"
            )
        if b.shape != (2 * s, s):
            raise ValueError(f"`b` must be of shape ({2 * s}, {s}), not {b.shape}")
        found = self.words.product(expanded(kept, places, self.words), b)
        self._count(kept)
        return found


def structured(unit: SparseUnit, a: Array, b: Array) -> Array:
    """``a b`` of a 2:4 sparse a, (n, k), and b, (k, p): ceil(k / (2 s)) ceil(p / s) calls of n
    rows, half of those of a dense a. If b is sparse, by columns, it is streamed: ``b^T a^T``.

    CPU: a is compressed, a comparison and half a move a word. Raises TypeError and ValueError for
    other operands, and if neither is sparse.
    """
    left, right = product_operands(unit, a, b)
    (n, k), p, s = left.shape, right.shape[1], unit.s
    depth = multiple(k, 2 * s)
    of_left, of_right = padded(unit, left, n, depth), padded(unit, right, depth, p)
    if not is_two_of_four(of_left, unit.words) and is_two_of_four(of_right.T, unit.words):
        return _streamed(unit, of_right.T, of_left.T).T
    return _streamed(unit, of_left, of_right)


def _streamed(unit: SparseUnit, left: Array, right: Array) -> Array:
    s, (n, depth), p = unit.s, left.shape, right.shape[1]
    wide, width = padded(unit, left, max(n, s), depth), multiple(p, s)
    blocks = padded(unit, right, depth, width)
    kept, places = compressed(wide, unit.words)
    unit.cpu(adds=wide.size, moves=kept.size)
    c = np.empty((len(wide), width), unit.words.dtype)
    for j in range(width // s):
        strip = c[:, j * s : (j + 1) * s]
        for i in range(depth // (2 * s)):
            part = slice(i * s, (i + 1) * s)
            b = blocks[2 * i * s : 2 * (i + 1) * s, j * s : (j + 1) * s]
            made = unit.multiply_sparse(kept[:, part], places[:, part], b)
            strip[...] = add(unit, strip, made) if i else made
    return c[:n, :p]
