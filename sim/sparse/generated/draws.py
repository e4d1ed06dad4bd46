"""Tools to draw generated tensors: shares of indices, counts of slices, distinct places."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Draw = Callable[[Ints], Ints]

_PIECE = 1 << 22
"""Places that are drawn at once, unless a slice has more."""
_ROUNDS = 16
"""Rounds in which repeated places are redrawn; later rounds draw any place."""


def zipf(rng: np.random.Generator, size: int, exponent: float, shift: float) -> Floats:
    """Shares of indices: that of rank r goes with (r + shift)^-exponent; ranks are dealt out at
    random."""
    shares = (np.arange(size) + shift) ** -exponent
    return rng.permutation(shares / shares.sum())


def counts_of(shares: Floats, total: int, most: Ints | int) -> Ints:
    """Whole numbers of at most ``most`` each, ``total`` in all, that go with the shares. Raises
    ValueError if there is no room for so many."""
    room_for = int(np.broadcast_to(most, shares.shape).sum())
    if total > room_for:
        raise ValueError(f"`total` must be at most {room_for}, not {total}")
    found = np.zeros(len(shares), np.int64)
    while left := total - int(found.sum()):
        room = found < most
        wanted = np.where(room, shares, 0.0)
        if not wanted.any():
            wanted = room.astype(np.float64)
        wanted *= left / wanted.sum()
        more = wanted.astype(np.int64)
        # The remaining ones go to the largest remainders.
        order = np.argsort(more - wanted, kind="stable")
        more[order[: left - int(more.sum())]] += 1
        found = np.minimum(found + more, most)
    return found


class Cumulated:
    """Draws indices by their shares.

    Parameters
    ----------
    shares: (indices,) or (kinds, indices), each row's sum is 1
    """

    def __init__(self, shares: Floats) -> None:
        table = np.atleast_2d(shares)
        self._size = table.shape[1]
        rows = np.minimum(np.cumsum(table, axis=1), 1.0)
        rows[:, -1] = 1.0
        self._ends = (rows + np.arange(len(table))[:, None]).reshape(-1)

    def draw(self, rng: np.random.Generator, count: int, kind: Ints | None = None) -> Ints:
        """So many indices, each of its kind."""
        where = rng.random(count)
        if kind is not None:
            where += kind
        found = np.searchsorted(self._ends, where, side="right")
        if kind is not None:
            found -= kind * self._size
        # Kinds make the last bits of a share coarse.
        return np.clip(found, 0, self._size - 1)


def distinct(rng: np.random.Generator, counts: Ints, cells: int, draw: Draw) -> tuple[Ints, Ints]:
    """So many places of each slice, none twice: slices, ascending, and each one's cell, ascending
    within a slice.

    Parameters
    ----------
    counts: (slices,) of places, each at most ``cells``
    cells: of a slice
    draw: a cell for each of these slices

    A slice's places are drawn, those that came twice anew; after some rounds any cell will do.
    """
    slices = np.repeat(np.arange(len(counts)), counts)
    found = np.empty(len(slices), np.int64)
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _PIECE)))
        piece = slice(before, int(ends[last - 1]))
        own = slices[piece] - first
        found[piece] = _piece(rng, own, counts[first:last], cells, draw, first)
        first = last
    return slices, found


def _piece(
    rng: np.random.Generator, own: Ints, counts: Ints, cells: int, draw: Draw, first: int
) -> Ints:
    """Cells of some slices, which are ``first`` and those behind it."""
    keys = np.zeros(0, np.int64)
    wanted, rounds = own, 0
    while len(wanted):
        rounds += 1
        drawn = rounds <= _ROUNDS
        new = draw(wanted + first) if drawn else rng.integers(0, cells, len(wanted))
        new += wanted * cells
        keys = np.concatenate([keys, new])
        keys.sort()
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
        missing = counts - np.bincount(keys // cells, minlength=len(counts))
        wanted = np.repeat(np.arange(len(counts)), missing)
    return keys - own * cells
