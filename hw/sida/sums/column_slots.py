"""From leaves to columns."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import Format

__all__ = ["ColumnSlots"]


class ColumnSlots(wiring.Component):
    """Puts sums, each in its column's last leaf, in order of their columns.

    Combinational: each slot chooses among all leaves.

    Parameters
    ----------
    format: of the values
    leaves: of them, and slots

    Members
    -------
    sums, found: in; by leaf: a value, and whether it is one
    offset: in; by leaf, its column's number; not two columns with values have the same
    same: in; whether a leaf is not the last of its column
    values, present: out; by the columns' numbers; 0 where there is none
    """

    def __init__(self, format: Format, leaves: int) -> None:
        self._format, self._leaves = format, leaves
        values = data.ArrayLayout(format.bits, leaves)
        super().__init__(
            {
                "sums": In(values),
                "found": In(leaves),
                "offset": In(data.ArrayLayout(range(leaves), leaves)),
                "same": In(leaves - 1),
                "values": Out(values),
                "present": Out(leaves),
            }
        )

    @property
    def format(self) -> Format:
        return self._format

    @property
    def leaves(self) -> int:
        return self._leaves

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last = Signal(self._leaves)
        m.d.comb += last.eq(self.found & ~Cat(self.same, C(0, 1)))
        for slot in range(self._leaves):
            mine = Signal(self._leaves, name=f"of_slot_{slot}")
            m.d.comb += [
                mine.eq(Cat(last[n] & (self.offset[n] == slot) for n in range(self._leaves))),
                self.present[slot].eq(mine.any()),
                self.values[slot].eq(
                    reduce(or_, (Mux(mine[n], self.sums[n], 0) for n in range(self._leaves)))
                ),
            ]
        return m
