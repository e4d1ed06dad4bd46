"""The cycles of a fold in which its rows move operands, or sums, down."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import ROWS, GtaConfig
from ..fold_layouts import place_layout

__all__ = ["FoldWindow"]


class FoldWindow(wiring.Component):
    """Counts R cycles, the rows of the region, from the one after ``start``.

    In cycle n row r of the region is ``reached`` if r <= n. Another ``start`` may come R cycles
    after the one before.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in
    place: in; of the lane in its region
    active: out; cycles are counted
    reached: out; a bit for each of the lane's rows
    count: out; n
    last: out; this is cycle R - 1
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "place": In(place_layout(config)),
                "active": Out(1),
                "reached": Out(ROWS),
                "count": Out(range(ROWS * config.lanes)),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low, lanes = self.count[:3], self.count[3:]
        last_lane = lanes == self.place.rows - 1 if self._config.lanes > 1 else Const(1)
        m.d.comb += self.last.eq(self.active & low.all() & last_lane)
        with m.If(self.start):
            m.d.sync += [self.active.eq(1), self.count.eq(0)]
        with m.Elif(self.active):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.last):
                m.d.sync += self.active.eq(0)
        passed = [low >= r if r else Const(1) for r in range(ROWS)]
        if self._config.lanes == 1:
            m.d.comb += self.reached.eq(Cat(*passed))
            return m
        beyond = Signal()
        here = Signal()
        m.d.comb += [beyond.eq(lanes > self.place.row), here.eq(lanes == self.place.row)]
        m.d.comb += [self.reached[r].eq(beyond | (here & passed[r])) for r in range(ROWS)]
        return m
