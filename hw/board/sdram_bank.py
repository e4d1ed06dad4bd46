"""A bank of an SDRAM chip, as its controller knows it."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.sdram import SdramCycles

__all__ = ["SdramBank", "ones"]


def ones(cycles: int) -> int:
    """What a timer of so many cycles begins with: shifted by a bit a cycle, its lowest bit is zero
    so many cycles behind the one that sets it."""
    return (1 << (cycles - 1)) - 1


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
        # Ones shift out, one a cycle, or one for each access: nothing is compared.
        wait = Signal(max(cycles.rp, cycles.rcd))
        stay = Signal(max(cycles.ras, cycles.wr))
        pending = Signal(self._most)

        def started(when: Value, count: int) -> Value:
            return Mux(when, ones(count), 0)

        m.d.sync += [
            wait.eq(
                (wait >> 1)
                | started(self.precharge, cycles.rp)
                | started(self.activate, cycles.rcd)
            ),
            stay.eq(
                (stay >> 1) | started(self.activate, cycles.ras) | started(self.write, cycles.wr)
            ),
        ]
        with m.If(self.accept & ~self.finish):
            m.d.sync += pending.eq(Cat(1, pending))
        with m.If(self.finish & ~self.accept):
            m.d.sync += pending.eq(pending >> 1)
        with m.If(self.precharge):
            m.d.sync += self.open.eq(0)
        with m.If(self.activate):
            m.d.sync += [self.open.eq(1), self.open_row.eq(self.row)]
        m.d.comb += [self.waited.eq(~wait[0]), self.settled.eq(~stay[0] & ~pending[0])]
        return m
