"""Products of tensors on the chosen accelerator: devices, plans, the tally, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import Format
from ...hw.spec.host.activity import Stopwatch, activity
from ...hw.spec.tensaurus import TENSAURUS
from ...sim.device.placement import NoRoom
from ...sim.device.protocol import JobError
from ...sim.numbers.values import decode
from ...sim.sparse.tensor import Tensor
from ...sim.tensaurus.cycles.device import TensaurusCycles
from ...sim.tensaurus.driver import TensorDriver, plan_of
from ...sim.tensaurus.images import output_bytes
from ...sim.tensaurus.model import TensaurusModel
from ...sim.tensaurus.tiles import Plan
from ...sim.tensaurus.work import Work
from ..common.limits import other_backend
from ..common.memory import available_memory, check_memory, in_words
from ..common.native import native
from .options import TensorChoice

__all__ = ["MOST_TILES", "TensorProducts", "TensorTally", "numbers_of"]

MOST_TILES = 50_000
"""Tiles of a product: some minutes."""

MOST_MULTIPLICATIONS = {
    "rtl": 500_000_000,
    "cycles": 20_000_000_000,
    "model": 20_000_000_000,
}
"""Multiplications of a product, in all lanes, by backend: some minutes."""

_LATENCY = 20
"""Of the memory behind the RTL, in cycles."""

_COUNTED = ("products", "operations", "drains", "bytes_written", "bytes_output")
"""Counters that do not depend on time, which the model has."""

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
    checked, mismatches: values compared with the model, and those that differ, or counters
    seconds: of simulation
    """

    plans: list[Plan] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    tiles: int = 0
    checked: int = 0
    mismatches: int = 0
    seconds: float = 0.0


class TensorProducts:
    """Multiplies tensors with matrices on an accelerator; keeps a tally.

    A context manager. The RTL is built when the first product is known to fit.

    Parameters
    ----------
    choice: what the user asks for
    """

    def __init__(self, choice: TensorChoice) -> None:
        self._choice, self._open = choice, ExitStack()
        self._reach = 1 << choice.config.addr_bits
        self._bytes = min(_FIRST_BYTES, self._reach)
        self._native: Callable[[int], Any] | None = None
        self._device = self._open.enter_context(ExitStack())
        self._driver: TensorDriver | None = None
        self._model: TensorDriver | None = None
        self.tally = TensorTally()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def _build(self) -> None:
        """What computes, when it is known that it will."""
        choice = self._choice
        verb = "building and running" if choice.backend == "rtl" else "computing on the model of"
        self._open.enter_context(activity(f"{verb} {choice.unit}"))
        if choice.backend == "rtl":
            self._native = native(TENSAURUS, choice.config, _LATENCY)
        self._driver = self._make()

    def _make(self) -> TensorDriver:
        """Devices with as much memory as is wanted now."""
        self._device.close()
        choice = self._choice
        if choice.backend == "cycles":
            timed = TensaurusCycles(
                choice.config, self._bytes, memory=choice.memory, gigahertz=choice.gigahertz
            )
            return TensorDriver(timed)
        model = TensorDriver(TensaurusModel(choice.config, self._bytes))
        if self._native is None:
            return model
        self._model = model
        return TensorDriver(self._device.enter_context(self._native(self._bytes)))

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

        Raises UserError if it is too large, or fits no tiles; if the RTL cannot be built.
        """
        try:
            plan = plan_of(self._choice.config, work, tensor, mode, self._choice.fixed)
        except ValueError as error:
            raise UserError(str(error)) from None
        self._check_size(work, tensor, plan)
        if self._driver is None:
            self._build()
        watch = Stopwatch()
        try:
            result, driver = self._with_room(work, plan, tensor, operands, mode)
        except ValueError as error:
            raise UserError(str(error)) from None
        except JobError as error:
            raise UserError(f"the product cannot be computed: {error}") from None
        tally = self.tally
        tally.seconds += watch.seconds
        tally.plans.append(plan)
        tally.tiles += driver.tiles
        for name, count in driver.counts.items():
            tally.counts[name] = tally.counts.get(name, 0) + count
        if self._model is not None:
            expected = _run(self._model, work, plan, tensor, operands, mode)
            tally.checked += expected.size
            tally.mismatches += int(np.count_nonzero(result != expected))
            counted = (driver.counts, self._model.counts)
            tally.mismatches += sum(
                counted[0].get(name) != counted[1].get(name) for name in _COUNTED
            )
        return result

    def _check_size(self, work: Work, tensor: Tensor | Patterns, plan: Plan) -> None:
        values = tensor.nnz if isinstance(tensor, Tensor) else tensor.size
        multiplications = values * prod(work.result_shape[1:])
        backend = self._choice.backend
        if multiplications > MOST_MULTIPLICATIONS[backend]:
            raise UserError(
                f"{multiplications:,} multiplications are too many for the {backend} backend, "
                f"which takes at most {MOST_MULTIPLICATIONS[backend]:,} of a product"
                f"{other_backend(MOST_MULTIPLICATIONS, backend, multiplications)}"
            )
        if plan.cost.tiles > MOST_TILES:
            raise UserError(
                f"some {plan.cost.tiles:,} tiles are too many; at most {MOST_TILES:,} of a product"
            )
        # The result and the reference, which are compared; the device's memory.
        config, cut = self._choice.config, plan.cut
        slices = work.shape[0] * prod(cut.group_counts(config, work))
        outputs = output_bytes(config, cut.kernel, slices, cut.store)
        check_memory("the product", 48 * prod(work.result_shape) + 2 * outputs)

    def _with_room(
        self,
        work: Work,
        plan: Plan,
        tensor: Tensor | Patterns,
        operands: Mapping[int, Patterns],
        mode: int,
    ) -> tuple[Patterns, TensorDriver]:
        """The product on a device that has the memory for it, and that device's driver."""
        while True:
            driver = self._driver
            assert driver is not None
            try:
                return _run(driver, work, plan, tensor, operands, mode), driver
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


def _run(
    driver: TensorDriver,
    work: Work,
    plan: Plan,
    tensor: Tensor | Patterns,
    operands: Mapping[int, Patterns],
    mode: int,
) -> Patterns:
    if isinstance(tensor, Tensor):
        return driver.sparse(work, plan.cut, tensor, operands, mode)
    return driver.dense(work, plan.cut, tensor, operands)


def numbers_of(patterns: Patterns, fmt: Format) -> NDArray[Any]:
    """What patterns of a result stand for: float64, float32 if that holds every number of the
    format, or int64."""
    values = decode(patterns, fmt)
    narrow = values.dtype.kind == "f" and fmt.name != "fp64"
    return values.astype(np.float32) if narrow else values
