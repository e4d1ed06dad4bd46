"""Matrices with the size and the row statistics of those that MatRaptor's paper squares.

Source: MatRaptor, Table 5.2, to whose sizes rows and entries round. Products were compared with
other sources for web-Google, 2cubes_sphere, wiki-Vote and p2p-Gnutella31, entries of the square for
web-Google, 2cubes_sphere, amazon0312 and p2p-Gnutella31. Other numbers of the real matrices, the
longest rows among them, were not: they are from memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

from .draws import Cumulated, Floats, Ints, counts_of, distinct

__all__ = ["SUITE", "Square", "square_matrix"]

_RANKS = 2000
"""Ranks at which sums over all rows are evaluated."""
_SHUFFLED = 64
"""Neighbours among which the rows of a mesh are dealt in any order."""


@dataclass(frozen=True, kw_only=True)
class Square:
    """A square matrix to generate.

    Parameters
    ----------
    rows, entries, longest: of the real matrix; ``longest`` entries in one row
    products, results: of its square, published for the real one: products, and entries of C
    local: share of the entries whose columns are near their rows; the others are drawn by how many
        entries the row of that number has, or evenly, as the products of the square need it. Rows
        then have lengths like their neighbours'
    reach: standard deviation of the distance to these, in each direction of a grid
    axes: directions of the grid; rows are its points, in order
    columns, filled: columns and rows with entries; all if 0
    aim: products to choose columns for, over those wanted: some are drawn twice, and replaced
    spread: sum of the squares of the rows' lengths, over the products
    """

    rows: int
    entries: int
    longest: int
    products: int
    results: int
    local: float
    reach: float
    axes: int
    columns: int = 0
    filled: int = 0
    aim: float = 1.0
    spread: float = 1.0


def _square(*figures: int, **options: float) -> Square:
    rows, entries, longest, products, results = figures
    mesh = "reach" in options
    usual = {"local": 1.0, "axes": 3} if mesh else {"local": 0.0, "reach": 4.0, "axes": 1}
    return Square(
        rows=rows, entries=entries, longest=longest, products=products, results=results,
        **(usual | options),  # type: ignore[arg-type]
    )  # fmt: skip


SUITE = {
    "web-Google": _square(
        916_428, 5_105_039, 456, 60_687_836, 29_710_164, local=0.965, spread=1.75, aim=9
    ),
    "mario002": _square(
        389_874, 2_101_242, 7, 12_829_364, 6_449_598, reach=0.72, axes=2, spread=1.76
    ),
    "amazon0312": _square(
        400_727, 3_200_440, 10, 28_406_782, 14_390_544, local=0.91, spread=1.4, aim=9
    ),
    "m133-b3": _square(200_200, 800_800, 4, 3_203_200, 3_182_751),
    "scircuit": _square(
        170_998, 958_936, 353, 8_676_313, 5_222_525, reach=2.08, axes=2, spread=1.23
    ),
    "p2p-Gnutella31": _square(62_586, 147_892, 78, 538_318, 537_601, filled=16_387, spread=2.89),
    "offshore": _square(259_789, 4_242_673, 31, 71_342_515, 23_356_245, reach=0.6),
    "cage12": _square(130_228, 2_032_536, 33, 34_610_826, 15_231_874, reach=0.82),
    "2cubes_sphere": _square(101_492, 1_647_264, 31, 27_450_606, 8_974_526, reach=0.59),
    "filter3D": _square(106_437, 2_707_179, 112, 85_957_185, 20_161_619, reach=0.8, spread=1.05),
    "email-Enron": _square(36_692, 367_662, 1_383, 51_520_428, 30_491_157, spread=1.35, aim=1.1),
    "ca-CondMat": _square(
        23_133, 186_936, 280, 4_134_438, 2_355_853, local=0.95, spread=1.95, aim=1.7
    ),
    "wiki-Vote": _square(
        8_297, 103_689, 893, 4_542_805, 1_831_112, filled=6_110, columns=1_500, spread=3, aim=2.2
    ),
    "poisson3Da": _square(13_514, 352_762, 110, 11_768_678, 2_957_530, reach=0.88, spread=1.09),
}
"""The matrices by their names in the SuiteSparse collection, in the order of the table."""


def _second_moment(kind: Square, shift: float) -> tuple[float, float]:
    """The exponent with which rows of rank r have (r + shift)^-exponent entries, the longest as
    many as it should, and the sum of the squares."""
    filled = kind.filled or kind.rows
    ranks = np.unique(np.geomspace(1, filled, _RANKS).astype(np.int64)) - 1
    widths = np.gradient(ranks.astype(np.float64))

    def lengths(exponent: float) -> Floats:
        return np.asarray(kind.longest * ((ranks + shift) / shift) ** -exponent, np.float64)

    def missing(exponent: float) -> float:
        return float((lengths(exponent) * widths).sum()) - kind.entries

    if missing(0.0) <= 0:
        return 0.0, float(kind.entries) ** 2 / filled
    highest = 1.0
    while missing(highest) > 0:
        highest *= 2
    exponent = brentq(missing, 0.0, highest)
    return exponent, float((lengths(exponent) ** 2 * widths).sum())


def _lengths(kind: Square, rng: np.random.Generator) -> Ints:
    """Entries of each row."""
    wanted = kind.spread * kind.products
    if kind.longest * kind.rows == kind.entries:
        return np.full(kind.rows, kind.longest)

    def excess(log_shift: float) -> float:
        return _second_moment(kind, float(np.exp(log_shift)))[1] - wanted

    low, high = np.log(1e-3), np.log(1e3 * kind.rows)
    # The shift that gives the products if columns are as popular as rows are long, or the nearest.
    shift = np.exp(
        brentq(excess, low, high)
        if excess(low) * excess(high) < 0
        else (low if abs(excess(low)) < abs(excess(high)) else high)
    )
    exponent = _second_moment(kind, float(shift))[0]
    shares = ((np.arange(kind.rows) + shift) / shift) ** -exponent
    shares[kind.filled or kind.rows :] = 0
    counts = counts_of(shares / shares.sum(), kind.entries, kind.longest)
    if kind.local == 0:
        return rng.permutation(counts)
    # The longest rows in the middle, so that neighbours have similar lengths.
    counts = np.concatenate([counts[::-2], counts[kind.rows % 2 :: 2]])
    order = np.argsort(np.arange(kind.rows) // _SHUFFLED + rng.random(kind.rows))
    return counts[order]


def square_matrix(name: str, seed: int = 1) -> sp.csr_array:
    """A matrix of :data:`SUITE`, from a seed: its rows, entries and longest row are exact, products
    and entries of its square near those of the real one. All values are one."""
    kind = SUITE[name]
    rng = np.random.default_rng(seed)
    counts = _lengths(kind, rng)
    side = round(kind.rows ** (1 / kind.axes))
    steps = side ** np.arange(kind.axes)
    squares, mean = float((counts**2).sum()) / kind.entries, kind.entries / kind.rows
    even = max(0.0, (squares - kind.aim * kind.products / kind.entries) / max(1e-9, squares - mean))
    shares = (1 - even) * counts / kind.entries + even / kind.rows
    if kind.columns:
        shares[rng.permutation(kind.rows)[kind.columns :]] = 0
    popular = Cumulated(shares / shares.sum())

    def draw(rows: Ints) -> Ints:
        near = rng.random(len(rows)) < kind.local
        away = np.rint(rng.normal(0.0, kind.reach, (int(near.sum()), kind.axes)))
        columns = popular.draw(rng, len(rows))
        columns[near] = (rows[near] + away.astype(np.int64) @ steps) % kind.rows
        return columns

    _, columns = distinct(rng, counts, kind.rows, draw)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return sp.csr_array((np.ones(kind.entries), columns, starts), (kind.rows, kind.rows))
