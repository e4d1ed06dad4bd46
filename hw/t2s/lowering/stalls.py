"""Elements that would wait for their own sums."""

from __future__ import annotations

from ...spec.t2s.parts import ElementPart
from ...spec.t2s.timing import interval_of, timing_of
from ..language import Computation

__all__ = ["check_stalls"]


def check_stalls(computation: Computation, element: ElementPart, *, cut: bool) -> None:
    """Refuse an element that keeps fewer sums than a sum takes cycles, unless the mapping allows
    it.

    Parameters
    ----------
    cut: whether factors are cut for a trial: then it is allowed if the mapping says nothing

    Raises ValueError.
    """
    said, place = computation.stall or ("allowed" if cut else "refused", computation.place)
    interval = interval_of(element)
    if said == "allowed" or interval.cycles == 1:
        return
    latency = timing_of(element).latency
    sums = "1 sum" if element.sums == 1 else f"{element.sums} sums"
    operations = "an operation" if interval.operations == 1 else f"{interval.operations} operations"
    raise ValueError(
        f"{place}: {computation.name}.accumulate: an element keeps {sums}, and one takes {latency} "
        f"cycles: {operations} every {interval.cycles} cycles; to have that say "
        f'{computation.name}.accumulate(stall="allowed")'
    )
