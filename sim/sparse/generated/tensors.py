"""Tensors with the shape and the count of those that papers measure factorisations with.

Source of shapes and counts: FROSTT (nell-2), the Netflix prize, and Tensaurus, table 4.3. How
indices are spread is ours: by Zipf's law with ranks dealt out at random, so that neighbours are as
different as identifiers are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..tensor import Tensor
from .draws import Cumulated, Ints, counts_of, distinct, zipf

__all__ = ["TENSORS", "TensorKind", "generate", "split_last"]

_COMPONENTS = 8
_RATINGS_A_DAY = 8
_FULL = 0.5
"""Largest share of a slice's, or of a fiber's, places that are filled."""


@dataclass(frozen=True, kw_only=True)
class TensorKind:
    """A tensor to generate.

    Parameters
    ----------
    shape, count: of the real one
    fiber: values of a fiber along the last mode, on average; 0 if nothing is said
    places: slices ascending, and cells of a slice (the other modes, the last one fastest)
    what: is like what
    """

    shape: tuple[int, int, int]
    count: int
    fiber: float = 0.0
    places: Callable[[np.random.Generator, tuple[int, int, int], int, float], tuple[Ints, Ints]]
    what: str


def generate(name: str, scale: float = 1.0, seed: int = 1) -> Tensor:
    """A tensor of :data:`TENSORS`, each place once, slices ascending, of values 1 to 5.

    Parameters
    ----------
    scale: count of the values, as a part of the real one's. Modes and fibers shrink by the cube
        root of it, so that a box of a tile's size has as many values as at full size

    Raises
    ------
    ValueError for a scale that is not in 1e-6..1. 10^8 values take 7 GB and a minute or two.
    """
    if not 1e-6 <= scale <= 1:
        raise ValueError(f"`scale` must be in 1e-6..1, not {scale:g}")
    kind = TENSORS[name]
    rng = np.random.default_rng(seed)
    by = scale ** (1 / 3)
    shape = tuple(max(2, round(size * by)) for size in kind.shape)
    assert len(shape) == 3
    count = max(1, round(kind.count * scale))
    slices, cells = kind.places(rng, shape, count, max(1.0, kind.fiber * by))
    indices = np.empty((count, 3), np.int64, order="F")
    indices[:, 0] = slices
    del slices
    np.divmod(cells, shape[2], out=(indices[:, 1], indices[:, 2]))
    del cells
    values = rng.integers(1, 6, count, np.int8).astype(np.float64)
    return Tensor(shape=shape, indices=indices, values=values)


def split_last(tensor: Tensor, size: int) -> Tensor:
    """The same values with one mode more: index k of the last mode becomes k // size, k % size."""
    indices = np.empty((tensor.nnz, tensor.order + 1), np.int64, order="F")
    indices[:, :-1] = tensor.indices
    np.divmod(tensor.indices[:, -1], size, out=(indices[:, -2], indices[:, -1]))
    shape = (*tensor.shape[:-1], -(-tensor.shape[-1] // size), size)
    return Tensor(shape=shape, indices=indices, values=tensor.values)


def _language(
    rng: np.random.Generator, shape: tuple[int, int, int], count: int, fiber: float
) -> tuple[Ints, Ints]:
    """Fibers first, at random places, then the values of each: what is said of a pair is said
    of many others."""
    slices, rows, columns = shape
    by = slices / TENSORS["nell-2"].shape[0]
    # Fibers of a slice, so many that all values fit them.
    most = int(rows * _FULL) or 1
    fibers = min(max(round(count / fiber), slices), most * slices)
    row = Cumulated(zipf(rng, rows, 0.8, 1 + 10 * by))
    shares = zipf(rng, slices, 0.5, 1 + 10 * by)
    counts = counts_of(shares, fibers, most)
    of, at = distinct(rng, counts, rows, lambda each: row.draw(rng, len(each)))
    weights = rng.exponential(1.0, len(of))
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    begins = np.searchsorted(of, np.arange(slices + 1))
    inside = np.diff(begins)
    room = np.maximum(inside, (inside * columns * _FULL).astype(np.int64))
    wanted = shares**1.5 * (inside > 0)
    counts = counts_of(wanted / wanted.sum(), count, room)
    column = Cumulated(zipf(rng, columns, 0.6, 1 + 50 * by))

    def draw(each: Ints) -> Ints:
        low, high = ends[begins[each]], ends[begins[each + 1]]
        where = np.searchsorted(ends, low + (high - low) * rng.random(len(each)), side="right") - 1
        where = np.clip(where, begins[each], begins[each + 1] - 1)
        return at[where] * columns + column.draw(rng, len(each))

    return distinct(rng, counts, rows * columns, draw)


def _ratings(
    rng: np.random.Generator, shape: tuple[int, int, int], count: int, fiber: float
) -> tuple[Ints, Ints]:
    """Each user rates a film once, and some on the same day."""
    users, films, days = shape
    by = users / TENSORS["netflix"].shape[0]
    film = Cumulated(zipf(rng, films, 1.0, 1 + 200 * by))
    counts = counts_of(zipf(rng, users, 0.8, 1 + 1000 * by), count, max(1, int(films * _FULL)))
    user, rated = distinct(rng, counts, films, lambda each: film.draw(rng, len(each)))
    visits = 1 + counts // _RATINGS_A_DAY
    visit = (rng.random(count) * visits[user]).astype(np.int64)
    # The day of a user's visit: a number that looks random.
    mixed = (user * 2654435761 + visit * 40503) & 0xFFFFFFFF
    day = (mixed * days) >> 32
    rated *= days
    rated += day
    return user, rated


def _poisson(
    rng: np.random.Generator, shape: tuple[int, int, int], count: int, fiber: float
) -> tuple[Ints, Ints]:
    """Events of a few sources, each with shares of its own in every mode (Chi and Kolda, On
    tensors, sparsity, and nonnegative factorizations, 2012)."""
    weights = rng.dirichlet(np.full(_COMPONENTS, 5.0))
    modes = [
        np.stack([rng.dirichlet(np.full(size, 3.0)) for _ in range(_COMPONENTS)]) for size in shape
    ]
    rates = weights[:, None] * modes[0]
    slices = rates.sum(axis=0)
    sources = np.cumsum(rates / slices, axis=0)[:-1]
    row, column = Cumulated(modes[1]), Cumulated(modes[2])
    most = max(1, int(shape[1] * shape[2] * _FULL))

    def draw(each: Ints) -> Ints:
        where = rng.random(len(each))
        source = np.zeros(len(each), np.int64)
        for ends in sources:
            source += where > ends[each]
        return row.draw(rng, len(each), source) * shape[2] + column.draw(rng, len(each), source)

    counts = counts_of(slices / slices.sum(), count, most)
    return distinct(rng, counts, shape[1] * shape[2], draw)


TENSORS = {
    "nell-2": TensorKind(
        shape=(12_092, 9_184, 28_818),
        count=76_879_419,
        fiber=230.0,
        places=_language,
        what="a knowledge base: who, what, whom",
    ),
    "netflix": TensorKind(
        shape=(480_189, 17_770, 2_182),
        count=100_480_507,
        places=_ratings,
        what="ratings: user, film, day",
    ),
    "poisson3D": TensorKind(
        shape=(3_000, 3_000, 3_000),
        count=99_000_000,
        places=_poisson,
        what="counts of events",
    ),
}
