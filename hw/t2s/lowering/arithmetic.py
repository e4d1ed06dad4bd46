"""The arithmetic of a program's elements."""

from __future__ import annotations

from ...spec.formats import FORMATS
from ...spec.semirings import SEMIRINGS
from ...spec.t2s.arithmetic import LaneSum
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Program
from ..language import Computation

__all__ = ["arithmetic_of", "sums_side_by_side"]

_SUMS = {"fp64": "fp64", "int8": "int32", "int16": "int32", "int32": "int32"}

_STAGES = 4
"""Pipeline stages of an element, unless the mapping gives another number."""


def arithmetic_of(
    program: Program,
    computation: Computation,
    number_format: str = "auto",
    accumulator: str = "auto",
    stages: int = 0,
) -> LaneSum:
    """Returns lanes, formats and stages of an element.

    Parameters
    ----------
    number_format, accumulator: of words and of sums; auto: those of the mapping, and what is usual
    stages: of its pipeline; 0: as the mapping says

    Raises ValueError for formats that do not fit.
    """
    words = program.number_format if number_format == "auto" else number_format
    sums = _SUMS.get(words, "fp32") if accumulator == "auto" else accumulator
    semiring = SEMIRINGS[program.semiring]
    for name in (words, sums):
        if semiring.identity_in(FORMATS[name]) is None or not semiring.padding_in(FORMATS[name]):
            raise ValueError(
                f"`format` must hold {semiring.identity} for {program.semiring}, not {name!r}"
            )
    said = computation.stages[0] if computation.stages else _STAGES
    return LaneSum(
        ops=(program.semiring,),
        format=words,
        accumulator=sums,
        pipeline=stages or said,
        lanes=_lanes(computation),
    )


def sums_side_by_side(computation: Computation) -> int:
    """Lanes of an element that are of the result: each has sums of its own."""
    loop = _vectorised(computation)
    return loop.extent or 1 if loop and not loop.reduces else 1


def _lanes(computation: Computation) -> int:
    """Lanes that are summed over."""
    loop = _vectorised(computation)
    return loop.extent or 1 if loop and loop.reduces else 1


def _vectorised(computation: Computation) -> Loop | None:
    return computation.loop(computation.vectorised[0]) if computation.vectorised else None
