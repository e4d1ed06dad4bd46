"""The processing elements to which entries come."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....spec.t2s.arithmetic import LaneSum
from ....spec.t2s.parts import Count, ElementPart, OperandPart
from ....spec.t2s.sparse_parts import SparseElementPart
from ....spec.t2s.sparse_timing import entry_timing
from ....spec.t2s.tokens import TokenLayout
from ...language import Computation, MappingError
from ..elements import check_products
from .loops import SparseLoops
from .operands import SparseOperands
from .refusals import refused

__all__ = ["sparse_element"]

_MOST_FACTORS = 3


def sparse_element(
    computation: Computation,
    operands: SparseOperands,
    loops: SparseLoops,
    layout: TokenLayout,
    arithmetic: LaneSum,
    vector: int,
) -> SparseElementPart:
    """The elements.

    Parameters
    ----------
    layout: of tokens, after merging
    arithmetic: of a sum of one lane
    vector: sums side by side

    Raises ValueError for elements that have no hardware, or that wait for sums where the mapping
    refuses that.
    """
    union = operands.merge == "union"
    factors = (*operands.sparse, *operands.dense)
    if len(factors) - union > _MOST_FACTORS:
        raise refused(computation, f"a product of {len(factors) - union} tensors")
    ring = tuple(Count(one.name, one.extent) for one in loops.ring)
    wide = computation.vectorised[0] if computation.vectorised else ""
    parts = tuple(
        OperandPart(one.tensor.name, vector if wide in computation.loops_of(one.tensor.name) else 1)
        for one in factors
    )
    overlaps = computation.overlap[0]
    element = ElementPart(
        name=computation.name,
        operands=parts,
        arithmetic=replace(arithmetic, lanes=layout.words if union else 1),
        inner=tuple(one.name for one in parts),
        outer=(),
        sums=layout.slots * prod(one.extent or 1 for one in ring),
        overlaps=overlaps,
        vector=vector,
    )
    found = SparseElementPart(
        element=element, layout=layout, ring=ring, halves=1 + overlaps, union=union
    )
    check_products(found.factors)
    _check_stalls(computation, found)
    return found


def _check_stalls(computation: Computation, part: SparseElementPart) -> None:
    """Refuse elements whose operations may wait for sums, if the mapping does."""
    said, place = computation.stall or ("", "")
    timing = entry_timing(part)
    if said == "refused" and timing.waits(part.ring_words):
        each = "1 operation" if part.ring_words == 1 else f"{part.ring_words} operations"
        raise MappingError(
            f"{place}: {computation.name}.accumulate: an entry has {each}, and a sum can be taken "
            f"again after {timing.again} cycles: an entry of the same row waits"
        )
