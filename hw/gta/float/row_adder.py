"""A fused adder of a row, and the columns that it serves."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import COLS, LIMB_BITS, GtaConfig, limbs
from .float_accumulate import FloatAccumulate
from .headers import (
    column_header,
    kept_limbs,
    operand_header,
    row_header,
    sum_format,
)
from .product_of_headers import ProductOfHeaders

__all__ = ["SUM_BITS", "RowAdder", "columns_of_adder", "formats_of_adder", "one_of", "product_bits"]

SUM_BITS = 2 * LIMB_BITS
"""Of a product of significands: its top bits, which an element's sum has in the end."""


def product_bits(config: GtaConfig) -> int:
    """Of a product as an element delivers it, its sum above its second rank."""
    return SUM_BITS + 2 * LIMB_BITS * (max(limbs(name) for name in config.floats) - 1)


def formats_of_adder(config: GtaConfig, number: int) -> tuple[str, ...]:
    """What the row's adder of that number adds products of: fp64 only the first one."""
    return tuple(name for name in config.floats if name != "fp64" or not number)


def columns_of_adder(config: GtaConfig, number: int) -> range:
    """The columns it serves: the first one all of them, of fp64."""
    own = COLS // config.row_adders
    everything = not number and "fp64" in config.floats
    return range(number * own, COLS if everything else (number + 1) * own)


def one_of(selected: Sequence[Value], values: Sequence[Value]) -> Value:
    """The value that is selected; 0 if none is."""
    found: Value = C(0, len(values[0]))
    for here, value in zip(selected, values, strict=True):
        found = found | (Value.cast(value) & here.replicate(len(value)))
    return found


class RowAdder(wiring.Component):
    """Adds the products of its columns, one a cycle, to the running sums that it keeps.

    Source: ours; of its units for floats the paper says only that they are there.

    Products are complete in column after column, a cycle apart: ``wave[k]`` says that the element
    k columns from the adder's first one multiplies its last limbs, and goes on behind the adder's
    last column. The row's header is taken with ``wave[0]``; with ``wave[k + 1]`` the product comes
    and the column's header; with ``wave[k + 2]`` they are added to the sum, and with
    ``wave[k + stages + 1]`` the new one is there.

    Two products of a column must lie at least as many cycles apart as the adder serves columns,
    and as it has stages. Sums have no reset.

    Parameters
    ----------
    config: of the accelerator, with floats
    number: of the adder in its row, from 0

    Members
    -------
    wave: in
    left, right: in and out; header of the row's operand, and the one taken
    column: in; header of the operand of the column whose product comes
    products: in; by column of the adder, see :func:`product_bits`
    addends: in; by column of the adder, with the product: what the first one of a sum is added to,
      if the row's header says ``accumulate``, fp32 in the low bits
    o: out; the new sum, fp32 in the low bits
    done: out; by column of the adder: ``o`` is its last sum
    wide: out; fp64 is at work, as long as the row's header says so
    """

    def __init__(self, config: GtaConfig, number: int) -> None:
        self._config, self._number = config, number
        self._columns = len(columns_of_adder(config, number))
        self._formats = [FLOAT_FORMATS[name] for name in formats_of_adder(config, number)]
        self._bits = max(sum_format(fmt.name).bits for fmt in self._formats)
        members: dict[str, Member] = {
            "wave": In(self._columns + config.adder_stages + 1),
            "left": In(row_header(config)),
            "right": Out(row_header(config)),
            "column": In(column_header(config)),
            "products": In(data.ArrayLayout(product_bits(config), self._columns)),
            "addends": In(data.ArrayLayout(self._bits, self._columns)),
            "o": Out(self._bits),
            "done": Out(self._columns),
            "wide": Out(1),
        }
        super().__init__(members)

    @property
    def config(self) -> GtaConfig:
        return self._config

    @property
    def number(self) -> int:
        return self._number

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, stages = self._config, self._config.adder_stages
        columns = range(self._columns)
        with m.If(self.wave[0]):
            m.d.sync += self.right.eq(self.left)
        if self._mixed:
            m.d.comb += self.wide.eq(self.right.limbs[-1])
        else:
            m.d.comb += self.wide.eq(self._bits == FLOAT_FORMATS["fp64"].bits)
        own = COLS // config.row_adders
        # fp64 is the first adder's, whosever columns it comes from.
        here: Value = ~self.right.limbs[-1] if self._number and "fp64" in config.floats else C(1)
        counts = [here if k < own else self.wide for k in columns]

        def selected(step: int) -> list[Value]:
            return [self.wave[k + step] & counts[k] for k in columns]

        m.submodules.adder = adder = FloatAccumulate(self._formats, stages=stages)
        m.submodules.headers = headers = self._headers(m, len(adder.header.exponent) - 1)
        product = Signal(len(adder.product), reset_less=True)
        header = Signal.like(adder.header, reset_less=True)
        first = Signal(reset_less=True)
        addend = Signal(self._bits, reset_less=True)
        last: Value = self.right.last
        complete = selected(1)
        begun = [here & self.right.accumulate for here in complete]
        m.d.sync += [
            product.eq(self._kept(one_of(complete, [self.products[k] for k in columns]))),
            header.eq(headers.o),
            first.eq(self.right.first),
            addend.eq(one_of(begun, [self.addends[k] for k in columns])),
        ]
        sums = [Signal(self._bits, name=f"sum_{k}", reset_less=True) for k in columns]
        m.d.comb += [
            adder.product.eq(product),
            adder.header.eq(header),
            adder.sum.eq(Mux(first, addend, one_of(selected(2), sums))),
            self.o.eq(adder.o),
        ]
        if self._mixed:
            m.d.comb += adder.narrow.fp32.eq(~self.wide)
        for step in range(stages):
            later = Signal(name=f"last_{step}", reset_less=True)
            m.d.sync += later.eq(last)
            last = later
        for k, store in enumerate(selected(stages + 1)):
            with m.If(store):
                m.d.sync += sums[k].eq(adder.o)
            m.d.comb += self.done[k].eq(store & last)
        return m

    @property
    def _mixed(self) -> bool:
        """Whether fp64 and other formats are added here."""
        return len({sum_format(fmt.name).name for fmt in self._formats}) > 1

    def _headers(self, m: Module, bits: int) -> ProductOfHeaders:
        """The header of the product, of exponents as wide as this adder needs them."""
        headers = ProductOfHeaders(bits)
        for given, header in ((self.right.operand, headers.x), (self.column, headers.y)):
            for name, _ in operand_header(bits):
                value = given[name]
                if name == "exponent" and len(value) > bits:
                    # What is in range of fp32 has copies of one bit below the top bit of fp64's.
                    value = Cat(value[: bits - 1], value[-1])
                m.d.comb += header[name].eq(value)
        return headers

    def _kept(self, product: Value) -> Value:
        """The product's top bits, without what former products have left below it."""
        bits = 2 * max(fmt.significand_bits for fmt in self._formats)
        fewest = min(limbs(name) for name in self._config.floats)
        bound = len(product) - SUM_BITS * fewest
        parts = [product[bound:]]
        for size, present in zip(kept_limbs(self._config), self.right.limbs, strict=True):
            following = len(product) - SUM_BITS * size
            parts.insert(0, product[following:bound] & present.replicate(bound - following))
            bound = following
        whole = Cat(*parts)
        return whole[len(whole) - bits :]
