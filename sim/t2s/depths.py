"""Depths of channels with which a program ends, found by running it.

What functions wait for does not depend on values. So a run with queues that are too short stops,
and the queues that are full then are the ones that may be too short (T. M. Parks, "Bounded
scheduling of process networks", 1995).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hw.spec.t2s.program import Program
from .interpreter import Deadlock, interpret
from .sizes import shape_of

__all__ = ["needed_depths", "run_empty"]


def needed_depths(program: Program, bounds: Mapping[str, int], least: int = 1) -> dict[str, int]:
    """Finds depths with which the program ends for these bounds; with one less of any above
    ``least`` it does not. Depths that the program gives are not changed.

    Each time that all wait, the shortest of the queues that are full are made one longer; in the
    end each is made as short as the others allow, in the order of the program.

    Raises Deadlock if functions wait although no queue is full that may be longer.
    """
    free = [one.name for one in program.channels if not one.depth]
    depths = {one.name: one.depth or least for one in program.channels}
    while True:
        try:
            run_empty(program, bounds, depths)
        except Deadlock as deadlock:
            full = deadlock.full.intersection(free)
            if not full:
                raise
            shortest = min(depths[name] for name in full)
            for name in full:
                depths[name] += depths[name] == shortest
        else:
            break
    for name in free:
        while depths[name] > least and _ends(program, bounds, {**depths, name: depths[name] - 1}):
            depths[name] -= 1
    return depths


def _ends(program: Program, bounds: Mapping[str, int], depths: Mapping[str, int]) -> bool:
    try:
        run_empty(program, bounds, depths)
    except Deadlock:
        return False
    return True


def run_empty(program: Program, bounds: Mapping[str, int], depths: Mapping[str, int]) -> None:
    """Run on tensors of zeros, for what waits for what. Raises Deadlock."""
    operands = {
        one.name: np.zeros(shape_of(one.dimensions, bounds), dtype=object)
        for one in program.tensors
        if not one.image and one.name != program.result
    }
    interpret(program, bounds, operands, depths)
