"""A bank of an SDRAM chip, as its controller knows it."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.sdram import SdramCycles

__all__ = ["SdramBank"]


class SdramBank(wiring.Component):
    """Knows which row of a bank is open, and when the next command may follow.

    Parameters
    ----------
    cycles: times of the chip
    row_bits: of a row's number
    most: accesses that may be on their way at once

    Members
    -------
    activate, row: in; the row is opened
    precharge: in; the row is closed
    write: in; a word is written
    accept, finish: in; an access has passed the check of its row, and has moved its last word
    open, open_row: out; whether a row is open, and which
    waited: out; a row may be opened, or the open one accessed
    settled: out; the open row may be closed, and no access needs it
    """

    def __init__(self, cycles: SdramCycles, row_bits: int, most: int) -> None:
        self._cycles, self._most = cycles, most
        ins = ("activate", "precharge", "write", "accept", "finish")
        outs = ("open", "waited", "settled")
        super().__init__(
            {
                **{name: In(1) for name in ins},
                "row": In(row_bits),
                **{name: Out(1) for name in outs},
                "open_row": Out(row_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cycles = self._cycles
        wait = Signal(range(max(cycles.rp, cycles.rcd)))
        stay = Signal(range(max(cycles.ras, cycles.wr)))
        pending = Signal(range(self._most + 1))
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(stay != 0):
            m.d.sync += stay.eq(stay - 1)
        with m.If(self.precharge):
            m.d.sync += [self.open.eq(0), wait.eq(cycles.rp - 1)]
        with m.If(self.activate):
            m.d.sync += [
                self.open.eq(1),
                self.open_row.eq(self.row),
                wait.eq(cycles.rcd - 1),
                stay.eq(cycles.ras - 1),
            ]
        with m.If(self.write & (stay < cycles.wr)):
            m.d.sync += stay.eq(cycles.wr - 1)
        m.d.sync += pending.eq(pending + self.accept - self.finish)
        m.d.comb += [self.waited.eq(wait == 0), self.settled.eq((stay == 0) & (pending == 0))]
        return m
