"""What the latest operations of a row write."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec.tensaurus import TensaurusConfig
from ..layouts import log_layout

__all__ = ["OperationLog"]


class OperationLog(wiring.Component):
    """Remembers slots for as many operations as pass before they can be read again.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    advance: in; an operation is issued
    sum, start: in; the slot that its sum goes to, that its product begins
    sums, starts: out; those of the latest operations, latest first
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        log, multiplier = log_layout(config), config.multiplier_stages
        super().__init__(
            {
                "advance": In(1),
                "sum": In(log),
                "start": In(log),
                "sums": Out(data.ArrayLayout(log, config.sum_latency + multiplier - 1)),
                "starts": Out(data.ArrayLayout(log, multiplier)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for new, kept in ((self.sum, self.sums), (self.start, self.starts)):
            with m.If(self.advance):
                m.d.sync += kept[0].eq(new)
                m.d.sync += [kept[n].eq(kept[n - 1]) for n in range(1, len(kept))]
            with m.If(self.clear):
                m.d.sync += [entry.valid.eq(0) for entry in kept]
        return m
