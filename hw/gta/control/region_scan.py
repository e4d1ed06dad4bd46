"""Scans the region of the lanes that have a mask."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import GtaConfig
from ..layouts import csr_layout
from .layouts import lane_bits

__all__ = ["RegionScan"]


class RegionScan(wiring.Component):
    """Looks at all lanes, one a cycle: how far those of a mask reach, and whether they fill that.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    csr: in; see ``csr_layout``; constant while it looks
    start: in, a pulse
    mask: in; of which lanes; constant from ``start`` to ``done``
    done: out; all lanes were looked at since ``start``
    some: out; with ``done``: there are such lanes
    rows, cols: out; how many lanes their region has downwards and across
    rectangle: out; all lanes of that region have the mask
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        counts = range(config.lanes + 1)
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "start": In(1),
                "mask": In(config.mask_bits),
                "done": Out(1),
                "some": Out(1),
                "rows": Out(counts),
                "cols": Out(counts),
                "rectangle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, bits = self._config.lanes, lane_bits(self._config)
        lane = Signal(range(lanes + 1), init=lanes)
        row = Signal(bits)
        col = Signal(bits)
        self._place(m, lane[:bits], row, col)
        top = Signal(bits, reset_less=True)
        left = Signal(bits, reset_less=True)
        bottom = Signal(bits, reset_less=True)
        right = Signal(bits, reset_less=True)
        count = Signal(range(lanes + 1))
        area = Signal(2 * len(self.rows))
        mine = Array(self.csr.masks[n] for n in range(lanes))[lane[:bits]] == self.mask
        m.d.comb += [
            self.done.eq(lane == lanes),
            self.some.eq(count != 0),
            self.rows.eq(bottom - top + 1),
            self.cols.eq(right - left + 1),
            area.eq(self.rows * self.cols),
            self.rectangle.eq(area == count),
        ]
        with m.If(self.start):
            m.d.sync += [lane.eq(0), count.eq(0)]
        with m.Elif(~self.done):
            m.d.sync += lane.eq(lane + 1)
            with m.If(mine):
                m.d.sync += [count.eq(count + 1), bottom.eq(row)]
                with m.If(count == 0):
                    m.d.sync += [top.eq(row), left.eq(col), right.eq(col)]
                if lanes > 1:
                    with m.Else():
                        m.d.sync += [
                            left.eq(Mux(col < left, col, left)),
                            right.eq(Mux(col > right, col, right)),
                        ]
        return m

    def _place(self, m: Module, lane: Value, row: Signal, col: Signal) -> None:
        """Computes the row and the column of a lane in the arrangement from its number."""
        layouts = range(self._config.lanes.bit_length())
        m.d.comb += [
            row.eq(Array(lane[n:] for n in layouts)[self.csr.layout]),
            col.eq(Array(Cat(lane[:n]) for n in layouts)[self.csr.layout]),
        ]
