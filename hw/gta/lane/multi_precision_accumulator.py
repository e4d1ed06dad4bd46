"""Sums of products of limbs to sums of products of integers."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import COLS, LIMB_BITS, GtaConfig
from .limb_groups import by_limbs, group_sizes, sum_bits, unit_sizes

__all__ = ["MultiPrecisionAccumulator", "column_sums_layout"]


def column_sums_layout(config: GtaConfig) -> data.StructLayout:
    """Sums of the groups whose last column is c, of all columns that end a group."""
    widths = {f"column_{c}": sum_bits(config, c) for c in range(COLS)}
    return data.StructLayout({name: width for name, width in widths.items() if width})


class MultiPrecisionAccumulator(wiring.Component):
    """Adds what the columns of a group give, limb j of the one operand at weight 2 ** (8 j), and
    then what one column gives after the other, limb i of the other operand, i descending.

    Source: the paper's section 4.1 and Figure 3, whose unit adds four products at weights 0, 8, 8
    and 16; ours has a column's two products one after the other, so it takes an adder for the
    columns and one for the time. Pairs are nested for 2, 4 and 8 limbs. Column c comes c cycles
    after column 0, so the earlier halves wait 1, 2 and 4 cycles.

    Where a group of L columns ends in column c, its partial results come log2 L cycles after
    ``sums[c]``; a cycle later ``o`` has them added to 256 times what it had, or to 0 with
    ``first[c]``. Latency from ``sums[c]``, whose ``first[c]`` comes log2 L cycles after it,
    to ``o``: log2 L + 1 cycles; a partial result a group and cycle. Sums are modulo 2 to the width
    of ``o``, which 16 bytes are of int32 and int64 where there is int64, and 8 else.

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
        self._config = config
        super().__init__(
            {
                "limbs_log": In(2),
                "sums": In(data.ArrayLayout(signed(config.partial_bits), COLS)),
                "first": In(COLS),
                "o": Out(column_sums_layout(config)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        largest = max(group_sizes(config))
        partial: dict[int, list[Value]] = {1: [self.sums[c] for c in range(COLS)]}
        size = 2
        while size <= largest:
            partial[size] = self._pairs(m, partial[size // 2], size)
            size *= 2
        for column in range(COLS):
            sizes = unit_sizes(config, column)
            if not sizes:
                continue
            total = self.o[f"column_{column}"]
            found = Signal(signed(len(total)), name=f"partial_{column}")
            choice: dict[int, Value] = {}
            for size in sizes:
                value = partial[size][column // size]
                choice[size] = value if len(value) <= len(total) else value[: len(total)]
            m.d.comb += found.eq(by_limbs(self.limbs_log, choice))
            if sizes == (1,):
                m.d.sync += total.eq(found)
                continue
            before = Signal(len(total), name=f"before_{column}")
            m.d.comb += before.eq(
                Mux(self.first[column], 0, Cat(Const(0, LIMB_BITS), total[:-LIMB_BITS]))
            )
            m.d.sync += total.eq(before + found)
        return m

    def _pairs(self, m: Module, halves: list[Value], size: int) -> list[Value]:
        """Groups of ``size`` columns, of groups of half as many."""
        found: list[Value] = []
        for n in range(0, len(halves), 2):
            low = halves[n]
            for wait in range(size // 2):
                later = Signal(signed(len(low)), name=f"waits_{size}_{n}_{wait}", reset_less=True)
                m.d.sync += later.eq(low)
                low = later
            shift = LIMB_BITS * size // 2
            width = len(low) + shift + 1
            total = Signal(signed(width), name=f"group_{size}_{n // 2}", reset_less=True)
            m.d.sync += total.eq(low + (halves[n + 1] << shift))
            found.append(total)
        return found
