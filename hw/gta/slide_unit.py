"""The choice of a lane's upper neighbour."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.gta import GtaConfig
from .lane.layouts import edge_layout

__all__ = ["SlideUnit"]


class SlideUnit(wiring.Component):
    """Passes on what comes from the lane above, which the arrangement of lanes decides.

    Source: the paper's section 4.2: the Slide Unit "programs direction of the data shuffling
    (source lane and destination lane)". Combinational, from registers of one lane to the adders of
    the next one's first row.

    Parameters
    ----------
    config: of the accelerator
    sources: lanes that may stand above: of lane n with 1, 2, 4, ... lanes across n - 1, n - 2, ...

    Members
    -------
    layout: in; 1 << layout lanes stand across
    above: in; of each source
    top: in; the lane is at the edge: its sums begin with 0
    o: out
    """

    def __init__(self, config: GtaConfig, sources: int) -> None:
        self._config = config
        self._sources = sources
        edge = edge_layout(config)
        super().__init__(
            {
                "layout": In(range(config.lanes.bit_length())),
                "above": In(data.ArrayLayout(edge, sources)),
                "top": In(1),
                "o": Out(edge),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    @property
    def sources(self) -> int:
        return self._sources

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chosen = Signal(edge_layout(self._config))
        with m.Switch(self.layout):
            for n in range(self._sources - 1):
                with m.Case(n):
                    m.d.comb += chosen.eq(self.above[n])
            with m.Default():
                m.d.comb += chosen.eq(self.above[self._sources - 1])
        m.d.comb += self.o.eq(chosen)
        if self._config.integers:
            m.d.comb += self.o.sum.eq(Mux(self.top, 0, chosen.sum))
        return m
