"""Which row drains a vector."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig

__all__ = ["DrainGrant"]


class DrainGrant(wiring.Component):
    """A row in each cycle, of those that offer something, in turn.

    Combinational. A row waits for at most one vector of each other row.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    offers: in; the rows that offer a vector
    hold: in; none is taken
    taken: out; the row whose vector is taken
    valid, row: out; whether there is one, and its number
    clear: in; the first row is next again
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "offers": In(config.rows),
                "hold": In(1),
                "taken": Out(config.rows),
                "valid": Out(1),
                "row": Out(range(max(2, config.rows))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self._config.rows
        # Rows above the one that was served last.
        above = Signal(rows)
        behind = Signal(rows)
        m.d.comb += [
            behind.eq(self.offers & above),
            self.valid.eq(self.offers.any() & ~self.hold),
        ]
        for offers in (self.offers, behind):
            for row in reversed(range(rows)):
                with m.If(offers[row]):
                    m.d.comb += self.row.eq(row)
        for row in range(rows):
            m.d.comb += self.taken[row].eq(self.valid & (self.row == row))
            with m.If(self.taken[row]):
                m.d.sync += above.eq((1 << rows) - (2 << row))
        with m.If(self.clear):
            m.d.sync += above.eq(0)
        return m
