"""Cycle model of what computes: from the column loader's sets to rows that are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....hw.spec.sida import SidaConfig
from ...timing.compiled import inlined
from .elementwise_state import ELEMENTWISE, Program, program, set_up_elementwise
from .ewise_core import core_offer, core_step, packer_step, sum_rows_step
from .gather import (
    SUMS,
    VECTORS,
    Lanes,
    gather_ready,
    gather_step,
    lanes,
    set_up_sums,
    set_up_vectors,
    sums_offer,
    sums_step,
)
from .held_elements import held_offer, held_ready, held_step
from .held_state import HELD, Held, set_up_held
from .load_state import LOAD
from .shared import SHARED

MACHINE = np.dtype([*SHARED, *LOAD, *VECTORS, *SUMS, *ELEMENTWISE, *HELD])
"""One for all parts, also for a part alone: numba would take another for a type of its own."""

_TO_GATHER, _TO_HELD = 1, 2
"""Outputs of the fork of sets."""


class Compute(NamedTuple):
    """State of the compute half that is stored in arrays."""

    lanes: Lanes
    program: Program
    held: Held


def set_up_compute(
    m: Any, config: SidaConfig, job: Mapping[str, int], words: Sequence[int], phase: int
) -> Compute:
    """Sets up the compute half of a machine of zeros with its sizes, ``phase`` cycles after reset.

    ``job``: registers by name; ``words``: the program.
    """
    set_up_vectors(m, config, phase)
    set_up_sums(m, config)
    set_up_elementwise(m, config)
    return Compute(lanes(config), program(words), set_up_held(m, config, phase))


@inlined
def _deal(m: Any, c: Compute) -> tuple[bool, bool]:
    """The fork of sets; returns whether one enters Gather, and HeldElements."""
    pending = (_TO_GATHER | _TO_HELD if m.second_product else _TO_GATHER) & ~m.dealt
    to_gather = m.set.valid and pending & _TO_GATHER != 0
    to_held = m.set.valid and pending & _TO_HELD != 0
    gathers = to_gather and gather_ready(m, c.lanes, True)
    holds = to_held and held_ready(m)
    if not to_gather:
        m.wait_z = 0
    m.wait_held = to_held and not holds
    m.set.ready = gathers == to_gather and holds == to_held
    if m.set.valid:
        taken = m.dealt | gathers * _TO_GATHER | holds * _TO_HELD
        m.dealt = 0 if m.set.ready else taken
    return gathers, holds


@inlined
def compute_step(m: Any, c: Compute, now: int) -> None:
    """Advances one cycle; ``now``: another number in every cycle."""
    second = m.runs_second != 0
    sums_offer(m)
    core_offer(m)
    gathers, holds = _deal(m, c)
    z_ready = held_offer(m)
    # E1's rows are z, if there is a second product.
    into_z = m.second_product and not second
    base = m.core_result.base
    core_step(m, c.program, (m.sum_there if second else m.packed.valid) != 0, z_ready or not into_z)
    if m.second_product:
        held_step(m, c.held, holds, into_z and m.result_taken)
    packer_step(m, m.row_taken and not second)
    sum_rows_step(m, m.row_taken and second)
    sums_step(m)
    gather_step(m, c.lanes, gathers, True, now)
    # Steps that are complete.
    ends_step = (base + m.pes) & (m.subtensor - 1) == 0
    if m.first:
        m.z_steps = 0
    elif m.result_taken and not second and ends_step:
        m.z_steps += 1
    if m.first or m.second:
        m.runs_second = m.second
