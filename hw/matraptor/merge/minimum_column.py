"""Which of several entries have the smallest column."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["MinimumColumn"]


class MinimumColumn(wiring.Component):
    """Compares all pairs of columns at once, and so finds all that are smallest.

    Combinational: one comparison deep, whatever the number of entries.

    Source: MatRaptor, section on its architecture (minimum column index logic).

    Parameters
    ----------
    count: number of entries
    column_bits: width of a column

    Members
    -------
    columns: their columns
    present: which of them count
    chosen: out; those among them with the smallest column
    column: out; that column, 0 if there is no entry
    """

    def __init__(self, count: int, column_bits: int) -> None:
        self._count = count
        self._column_bits = column_bits
        super().__init__(
            {
                "columns": In(data.ArrayLayout(column_bits, count)),
                "present": In(count),
                "chosen": Out(count),
                "column": Out(column_bits),
            }
        )

    @property
    def count(self) -> int:
        return self._count

    @property
    def column_bits(self) -> int:
        return self._column_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One row of bits for each entry: which of the others are smaller.
        smaller = [Signal(self._count, name=f"smaller_than_{i}") for i in range(self._count)]
        for i in range(self._count):
            for j in range(i):
                less = Signal(name=f"less_{i}_{j}")
                equal = Signal(name=f"equal_{i}_{j}")
                m.d.comb += [
                    less.eq(self.columns[i] < self.columns[j]),
                    equal.eq(self.columns[i] == self.columns[j]),
                    smaller[i][j].eq(~less & ~equal),
                    smaller[j][i].eq(less),
                ]
        column: Value = Value.cast(0)
        for i in range(self._count):
            m.d.comb += self.chosen[i].eq(self.present[i] & ~(smaller[i] & self.present).any())
        for i in range(self._count):
            column = column | Mux(self.chosen[i], self.columns[i], 0)
        m.d.comb += self.column.eq(column)
        return m
