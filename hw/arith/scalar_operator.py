"""Base class of the operators of a semiring on two values."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ..spec.formats import Format
from ..spec.semirings import Semiring

__all__ = ["ScalarOperator"]


class ScalarOperator(wiring.Component):
    """Base of the operators of a semiring on two values, pipelined.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    semiring: whose operator it is
    format: of a, b and o
    stages: register stages, 1..3
    others: members beside these

    Members
    -------
    a, b: the operands
    advance: enables all registers
    o: the result
    """

    def __init__(self, semiring: Semiring, format: Format, stages: int, **others: Member) -> None:
        self._semiring = semiring
        self._format = format
        self._stages = stages
        if stages not in range(1, 4):
            raise ValueError(f"`stages` must be in 1..3, not {stages}")
        bits = format.bits
        members = {"a": In(bits), "b": In(bits), "advance": In(1), "o": Out(bits)}
        super().__init__(members | others)

    @property
    def semiring(self) -> Semiring:
        return self._semiring

    @property
    def format(self) -> Format:
        return self._format

    @property
    def stages(self) -> int:
        return self._stages
