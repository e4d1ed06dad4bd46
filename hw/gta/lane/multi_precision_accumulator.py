"""Sums of products of limbs to sums of products of integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import COLS, FORMATS_OF_GTA, LIMB_BITS, GtaConfig, limbs

_NARROW = 64
_WIDE = 128


def group_sizes(config: GtaConfig) -> tuple[int, ...]:
    """Limbs of the configuration's integers, ascending."""
    return tuple(limbs(name) for name in config.integers)


def unit_sizes(config: GtaConfig, column: int) -> tuple[int, ...]:
    """The sizes of groups whose last column this is."""
    return tuple(size for size in group_sizes(config) if (column + 1) % size == 0)


def unit_delay(config: GtaConfig, column: int) -> int:
    """Registers in which the limbs of groups whose last column this is are added."""
    return (unit_sizes(config, column) or (1,))[-1].bit_length() - 1


def sum_bits(config: GtaConfig, column: int) -> int:
    """Width of the sums of groups whose last column this is; 0: there are none.

    Sums of int8 and int16 are exact in 64 bits; those of int32 and int64 have 128.
    """
    sizes = unit_sizes(config, column)
    if not sizes:
        return 0
    return _WIDE if sizes[-1] >= limbs("int32") else _NARROW


def by_limbs(limbs_log: ValueLike, values: Mapping[int, ValueLike]) -> Value:
    """The value of the format that has ``1 << limbs_log`` limbs, of those that there are."""
    sizes = sorted(values)
    found = Value.cast(values[sizes[-1]])
    for size in sizes[-2::-1]:
        is_this = Value.cast(limbs_log) == size.bit_length() - 1
        found = Value.cast(Mux(is_this, values[size], found))
    return found


def by_format(
    config: GtaConfig, index: ValueLike, value: Callable[[str], int], names: tuple[str, ...]
) -> Value:
    """A number of the format that a command names by its place; of others that of the last one."""
    found: Value = Value.cast(value(names[-1]))
    for name in names[-2::-1]:
        found = Value.cast(Mux(Value.cast(index) == FORMATS_OF_GTA.index(name), value(name), found))
    return found


assert COLS % max(limbs(name) for name in FORMATS_OF_GTA[:4]) == 0


def column_sums_layout(config: GtaConfig) -> data.StructLayout:
    """Sums of the groups whose last column is c, of all columns that end a group."""
    widths = {f"column_{c}": sum_bits(config, c) for c in range(COLS)}
    return data.StructLayout({name: width for name, width in widths.items() if width})


class MultiPrecisionAccumulator(wiring.Component):
    """Adds the limb products of a group of columns to a total of full precision.

    It adds the outputs of the columns of the group, limb j of the one operand at weight 2 ** (8 j).
    Then it adds the successive outputs of one column, limb i of the other operand, i descending.

    Source: the paper's section 4.1 and Figure 3, whose unit adds four products at weights 0, 8, 8
    and 16; ours has a column's two products one after the other, so it takes an adder for the
    columns and one for the time. Pairs are nested for 2, 4 and 8 limbs. Column c comes c cycles
    after column 0, so the earlier halves wait 1, 2 and 4 cycles. Smaller groups pass through the
    registers of larger ones.

    Where a group ends in column c, its partial results come d cycles after ``sums[c]``, d as
    :func:`unit_delay` says, with ``first[c]``; a cycle later ``o`` has them added to 256 times what
    it had, or to 0 with ``first[c]``. Latency from ``sums[c]`` to ``o``: d + 1 cycles; a partial
    result a group and cycle. Sums are modulo 2 to the width of ``o``, 16 bytes of groups of int32
    and int64, and 8 of others.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    limbs_log: in; log2 L, constant while anything is under way
    sums: in; of the last row's columns
    first: in; by column
    o: out; see :func:`column_sums_layout`
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "limbs_log": In(2),
                "sums": In(data.ArrayLayout(signed(config.partial_bits), COLS)),
                "first": In(COLS),
                "o": Out(column_sums_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        partial: list[Value] = [self.sums[c] for c in range(COLS)]
        found = {c: partial[c] for c in range(COLS)}
        size = 2
        while size <= max(group_sizes(config)):
            partial = self._pairs(m, partial, size)
            for n, value in enumerate(partial):
                column = size * (n + 1) - 1
                if size <= 1 << unit_delay(config, column):
                    found[column] = value
            size *= 2
        for column in range(COLS):
            if not unit_sizes(config, column):
                continue
            width = sum_bits(config, column)
            total = Signal(width, name=f"total_{column}", reset_less=True)
            m.d.comb += self.o[f"column_{column}"].eq(total)
            value = found[column]
            if len(value) > len(total):
                value = value[: len(total)].as_signed()
            if unit_sizes(config, column) == (1,):
                m.d.sync += total.eq(value)
                continue
            before = Signal(len(total), name=f"before_{column}")
            m.d.comb += before.eq(
                Mux(self.first[column], 0, Cat(Const(0, LIMB_BITS), total[:-LIMB_BITS]))
            )
            m.d.sync += total.eq(before + value)
        return m

    def _pairs(self, m: Module, halves: list[Value], size: int) -> list[Value]:
        """Groups of ``size`` columns, of groups of half as many; or the second of these, as it is,
        where the format has smaller groups."""
        found: list[Value] = []
        log = size.bit_length() - 1
        for n in range(0, len(halves), 2):
            low, high = halves[n], halves[n + 1]
            for wait in range(size // 2):
                later = Signal(signed(len(low)), name=f"waits_{size}_{n}_{wait}", reset_less=True)
                m.d.sync += later.eq(low)
                low = later
            shift = LIMB_BITS * size // 2
            width = max(len(low), len(high) + shift) + 1
            total = Signal(signed(width), name=f"group_{size}_{n // 2}", reset_less=True)
            both = Signal(signed(width), name=f"both_{size}_{n // 2}")
            m.d.comb += both.eq(low + Cat(Const(0, shift), high).as_signed())
            smaller = [k for k in unit_sizes(self.config, size * (n // 2 + 1) - 1) if k < size]
            if smaller:
                m.d.sync += total.eq(Mux(self.limbs_log >= log, both, high))
            else:
                m.d.sync += total.eq(both)
            found.append(total)
        return found
