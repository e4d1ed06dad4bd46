"""When elements do what: their pipelines, and whether they wait for sums, or until results left."""

from __future__ import annotations

from typing import Self

from .element_array import ElementArray
from .places import MappingError, place_of_caller
from .tensors import Products

__all__ = ["MOST_STAGES", "ElementClock"]

MOST_STAGES = 6
"""Of an element."""

_STALLS = ("allowed", "refused")


class ElementClock(ElementArray):
    """Sums of products, and how the elements that compute them go on from cycle to cycle.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added

    Members
    -------
    stages: of an element's pipeline, if it is said, and the place
    stall: whether elements may wait for sums, "allowed" or "refused", if it is said; and the place
    overlap: whether results leave while others are computed, and the place where that is said
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        products: Products,
    ) -> None:
        super().__init__(name, number_format, result, sum_over, products)
        self.stages: tuple[int, str] | None = None
        self.stall: tuple[str, str] | None = None
        self.overlap: tuple[bool, str] = (True, "")

    def clock_pipeline(self, stages: int) -> Self:
        """Register stages of an element, from multipliers to sums.

        More of them make a shorter clock period, and sums that take longer: see `accumulate`.
        Without the directive there are 4; `--set pipeline=N` goes before it.

        Picture::

            words --(x)--|--(x)--|--(+)--|--(+)--|--> sum        C.clock_pipeline(4)

        Legal once, for 1 to 6 stages.

        Refused::

            C.clock_pipeline(7)
            -> C.clock_pipeline: stages must be an integer in 1..6, not 7
            C.clock_pipeline(2).clock_pipeline(3)
            -> C.clock_pipeline: there are 2 stages already
        """
        place, directive = place_of_caller(), f"{self.name}.clock_pipeline"
        if isinstance(stages, bool) or not isinstance(stages, int) or not 0 < stages <= MOST_STAGES:
            raise MappingError(
                f"{place}: {directive}: stages must be an integer in 1..{MOST_STAGES}, "
                f"not {stages!r}"
            )
        if self.stages:
            raise MappingError(f"{place}: {directive}: there are {self.stages[0]} stages already")
        self.stages = (stages, place)
        return self

    def accumulate(self, *, stall: str) -> Self:
        """Whether an element may wait for its own sums: `stall="allowed"`, or `"refused"`.

        A product is added to a sum some cycles after it came. Meanwhile products of other sums come
        in turn: those that an element keeps, in the loops of the result inside the outermost one
        that is summed over. If these are fewer than cycles, an element waits. Without the directive
        no Verilog is made of such a mapping, but where `--set largest=` cuts factors for a trial.
        `t2s show` and `show t2s` tell how many products come in how many cycles.

        Picture::

            1 sum, 4 stages:      p0 - - - - p1 - - - - p2       a product every 5 cycles
            5 sums, 4 stages:     p0 p1 p2 p3 p4 p0 p1 p2        a product every cycle

        Legal once.

        Refused::

            C.accumulate(stall="maybe")
            -> C.accumulate: stall must be one of allowed, refused, not 'maybe'
            C.accumulate(stall="allowed").accumulate(stall="refused")
            -> C.accumulate: stall is allowed already
        """
        place, directive = place_of_caller(), f"{self.name}.accumulate"
        if stall not in _STALLS:
            raise MappingError(
                f"{place}: {directive}: stall must be one of {', '.join(_STALLS)}, not {stall!r}"
            )
        if self.stall:
            raise MappingError(f"{place}: {directive}: stall is {self.stall[0]} already")
        self.stall = (stall, place)
        return self

    def drain_overlap(self, on: bool) -> Self:
        """Whether a block of results leaves an element while it computes the next one.

        It does without the directive: results wait in a queue beside the sums. Without overlap
        there is no such queue: sums stay where they are when they are complete, leave one after the
        other, and only then the next block begins.

        Picture::

            C.drain_overlap(True)      sums of block 0 | sums of block 1 | sums of block 2
                                                       | results of 0    | results of 1

            C.drain_overlap(False)     sums of block 0 | results of 0 | sums of block 1 | ...

        Legal once.

        Refused::

            C.drain_overlap(0)
            -> C.drain_overlap: must be True or False, not 0
            C.drain_overlap(False).drain_overlap(True)
            -> C.drain_overlap: it is False already
        """
        place, directive = place_of_caller(), f"{self.name}.drain_overlap"
        if not isinstance(on, bool):
            raise MappingError(f"{place}: {directive}: must be True or False, not {on!r}")
        if self.overlap[1]:
            raise MappingError(f"{place}: {directive}: it is {self.overlap[0]} already")
        self.overlap = (on, place)
        return self
