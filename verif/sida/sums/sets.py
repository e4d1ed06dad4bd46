"""A matrix as sets of elements, as its loader hands them on, with any interruption allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import Format, IntFormat
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.result.products import Columns

Ints = npt.NDArray[np.int64]
Patterns = npt.NDArray[np.uint64]

KINDS = ("mixed", "long", "short", "pairs", "sparse", "dense", "diagonal", "one", "nothing")


def _lengths(rng: np.random.Generator, kind: str, size: int, pes: int) -> Ints:
    """Elements of each column."""
    if kind == "mixed":
        lengths = rng.choice([0, 0, 1, 2, pes - 1, pes, pes + 1, 3 * pes, size], size)
    elif kind == "long":
        lengths = rng.integers(size // 2, size + 1, size)
    elif kind == "short":
        lengths = rng.integers(0, 4, size)
    elif kind == "pairs":
        # In every set a column ends and another one begins.
        lengths = np.full(size, pes)
        lengths[0] = pes // 2
    elif kind == "sparse":
        lengths = (rng.random(size) < 0.1) * rng.integers(1, size + 1, size)
    else:
        lengths = np.full(size, {"dense": size, "diagonal": 1, "one": 1, "nothing": 0}[kind])
    return np.minimum(lengths, size).astype(np.int64)


def drawn_values(rng: np.random.Generator, count: int, fmt: Format) -> Patterns:
    """Draws numbers of a few magnitudes, some zeros, and sometimes any pattern."""
    if isinstance(fmt, IntFormat):
        return encode(rng.integers(-9, 10, count), fmt)
    found = encode(rng.normal(size=count) * 2.0 ** rng.integers(-4, 5, count), fmt)
    odd = [0, 1 << (fmt.bits - 1), fmt.infinity, fmt.nan, 1, fmt.one, fmt.largest]
    which = rng.random(count) < 0.02
    found[which] = rng.choice(np.array(odd, np.uint64), int(which.sum()))
    found[rng.random(count) < 0.1] = 0
    return found


def drawn_columns(rng: np.random.Generator, kind: str, size: int, config: SidaConfig) -> Columns:
    """A matrix of a kind, see :data:`KINDS`."""
    size = 1 if kind == "one" else size
    lengths = _lengths(rng, kind, size, config.pes)
    rows = [np.sort(rng.choice(size, length, replace=False)) for length in lengths]
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return Columns(
        pointers=pointers.astype(np.int64),
        rows=np.concatenate(rows).astype(np.int64),
        values=drawn_values(rng, int(pointers[-1]), config.format),
    )


@dataclass
class Issued:
    """A set, or a part of one: leaves to elements of the matrix."""

    base: int
    columns: int
    elements: dict[int, int] = field(default_factory=dict)


def sets_of(
    rng: np.random.Generator, matrix: Columns, config: SidaConfig, cut: float
) -> Iterator[Issued]:
    """Returns the sets, in order. A set may end early after a column, with probability ``cut``.

    Columns are at most ``pes``, of one step; what is of one column and one set of the matrix comes
    together.
    """
    pes, step = config.pes, config.subtensor
    base, place, total = 0, 0, int(matrix.pointers[-1])
    while base < matrix.size:
        end = min(base + pes, matrix.size, (base // step + 1) * step)
        limit = min((place // pes + 1) * pes, total)
        one = Issued(base, 0)
        column = base
        while column < end:
            last = min(int(matrix.pointers[column + 1]), limit)
            one.elements.update({n % pes: n for n in range(place, last)})
            place = last
            if place < matrix.pointers[column + 1]:
                break
            column += 1
            # Nothing more of a set of the matrix that is used up.
            if rng.random() < cut or (place == limit and rng.random() < 0.5):
                break
        one.columns = column - base
        base = column
        yield one
