"""Random products, and their results in whole numbers and in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.sparse.rounding import round_to
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.work import Work

EQUATIONS = {
    ("mttkrp", 3): "ijk,jf,kf->if",
    ("mttkrp", 4): "ijkl,jf,kf,lf->if",
    ("ttmc", 3): "ijk,jf,kg->ifg",
    ("ttmc", 4): "ijkl,jf,kg,lh->ifgh",
    ("mm", 2): "ij,jf->if",
    ("mv", 2): "ij,jf->if",
}
"""Einsum equation of each kernel and order."""

Numbers = npt.NDArray[Any]
Patterns = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Product:
    """A product of whole numbers; ``tensor``: slices first, each place once."""

    work: Work
    tensor: Tensor
    factors: dict[int, Numbers]

    @property
    def exact(self) -> Numbers:
        """Exact result, computed by NumPy in int64."""
        name = EQUATIONS[self.work.kernel, self.work.order]
        found = np.einsum(name, to_dense(self.tensor), *self.factors.values())
        return found.reshape(self.work.result_shape)

    def operands(self, config: TensaurusConfig) -> dict[int, Patterns]:
        return {mode: encoded(numbers, config) for mode, numbers in self.factors.items()}


def encoded(numbers: Numbers, config: TensaurusConfig) -> Patterns:
    """Patterns of an array of any shape."""
    return round_to(numbers.reshape(-1), config.format).reshape(numbers.shape)


def to_dense(tensor: Tensor) -> Numbers:
    """All elements; entries of one place are added."""
    found = np.zeros(tensor.shape, tensor.values.dtype)
    np.add.at(found, tuple(tensor.indices.T), tensor.values)
    return found


def random_product(
    rng: np.random.Generator, kernel: str, shape: tuple[int, ...], ranks: tuple[int, ...],
    *, count: int, dense: bool = False, most: int = 4,
) -> Product:  # fmt: skip
    """Small whole numbers; ``count``: values of the tensor, fewer where places coincide."""
    work = Work(kernel=kernel, shape=shape, ranks=ranks, dense=dense)
    cells = int(np.prod(shape))
    places = np.unique(rng.integers(0, max(1, cells), count if cells else 0))
    values = rng.integers(1, most + 1, len(places)) * rng.choice([-1, 1], len(places))
    indices = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
    tensor = Tensor(shape=shape, indices=indices.reshape(-1, len(shape)), values=values)
    factors = {mode: rng.integers(-most, most + 1, (shape[mode], rank))
               for mode, rank in enumerate(ranks, 1)}  # fmt: skip
    return Product(work, tensor, factors)
