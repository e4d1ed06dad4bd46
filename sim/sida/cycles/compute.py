"""Cycle model of what computes: from the column loader's sets to rows that are stored.

So far for jobs of one product a pass: nothing is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....hw.spec.sida import SidaConfig
from ...timing.compiled import inlined
from .elementwise.ewise_core import core_offer, core_step
from .elementwise.row_packer import packer_step, sum_rows_step
from .elementwise.state import Program, program, set_up_elementwise
from .sums.both_sums import sums_offer, sums_step
from .sums.state import set_up_sums
from .vectors.gather import gather_ready, gather_step
from .vectors.state import Lanes, lanes, set_up_vectors

__all__ = ["Compute", "compute_step", "set_up_compute"]


class Compute(NamedTuple):
    """What is in arrays."""

    lanes: Lanes
    program: Program


def set_up_compute(
    m: Any, config: SidaConfig, job: Mapping[str, int], words: Sequence[int], phase: int
) -> Compute:
    """A machine of zeros gets what computes, ``phase`` cycles behind the reset; its sizes are set.

    ``job``: registers by name; ``words``: the program.
    """
    set_up_vectors(m, config, phase)
    set_up_sums(m, config)
    set_up_elementwise(m, config)
    return Compute(lanes(config), program(words))


@inlined
def _deal(m: Any, g: Lanes) -> bool:
    """The fork of sets; returns whether one enters Gather."""
    pending = 1 & ~m.dealt
    valid = m.set.valid and pending & 1 != 0
    ready = gather_ready(m, g, valid)
    enters = valid and ready
    m.set.ready = ready or not pending & 1
    if m.set.valid:
        m.dealt = 0 if m.set.ready else m.dealt | enters
    return enters


@inlined
def compute_step(m: Any, c: Compute, now: int) -> None:
    """A cycle; ``now``: another number in every cycle."""
    sums_offer(m)
    core_offer(m)
    enters = _deal(m, c.lanes)
    base = m.core_result.base
    core_step(m, c.program, (m.sum_there if m.runs_second else m.packed.valid) != 0, True)
    packer_step(m, m.row_taken and not m.runs_second)
    sum_rows_step(m, m.row_taken and m.runs_second)
    sums_step(m)
    gather_step(m, c.lanes, enters, True, now)
    # Steps that are complete.
    ends_step = (base + m.pes) & (m.subtensor - 1) == 0
    if m.first:
        m.z_steps = 0
    elif m.result_taken and not m.runs_second and ends_step:
        m.z_steps += 1
    if m.first or m.second:
        m.runs_second = m.second
