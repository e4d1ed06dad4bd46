"""The valid bits of a pipeline."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ValidPipeline"]


class ValidPipeline(wiring.Component):
    """Tracks valid data in a pipeline whose stages move together: ``o`` is ``i``, delayed by the
    stages.

    The registers of the data move with the same ``advance``, and have neither a reset nor a clear.
    With ``advance`` set unless something waits at the end, the two make a stream.

    Parameters
    ----------
    stages: number of stages; 0: ``o`` is ``i``

    Members
    -------
    i: in; something enters, if the stages move
    o: out; something is at the end
    advance: in; the stages move
    clear: in; forgets everything at the end of the cycle, what enters included
    """

    verilog_parameters: ClassVar = {"STAGES": "stages"}

    def __init__(self, stages: int) -> None:
        if stages < 0:
            raise ValueError(f"`stages` must be at least 0, not {stages}")
        self._stages = stages
        super().__init__({"i": In(1), "o": Out(1), "advance": In(1), "clear": In(1)})

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if not self._stages:
            m.d.comb += self.o.eq(self.i)
            return m
        valid = Signal(self._stages)
        m.d.comb += self.o.eq(valid[-1])
        with m.If(self.clear):
            m.d.sync += valid.eq(0)
        with m.Elif(self.advance):
            m.d.sync += valid.eq(Cat(self.i, valid)[: self._stages])
        return m
