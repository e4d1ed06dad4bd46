"""Bus errors for MatRaptor's jobs: in any of the six arrays, where the job is sure to meet them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.kit.behaviours import any_behaviour
from tilewright.verif.kit.sampling import draw_until
from tilewright.verif.matraptor.cases import SparseCase
from tilewright.verif.matraptor.jobs import check_failure

__all__ = ["check_bus_errors", "draw_fault"]

Case = TypeVar("Case", bound=SparseCase)


def draw_fault(
    rng: np.random.Generator, array: str, draw: Callable[[], SparseCase]
) -> tuple[SparseCase, range]:
    """A job that uses an array of ``ARRAYS``, and addresses of which one must fail.

    They are those of a beat that is read, or those at which the burst that is written may begin.

    Parameters
    ----------
    draw: draws jobs, of which some may not use the array
    """

    def attempt() -> tuple[SparseCase, range] | None:
        case = draw()
        operand = {"a": case.a, "b": case.b, "c": case.product().c}[array[0]]
        assert operand is not None
        used = np.flatnonzero(operand.lengths)
        if array[0] == "b":
            used = np.intersect1d(used, case.rows_of_b)
        if not len(used):
            return None
        row = int(rng.choice(used))
        if array.endswith("pairs"):
            bytes_of_row = case.pair_addresses(array[0], np.array([row]))
        else:
            bytes_of_row = case.row_addresses(array[0], operand, row)
        config = case.config
        beat, size = config.beat_bytes, config.interleave if array[0] == "c" else config.beat_bytes
        first = int(rng.choice(bytes_of_row)) // size * size
        return case, range(first, first + size, beat)

    return draw_until(attempt)


def check_bus_errors(
    rng: np.random.Generator,
    device: NativeAccelerator[MatRaptorConfig],
    array: str,
    draw: Callable[[], Case],
    check: Callable[[np.random.Generator, NativeAccelerator[MatRaptorConfig], Case], object],
) -> None:
    """A job that meets an error in an array must say where; then a good job. Raises Mismatch.

    Parameters
    ----------
    draw: draws jobs that end well
    check: runs one
    """
    case, where = draw_fault(rng, array, draw)
    side, error = ("write", "bus_write") if array[0] == "c" else ("read", "bus_read")
    responses = {address: int(rng.integers(2, 4)) for address in where}
    device.behave(any_behaviour(rng, **{f"{side}_errors": responses}))
    check_failure(rng, device, case, {error: where})
    device.behave(any_behaviour(rng))
    check(rng, device, draw())
