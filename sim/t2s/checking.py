"""A program beside its definition, on random integers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hw.spec.t2s.program import Program
from .interpreter import Numbers, interpret
from .sizes import check_bounds, shape_of

__all__ = ["random_operands", "wrong_elements"]

_SMALL = 9
_THERE = 0.3
"""Share of places at which a sparse tensor has an entry."""


def random_operands(program: Program, bounds: Mapping[str, int], seed: int) -> dict[str, Numbers]:
    """Tensors of integers in -9 to 9, 0 and 1 for or-and; as objects, so that sums are exact.
    Sparse tensors have None at many places, where they have no entry.

    Raises ValueError for bounds that are not of the program's indices.
    """
    check_bounds(program, bounds)
    rng = np.random.default_rng(seed)
    low, high = (0, 1) if program.semiring == "orand" else (-_SMALL, _SMALL)
    found = {}
    for one in program.tensors:
        if one.image or one.name == program.result:
            continue
        words = rng.integers(low, high, shape_of(one.dimensions, bounds), endpoint=True)
        found[one.name] = words.astype(object)
        if one.sparse:
            found[one.name][rng.random(words.shape) >= _THERE] = None
    return found


def wrong_elements(
    program: Program,
    bounds: Mapping[str, int],
    operands: Mapping[str, Numbers],
    wanted: Numbers,
) -> int:
    """Counts the elements of the result that differ. Raises Deadlock."""
    return int(np.count_nonzero(interpret(program, bounds, operands) != wanted))
