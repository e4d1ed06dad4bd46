"""The blocks of rows that a part of a program is run on."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ..layouts import count_bits
from .layouts import block_rows

__all__ = ["BlockWalk"]


class BlockWalk(wiring.Component):
    """Walks over all elements, a block at a time. No block is of two steps.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    start: in; begins with the first block, at the end of the cycle
    columns: in, with ``start``; elements, at least 1
    advance: in; goes to the next block
    base: out; the block's first element
    rows: out; its rows
    ends: out; there is none behind it
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        bits = count_bits(config)
        super().__init__(
            {
                "start": In(1),
                "columns": In(bits),
                "advance": In(1),
                "base": Out(bits),
                "rows": Out(range(block_rows(config) + 1)),
                "ends": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes, most = self._config.pes, block_rows(self._config)
        left = Signal(count_bits(self._config))
        base = Signal(count_bits(self._config))
        m.d.comb += [
            self.base.eq(base),
            self.ends.eq(left <= most),
            self.rows.eq(Mux(self.ends, left, most)),
        ]
        with m.If(self.start):
            m.d.sync += [base.eq(0), left.eq((self.columns + (pes - 1))[pes.bit_length() - 1 :])]
        with m.Elif(self.advance):
            m.d.sync += [base.eq(base + most * pes), left.eq(left - self.rows)]
        return m
