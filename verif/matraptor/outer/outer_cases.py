"""Jobs for MatRaptor's outer products: random operands and their placement in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.result.outer import by_columns, outer_product
from tilewright.sim.matraptor.result.rows import SparseProduct, least_capacity
from tilewright.sim.sparse.c2sr import C2sr, from_csr, to_csr
from tilewright.verif.channels.lane_rows import walk
from tilewright.verif.kit.sampling import draw_until
from tilewright.verif.matraptor.cases import SparseCase, place_arrays, random_matrix
from tilewright.verif.matraptor.jobs import fits, reference_product


@dataclass(frozen=True, kw_only=True, eq=False)
class InRows(SparseCase):
    """A job of the first mode on an accelerator with both. ``columns``: what is left in COLUMNS,
    which does not count."""

    columns: int

    @property
    def registers(self) -> dict[str, int]:
        return super().registers | {"MODE": 0, "COLUMNS": self.columns}


@dataclass(frozen=True, kw_only=True, eq=False)
class OfOuterProducts(SparseCase):
    """A job as it looks from its result: ``a`` is A itself, ``stored`` what is in memory."""

    stored: C2sr

    def product(self) -> SparseProduct:
        rows = self.a.shape[0]
        return outer_product(self.config, self.stored, self.b, rows, capacity=self.capacity)


@dataclass(frozen=True, kw_only=True, eq=False)
class OuterCase(SparseCase):
    """A job of the second mode: ``a`` is A as it is stored, by columns; ``left``: A itself."""

    left: C2sr

    @property
    def seen(self) -> OfOuterProducts:
        """The same from its result."""
        return OfOuterProducts(
            config=self.config, a=self.left, b=self.b, capacity=self.capacity, base=self.base,
            stored=self.a,
        )  # fmt: skip

    @property
    def registers(self) -> dict[str, int]:
        return self.seen.registers | {"MODE": 1, "COLUMNS": self.b.shape[1]}

    @property
    def rows_of_b(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = np.flatnonzero(self.a.lengths) // self.config.lanes
        return found

    def product(self) -> SparseProduct:
        return self.seen.product()

    def result_bytes(self, memory_bytes: int, c: C2sr | None) -> npt.NDArray[np.bool_]:
        return self.seen.result_bytes(memory_bytes, c)


def outer_case(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    memory_bytes: int,
    a: C2sr,
    b: C2sr,
    *,
    capacity: int | None = None,
    gap: int = 4,
) -> OuterCase:
    """Returns a case whose arrays are apart in memory, in any order; the capacity is by default the
    required one, or some blocks more. Raises ValueError if the memory is too small."""
    stored = by_columns(config, a)
    if capacity is None:
        lengths = np.diff(reference_product(a, b, config.semiring).starts)
        capacity = least_capacity(config, lengths)
        capacity += int(rng.integers(0, 3)) * config.layout.block_entries
    room = a.shape[0], capacity * config.channel_lanes
    base = place_arrays(rng, memory_bytes, stored, b, room, gap=gap)
    return OuterCase(config=config, a=stored, b=b, capacity=capacity, base=base, left=a)


def random_outer(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    memory_bytes: int,
    *,
    most: int = 24,
    density: float | None = None,
) -> OuterCase:
    """Draws a job that completes without error, of any shape up to ``most`` rows and columns."""

    def shape() -> tuple[int, int, int] | None:
        rows, inner, columns = (
            int(rng.choice([1, int(rng.integers(1, most + 1)), most])) for _ in range(3)
        )
        return (rows, inner, columns) if fits(config, rows, columns) else None

    rows, inner, columns = draw_until(shape)
    share = rng.choice([0.0, 0.05, 0.15, 0.4, 1.0], 2) if density is None else [density] * 2
    any_bits = bool(rng.integers(2))
    a = random_matrix(rng, config, (rows, inner), share[0], any_bits=any_bits)
    b = random_matrix(rng, config, (inner, columns), share[1], any_bits=any_bits)
    return outer_case(rng, config, memory_bytes, a, b)


def in_rows(rng: np.random.Generator, case: SparseCase) -> InRows:
    """A job of the first mode, for an accelerator with both."""
    columns = int(rng.choice([0, 1, (1 << 32) - 1]))
    return InRows(
        config=case.config, a=case.a, b=case.b, capacity=case.capacity, base=case.base,
        columns=columns,
    )  # fmt: skip


def in_walk_order(config: MatRaptorConfig, a: C2sr, b: C2sr) -> tuple[C2sr, C2sr]:
    """Reorders columns of A and rows of B as a lane processes them."""
    inner, lanes = b.shape[0], config.lanes
    order = [place.i // lanes for place in walk(config.layout, config.lane_map, 0, inner * lanes)]
    left, right = to_csr(a), to_csr(b)
    return from_csr(left[:, order], config.layout), from_csr(right[order], config.layout)
