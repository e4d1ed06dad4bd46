"""Comparisons, minima and maxima of unsigned integers and of floats."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .unpack import Unpack

__all__ = ["FloatCompare", "FloatMinMax", "MinimumColumn", "UnsignedCompare"]


class UnsignedCompare(wiring.Component):
    """Compares two unsigned integers.

    Combinational. A binary tree over the bits: in each half, whether a is less than b, and whether
    it is at most b. Both results together take little more than a subtraction's carry.

    Parameters
    ----------
    width: bits of an operand

    Members
    -------
    a, b: the operands
    less: out; a < b
    at_most: out; a <= b
    """

    verilog_parameters: ClassVar = {"WIDTH": "width"}

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__({"a": In(width), "b": In(width), "less": Out(1), "at_most": Out(1)})

    @property
    def width(self) -> int:
        return self._width

    def elaborate(self, platform: object) -> Module:
        m = Module()
        less: Value = ~self.a & self.b
        at_most: Value = ~self.a | self.b
        level = 0
        while len(less) > 1:
            # Pairs of neighbours, the higher one decides first; an odd one is alone.
            pairs = len(less) // 2
            alone = slice(2 * pairs, None)
            high = {"less": less[1::2], "at_most": at_most[1::2]}
            low = {"less": less[: 2 * pairs : 2], "at_most": at_most[: 2 * pairs : 2]}
            next_less = Signal(pairs + len(less) % 2, name=f"less_{level}")
            next_at_most = Signal(pairs + len(less) % 2, name=f"at_most_{level}")
            m.d.comb += [
                next_less.eq(Cat(high["less"] | (high["at_most"] & low["less"]), less[alone])),
                next_at_most.eq(
                    Cat(high["less"] | (high["at_most"] & low["at_most"]), at_most[alone])
                ),
            ]
            less, at_most, level = next_less, next_at_most, level + 1
        m.d.comb += [self.less.eq(less), self.at_most.eq(at_most)]
        return m


class SmallestEntries(wiring.Component):
    """Finds the smallest entries, given which are smaller than which. Combinational.

    Parameters
    ----------
    count: number of entries

    Members
    -------
    smaller: in; of each entry, which of the others are smaller
    present: in; which of them count
    chosen: out; those among them that have no smaller one
    """

    def __init__(self, count: int) -> None:
        self._count = count
        super().__init__(
            {
                "smaller": In(data.ArrayLayout(count, count)),
                "present": In(count),
                "chosen": Out(count),
            }
        )

    @property
    def count(self) -> int:
        return self._count

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i in range(self._count):
            beaten = (self.smaller[i] & self.present).any()
            m.d.comb += self.chosen[i].eq(self.present[i] & ~beaten)
        return m


class MinimumColumn(wiring.Component):
    """Finds all entries with the smallest column, by comparing all pairs of columns at once.

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
    popped: out; the same by gates of their own, which drive less
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
                "popped": Out(count),
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
                m.submodules[f"compare_{i}_{j}"] = compare = UnsignedCompare(self._column_bits)
                m.d.comb += [
                    compare.a.eq(self.columns[i]),
                    compare.b.eq(self.columns[j]),
                    smaller[i][j].eq(~compare.at_most),
                    smaller[j][i].eq(compare.less),
                ]
        column: Value = Value.cast(0)
        for name in ("chosen", "popped"):
            m.submodules[name] = smallest = SmallestEntries(self._count)
            m.d.comb += [
                *(smallest.smaller[i].eq(smaller[i]) for i in range(self._count)),
                smallest.present.eq(self.present),
                getattr(self, name).eq(smallest.chosen),
            ]
        for i in range(self._count):
            column = column | Mux(self.chosen[i], self.columns[i], 0)
        m.d.comb += self.column.eq(column)
        return m


class FloatCompare(wiring.Component):
    """Compares two floats.

    Combinational. Exactly one of ``less``, ``equal``, ``greater``, ``unordered`` is set:
    the two zeros are equal, a NaN is unordered with everything.

    Parameters
    ----------
    format: format of the operands

    Members
    -------
    a, b: the operands
    less, equal, greater, unordered: the relation of a to b
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        super().__init__(
            {
                "a": In(format.bits),
                "b": In(format.bits),
                "less": Out(1),
                "equal": Out(1),
                "greater": Out(1),
                "unordered": Out(1),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unpack_a = a = Unpack(self._format, normalise=False)
        m.submodules.unpack_b = b = Unpack(self._format, normalise=False)
        smaller = Signal()
        same = Signal()
        sign_a, sign_b = self.a[-1], self.b[-1]
        m.d.comb += [
            a.i.eq(self.a),
            b.i.eq(self.b),
            # Packed magnitudes order like the values they stand for.
            smaller.eq(self.a[:-1] < self.b[:-1]),
            same.eq(self.a[:-1] == self.b[:-1]),
            self.unordered.eq(a.o.nan | b.o.nan),
        ]
        equal = (same & (sign_a == sign_b)) | (a.o.zero & b.o.zero)
        less = Mux(sign_a != sign_b, sign_a, Mux(sign_a, ~smaller & ~same, smaller))
        m.d.comb += [
            self.equal.eq(~self.unordered & equal),
            self.less.eq(~self.unordered & ~equal & less),
            self.greater.eq(~(self.unordered | self.equal | self.less)),
        ]
        return m


class FloatMinMax(wiring.Component):
    """Computes IEEE 754-2019 ``minimum`` and ``maximum``: a NaN wins, and -0 is less than +0.

    Combinational. A NaN result is the canonical one.

    Parameters
    ----------
    format: format of the operands

    Members
    -------
    a, b: the operands
    maximum: selects the larger operand, not the smaller
    o: the selected operand
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        super().__init__(
            {
                "a": In(format.bits),
                "b": In(format.bits),
                "maximum": In(1),
                "o": Out(format.bits),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compare = compare = FloatCompare(self._format)
        take_b = Signal()
        # Equal operands are identical but for the two zeros, where the sign decides.
        b_is_less = compare.greater | (compare.equal & self.b[-1])
        m.d.comb += [
            compare.a.eq(self.a),
            compare.b.eq(self.b),
            take_b.eq(b_is_less ^ self.maximum),
        ]
        with m.If(compare.unordered):
            m.d.comb += self.o.eq(self._format.nan)
        with m.Else():
            m.d.comb += self.o.eq(Mux(take_b, self.b, self.a))
        return m
