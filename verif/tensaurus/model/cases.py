"""Random tiles: a device, a kernel, a tensor and its operands."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat, Format
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.numbers.values import decode
from tilewright.sim.sparse.c2sr import run_indices
from tilewright.sim.sparse.ciss import Ciss, from_tensor
from tilewright.sim.sparse.ciss_stream import read_slices
from tilewright.sim.sparse.rounding import round_to
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.result.entries import Entries
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.work import Work
from tilewright.verif.ciss import oracle as ciss_oracle
from tilewright.verif.oracles import stimuli

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


def of_stream(ciss: Ciss) -> Entries:
    """The entries of a stream. Raises ValueError that names the first slot that cannot be."""
    slices = read_slices(ciss.slots, ciss.layout, ciss.stream_shape)
    where = run_indices(slices.begins, slices.lengths)
    rows, entries = np.divmod(where, max(1, ciss.entries))
    slots = ciss.slots[entries, rows]
    numbers = np.repeat(slices.numbers, slices.lengths)
    return Entries(numbers, slots["index"].T.astype(np.int64), slots["value"].astype(np.uint64))


Patterns = npt.NDArray[np.uint64]


def device(**changes: Any) -> TensaurusConfig:
    """A small device: units of 6 values."""
    small = {
        "rows": 2, "cols": 3, "vlen": 2, "order": 4, "spm_bytes": 4096, "banks": 4,
        "out_bytes": 4096, "channels": 2, "data_bits": 64, "marker": "bit",
    }  # fmt: skip
    return TensaurusConfig(**{**small, **changes})


def kernels(config: TensaurusConfig) -> list[Kernel]:
    """All that a device has, with few and many vectors."""
    found = [Kernel(name="mv", order=2)]
    found += [Kernel(name="mm", order=2, vectors=nv) for nv in (1, 2, config.olen)]
    if config.semiring != "mma":
        return found
    for order in range(3, config.order + 1):
        for nv in (1, 2, 3):
            found.append(Kernel(name="mttkrp", order=order, vectors=nv))
        shapes = [(1, 1, 1), (1, 3, 1), (2, 2, 1), (1, 2, 2), (1, 1, 3), (2, 1, 2)]
        for nv, nf1, nf2 in shapes:
            if order == 4 or nf2 == 1:
                found.append(Kernel(name="ttmc", order=order, vectors=nv, scalars=(nf1, nf2)))
    return found


def patterns(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Patterns:
    """Draws patterns of a format, mostly moderate ones so that not all results are infinite."""
    if not isinstance(fmt, FloatFormat):
        found: Patterns = rng.integers(0, 1 << fmt.bits, shape, np.uint64)
        small = rng.integers(-4, 5, shape).astype(np.uint64) & np.uint64((1 << fmt.bits) - 1)
        return np.where(rng.random(shape) < 0.5, small, found)
    found = stimuli.values(rng, "moderate", shape, fmt)
    for kind, share in (("subnormal", 0.05), ("special", 0.02)):
        other = stimuli.values(rng, kind, shape, fmt)
        found = np.where(rng.random(shape) < share, other, found)
    return found


@dataclass(frozen=True)
class TileCase:
    """A tile: its stream, and the operand of each mode after the first."""

    config: TensaurusConfig
    kernel: Kernel
    shape: tuple[int, ...]
    ciss: Ciss
    operands: dict[int, Patterns]


def random_tile(rng: np.random.Generator, config: TensaurusConfig, kernel: Kernel) -> TileCase:
    """Fibers and slices of few and of many values."""
    widest = [3, 9, 40] if kernel.order == 2 else [1, 3, 6]
    shape = tuple(int(rng.choice(widest)) for _ in range(kernel.order))
    cells = prod(shape)
    count = int(rng.integers(0, min(cells, 150) + 1))
    places = rng.choice(cells, count, replace=False)
    values = decode(patterns(rng, (count,), config.format), config.format)
    tensor = Tensor(
        shape=shape,
        indices=np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64),
        values=values,
    )
    operands = {
        mode: patterns(rng, (shape[mode], kernel.row_values(config, mode)), config.format)
        for mode in range(1, kernel.order)
    }
    ciss = from_tensor(tensor, config.layout(kernel.order))
    return TileCase(config, kernel, shape, ciss, operands)


def items_of(ciss: Ciss) -> dict[int, list[tuple[tuple[int, ...], int]]]:
    """The entries of a stream, slice by slice, as CISS' own oracle reads them."""
    layout = ciss.layout
    found = ciss_oracle.tensor_of(
        ciss.slots.tobytes(), ciss.shape, rows=layout.rows, fmt=layout.value,
        iw=layout.index_bits, marker=layout.marker, mode=0,
    )  # fmt: skip
    slices: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for place in sorted(found):
        slices.setdefault(place[0], []).append((place[1:], found[place]))
    return slices
