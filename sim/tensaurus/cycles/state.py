"""State of the cycle model of the compute array, as arrays that compiled code works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.tensaurus import OVERDUE, TensaurusConfig
from ..result.kernel import Kernel

__all__ = ["COUNTS", "FREE", "WALKS", "Plan", "Shape", "State", "plan", "shape", "state"]

COUNTS = ("products", "conflicts", "wait_operands", "wait_sums", "wait_output")
"""What the array counts, row by row."""

WALKS = 3
"""Walks over the closed groups of a level: the pairs of partial sums, first, last, second."""

FREE = -1
"""No slot, no vector, no operation."""

DELAYS = 32
"""Cycles that something is on its way at most."""


class Shape(NamedTuple):
    """A :class:`TensaurusConfig` in numbers for compiled code."""

    rows: int
    levels: int
    window: int
    banks: int
    vlen: int
    latency: int
    multiplier: int
    adder: int
    temporary: int
    output: int
    overdue: int


class Plan(NamedTuple):
    """A job in numbers, as the rows know it: by level vectors and span, by temporary level
    repeats; whether products, and fibers, take scalars; the order."""

    vectors: Any
    span: Any
    repeats: Any
    scalar_products: int
    scalar_fibers: int
    order: int


def _fields(*names: str) -> Any:
    return np.dtype([(name, np.int64) for name in names])


_ROW = _fields(
    # Tokens of tiles; slots that were taken; the decoder's register.
    *("tile_level", "tile_valid", "slot", "slice"),
    *("decoded", "end", "value_slice", "product", "fiber_0", "fiber_1"),
    # The head: the open fiber, the vector of the product, how long a sum was not added.
    *("held_slice", "held_0", "held_1", "vector", "age"),
    # The operation in its register, and what is in the window.
    *("issued", "source", "bank", "key", "active", "release", "ends"),
    *("level", "oldest", "newest", "going"),
    # The drain: slices in its queue, at its head, that can be read; tiles that are open.
    *("queued", "shown", "first", "put", "complete", "tiles", "leaving", "vector_out"),
    # What is counted, and the cycles of the first and the last product.
    *COUNTS,
    *("begun", "first_at", "last_at", "drained"),
)
_LEVEL = _fields(
    *("open", "tail", "used", "base", "result", "partials", "size"),
    *("wrapped", "position", "vector"),
    *("queued", "written", "oldest", "trimmed"),
    # A group that ends with the next cycle, and what it is for.
    *("closes", "fiber", "close", "ends", "can"),
    # The products of the oldest group.
    *("fiber_loaded", "fiber_vector", "fiber_scalar", "pair_vector"),
)
GROUP = ("base", "result", "partials", "size", "fiber_0", "fiber_1", "close_0", "close_1", "end")
"""What is known of a closed group."""


class State(NamedTuple):
    """Everything that changes.

    ``rows``, ``levels`` [row, level]: counters and registers. ``groups`` [row, level, place]:
    closed groups. ``pointers``, ``behind``, ``loaded`` [row, level, walk]: where the walks over
    them are, and whether the group there is looked at and has a sum to add.
    ``sums``, ``starts`` [row, age]: slots of the latest operations. ``window`` [row, place] ->
    (there, unit pending, scalar pending, bank, vector, active, release, end). ``banks``
    [arbiter, wave, bank], ``grants`` [arbiter, wave, row]: the waves; ``access`` [arbiter, row]:
    the complete one. ``slices`` [row, place] -> (size, end): in the drain's queue. ``released``
    [row, cycle]: on their way. ``freed`` [row].
    """

    rows: Any
    levels: Any
    groups: Any
    pointers: Any
    behind: Any
    loaded: Any
    sums: Any
    starts: Any
    window: Any
    banks: Any
    grants: Any
    access: Any
    slices: Any
    released: Any
    freed: Any


def shape(config: TensaurusConfig) -> Shape:
    return Shape(
        rows=config.rows,
        levels=config.order - 1,
        window=config.window,
        banks=config.banks,
        vlen=config.vlen,
        latency=config.sum_latency,
        multiplier=config.multiplier_stages,
        adder=config.adder_stages,
        temporary=config.temporary_slots,
        output=config.output_slots,
        overdue=OVERDUE,
    )


def plan(config: TensaurusConfig, kernel: Kernel) -> Plan:
    """As the hardware works it out of a job's registers."""
    levels = config.order - 1
    ttmc = kernel.name == "ttmc"
    first, second = kernel.scalars
    vectors = [kernel.vectors] * levels
    vectors[-1] = kernel.units
    if levels == 3:
        vectors[1] = kernel.vectors * second
    repeats = [first if ttmc else 1] * max(1, levels - 1)
    if ttmc and kernel.order == 4:
        repeats[0] = second
    return Plan(
        vectors=np.array(vectors),
        span=np.array([count * config.partial_sums(count) for count in vectors]),
        repeats=np.array(repeats),
        scalar_products=int(kernel.name == "mv"),
        scalar_fibers=int(ttmc),
        order=kernel.order,
    )


def state(config: TensaurusConfig) -> State:
    """Of an array after reset."""
    rows, levels = config.rows, config.order - 1
    slots = max(config.temporary_slots, config.output_slots)

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    def free(*size: int) -> Any:
        return np.full(size, FREE, np.int64)

    return State(
        rows=np.zeros(rows, _ROW),
        levels=np.zeros((rows, levels), _LEVEL),
        groups=np.zeros((rows, levels, slots), _fields(*GROUP)),
        pointers=zeros(rows, levels, WALKS),
        behind=zeros(rows, levels, WALKS),
        loaded=zeros(rows, levels, WALKS),
        sums=free(rows, config.sum_latency + config.multiplier_stages - 1),
        starts=free(rows, config.multiplier_stages),
        window=zeros(rows, config.window, 8),
        banks=free(2, rows, config.banks),
        grants=free(2, rows, rows),
        access=free(2, rows),
        slices=zeros(rows, config.output_slots + 2, 2),
        released=zeros(rows, DELAYS),
        freed=zeros(rows),
    )
