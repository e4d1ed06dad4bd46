"""Products of tensors on the chosen accelerator: devices, plans, the tally."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import Format
from ...sim.device.placement import NoRoom
from ...sim.device.protocol import JobError
from ...sim.numbers.values import decode
from ...sim.sparse.tensor import Tensor
from ...sim.tensaurus.driver import TensorDriver, plan_of
from ...sim.tensaurus.model import TensaurusModel
from ...sim.tensaurus.tiles import Plan
from ...sim.tensaurus.work import Work
from ..common.memory import available_memory, check_memory, in_words
from .options import TensorChoice

__all__ = ["MOST_TILES", "TensorProducts", "TensorTally", "numbers_of"]

MOST_TILES = 50_000
"""Tiles of a product: some minutes."""

MOST_MULTIPLICATIONS = 20_000_000_000
"""Multiplications of a product, in all lanes: some minutes."""

_FIRST_BYTES = 1 << 22

Patterns = NDArray[np.uint64]


@dataclass(kw_only=True)
class TensorTally:
    """What all products together did.

    Parameters
    ----------
    plans: of each product
    counts: counters of all jobs, added
    tiles: of all jobs
    seconds: of simulation
    """

    plans: list[Plan] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    tiles: int = 0
    seconds: float = 0.0


class TensorProducts:
    """Multiplies tensors with matrices on an accelerator; keeps a tally.

    Parameters
    ----------
    choice: what the user asks for
    """

    def __init__(self, choice: TensorChoice) -> None:
        self._choice = choice
        self._reach = 1 << choice.config.addr_bits
        self._bytes = min(_FIRST_BYTES, self._reach)
        self._driver = self._make()
        self.tally = TensorTally()

    def _make(self) -> TensorDriver:
        return TensorDriver(TensaurusModel(self._choice.config, self._bytes))

    def multiply(
        self,
        work: Work,
        tensor: Tensor | Patterns,
        operands: Mapping[int, Patterns],
        mode: int = 0,
    ) -> Patterns:
        """The product, patterns of the format of sums.

        Parameters
        ----------
        tensor: sparse, its slices those of ``mode``, or dense patterns, slices first
        operands: of each other mode, patterns

        Raises UserError if it is too large, or fits no tiles.
        """
        try:
            plan = plan_of(self._choice.config, work, tensor, mode, self._choice.fixed)
        except ValueError as error:
            raise UserError(str(error)) from None
        self._check_size(work, tensor, plan)
        began = time.perf_counter()
        try:
            result = self._with_room(work, plan, tensor, operands, mode)
        except ValueError as error:
            raise UserError(str(error)) from None
        except JobError as error:
            raise UserError(f"the product cannot be computed: {error}") from None
        tally = self.tally
        tally.seconds += time.perf_counter() - began
        tally.plans.append(plan)
        tally.tiles += self._driver.tiles
        for name, count in self._driver.counts.items():
            tally.counts[name] = tally.counts.get(name, 0) + count
        return result

    def _check_size(self, work: Work, tensor: Tensor | Patterns, plan: Plan) -> None:
        values = tensor.nnz if isinstance(tensor, Tensor) else tensor.size
        multiplications = values * prod(work.result_shape[1:])
        if multiplications > MOST_MULTIPLICATIONS:
            raise UserError(
                f"{multiplications:,} multiplications are too many; at most "
                f"{MOST_MULTIPLICATIONS:,} of a product"
            )
        if plan.cost.tiles > MOST_TILES:
            raise UserError(
                f"some {plan.cost.tiles:,} tiles are too many; at most {MOST_TILES:,} of a product"
            )
        # The result and the reference, which are compared; the device's memory.
        check_memory("the product", 48 * prod(work.result_shape) + 2 * plan.cost.output)

    def _with_room(
        self,
        work: Work,
        plan: Plan,
        tensor: Tensor | Patterns,
        operands: Mapping[int, Patterns],
        mode: int,
    ) -> Patterns:
        """The product on a device that has the memory for it."""
        while True:
            try:
                if isinstance(tensor, Tensor):
                    return self._driver.sparse(work, plan.cut, tensor, operands, mode)
                return self._driver.dense(work, plan.cut, tensor, operands)
            except NoRoom as lacking:
                self._grow(lacking)

    def _grow(self, lacking: NoRoom) -> None:
        if lacking.end > self._reach:
            raise UserError(str(lacking))
        self._bytes = min(max(lacking.end, 2 * self._bytes), self._reach)
        try:
            self._driver = self._make()
        except MemoryError:
            raise UserError(
                f"the product takes {in_words(self._bytes)} of the accelerator's memory; "
                f"{in_words(available_memory())} are available"
            ) from None


def numbers_of(patterns: Patterns, fmt: Format) -> NDArray[Any]:
    """What patterns of a result stand for: float64, float32 if that holds every number of the
    format, or int64."""
    values = decode(patterns, fmt)
    narrow = values.dtype.kind == "f" and fmt.name != "fp64"
    return values.astype(np.float32) if narrow else values
