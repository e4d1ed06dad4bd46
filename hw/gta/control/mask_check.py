"""Whether the lanes' masks are regions that can work."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ..layouts import csr_layout
from .layouts import lane_bits
from .region_scan import RegionScan

__all__ = ["MaskCheck"]


class MaskCheck(wiring.Component):
    """Looks at the region of each lane's mask: it must be a rectangle. Some ``lanes`` squared
    cycles.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    csr: in; see ``csr_layout``; constant from ``start`` to ``done``
    start: in, a pulse
    done: out; all lanes have been looked at since ``start``, or one is ``wrong``
    wrong: out; ``lane`` is the first whose region is no rectangle
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "start": In(1),
                "done": Out(1),
                "wrong": Out(1),
                "lane": Out(lane_bits(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._config.lanes
        m.submodules.scan = scan = RegionScan(self._config)
        busy = Signal()
        fresh = Signal()
        m.d.comb += [
            scan.csr.eq(self.csr),
            scan.mask.eq(Array(self.csr.masks[n] for n in range(lanes))[self.lane]),
            scan.start.eq(busy & fresh),
            self.done.eq(~busy),
        ]
        with m.If(fresh):
            m.d.sync += fresh.eq(0)
        with m.Elif(busy & scan.done):
            with m.If(~scan.rectangle):
                m.d.sync += [self.wrong.eq(1), busy.eq(0)]
            with m.Elif(self.lane == lanes - 1):
                m.d.sync += busy.eq(0)
            with m.Else():
                m.d.sync += [self.lane.eq(self.lane + 1), fresh.eq(1)]
        with m.If(self.start):
            m.d.sync += [self.lane.eq(0), self.wrong.eq(0), busy.eq(1), fresh.eq(1)]
        return m
