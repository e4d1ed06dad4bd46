"""Random tensors for CISS, as plain entries and as arrays."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from tilewright.hw.spec.ciss import MARKERS, VALUES, CissLayout
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.ciss.oracle import Entries

_WHOLE = (0, 1, -1, 7, 256, 2**40 + 1, -(2**31))
_REAL = (0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 1e-45, 1e-8, -1e-8, 5e-324, 65520.0, 70000.0, -(2.0**40))
_WIDE = (math.nan, math.inf, -math.inf, 1e300, 3.4e38, 3.3895e38, 1.00390625, 1.01171875)


@dataclass(frozen=True)
class Case:
    """A tensor, and how it is to be streamed."""

    layout: CissLayout
    mode: int
    shape: tuple[int, ...]
    entries: Entries

    @property
    def oracle(self) -> dict[str, Any]:
        """Arguments of the oracle for this case."""
        x = self.layout
        return {
            "rows": x.rows, "fmt": x.value, "iw": x.index_bits, "marker": x.marker,
            "mode": self.mode,
        }  # fmt: skip

    @property
    def tensor(self) -> Tensor:
        return tensor(self.shape, self.entries)


def tensor(shape: tuple[int, ...], entries: Entries) -> Tensor:
    """The arrays of entries: int64 if all are whole numbers."""
    whole = all(isinstance(value, int) for _, value in entries)
    return Tensor(
        shape=shape,
        indices=np.array([place for place, _ in entries], np.int64).reshape(-1, len(shape)),
        values=np.array([value for _, value in entries], np.int64 if whole else np.float64),
    )


def layout(
    rows: int = 2, order: int = 3, value: str = "fp32", index_bits: int = 32, marker: str = "zero"
) -> CissLayout:
    return CissLayout(rows=rows, order=order, value=value, index_bits=index_bits, marker=marker)


def random_case(seed: int) -> Case:
    """Draws any parameters, small modes for coinciding positions, and numbers that are hard to
    round."""
    rng = random.Random(seed)
    order = 2 + seed % 5
    where = layout(
        rng.randint(1, 16), order, rng.choice(VALUES), rng.choice([16, 32]), rng.choice(MARKERS)
    )
    shape = tuple(rng.choice([1, 2, 3, 5, 9]) for _ in range(order))
    numbers: tuple[Any, ...] = _REAL if where.value.startswith("int") else _REAL + _WIDE
    if rng.random() < 0.4:
        numbers = _WHOLE
    entries = [
        (tuple(rng.randrange(size) for size in shape), rng.choice(numbers))
        for _ in range(rng.choice([0, 1, 5, 40, 90]))
    ]
    return Case(where, rng.randrange(order), shape, entries)
