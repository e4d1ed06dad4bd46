"""A fused adder of a row, and the columns that it serves."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import COLS, GtaConfig
from .float_accumulate import FloatAccumulate
from .headers import (
    WholeProduct,
    column_header,
    one_of,
    operand_header,
    product_bits,
    product_header,
    row_header,
    sum_format,
    vector_mode,
    widest,
)
from .plane_product import classified, plane_header


class RunningSums(wiring.Component):
    """Keeps a sum for each column, in the order of the columns' turns.

    As that is always the same, there is a queue: with ``store`` all move on by one, and the new one
    comes in at its end. A sum that is taken while n others are on their way through the adder is n
    places behind the head, so that nobody has to pick one of all columns'. Sums have no reset.

    Columns have their turn all of them, or, of fewer that count, the first ones; each is stored
    before its next turn.

    Parameters
    ----------
    columns: how many there are
    fewer: of them, those that count unless ``all``
    bits: of a sum
    stages: of the adder; with a sum ``stages - 1`` cycles before, or, of 1, in that cycle, is
      stored

    Members
    -------
    all: in; (fewer may count) all columns do
    on_their_way: in; (several columns and stages) a bit for each cycle from the adder's second to
      its last: a sum is there in the next cycle
    store: in; that is the adder's last one
    i: in; the new sum, with ``store``
    o: out; the sum of the column whose turn it is; combinational
    newest: out; the one that was stored last
    """

    def __init__(self, columns: int, fewer: int, bits: int, stages: int) -> None:
        self._columns, self._fewer, self._bits, self._stages = columns, fewer, bits, stages
        members: dict[str, Member] = {
            "store": In(1),
            "i": In(bits),
            "o": Out(bits),
            "newest": Out(bits),
        }
        if fewer < columns:
            members["all"] = In(1)
        if min(columns, stages) > 1:
            members["on_their_way"] = In(stages - 1)
        super().__init__(members)

    @property
    def columns(self) -> int:
        return self._columns

    @property
    def fewer(self) -> int:
        return self._fewer

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sums = [Signal(self._bits, name=f"sum_{n}", reset_less=True) for n in range(self._columns)]
        with m.If(self.store):
            for n, behind in enumerate([*sums[1:], self.i]):
                ends = n == self._fewer - 1 < self._columns - 1
                m.d.sync += sums[n].eq(Mux(self.all, behind, self.i) if ends else behind)
        newest = sums[-1]
        if self._fewer < self._columns:
            newest = Mux(self.all, newest, sums[self._fewer - 1])
        m.d.comb += [self.o.eq(self._of_turn(m, sums)), self.newest.eq(newest)]
        return m

    def _of_turn(self, m: Module, sums: list[Signal]) -> Value:
        """The sum as many places behind the head as others are on their way, which is counted a
        cycle before."""
        if min(self._columns, self._stages) == 1:
            return sums[0]
        here: list[Value] = [C(1)]
        for other in self.on_their_way:
            here = [
                (now & ~other) | (before & other)
                for now, before in zip([*here, C(0)], [C(0), *here], strict=True)
            ]
        places = min(len(here), self._columns)
        place = Signal(places, init=1)
        m.d.sync += place.eq(Cat(here[:places]))
        return one_of(list(place), sums[:places])


_NARROW = 32


class FirstAddend(wiring.Component):
    """Selects the addend of a first product: a column's, that of vectors, or 0.

    Latency one cycle. The register has no reset.

    Parameters
    ----------
    bits: of sums
    columns: how many there are
    narrow: of them, the first ones, that may have fp32 sums

    Members
    -------
    here: in; a bit a column: a sum of a matrix begins with its word
    words: in; by column, fp64, or fp32 if all sums are
    wide, narrow_words: (sums of both) in; sums are fp64; by column, fp32
    planes: in; of vectors; otherwise 0
    o: out; register
    """

    def __init__(self, bits: int, columns: int, narrow: int) -> None:
        self._bits, self._columns, self._narrow = bits, columns, narrow
        members: dict[str, Member] = {
            "here": In(columns),
            "words": In(data.ArrayLayout(bits, columns)),
            "planes": In(bits),
            "o": Out(bits),
        }
        if self.mixed:
            members |= {"wide": In(1), "narrow_words": In(data.ArrayLayout(_NARROW, narrow))}
        super().__init__(members)

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def columns(self) -> int:
        return self._columns

    @property
    def narrow(self) -> int:
        return self._narrow

    @property
    def mixed(self) -> bool:
        """True if the adder keeps both fp64 and fp32 sums."""
        return self._bits > _NARROW and self._narrow > 0

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found = one_of([self.here[k] for k in range(self._columns)], list(self.words))
        if self.mixed:
            narrow = [self.here[k] for k in range(self._narrow)]
            low = Mux(self.wide, found[:_NARROW], one_of(narrow, list(self.narrow_words)))
            found = Cat(low, found[_NARROW:])
        addend = Signal(self._bits, name="addend", reset_less=True)
        m.d.sync += addend.eq(found | self.planes)
        m.d.comb += self.o.eq(addend)
        return m


class ProductOfHeaders(wiring.Component):
    """Computes sign, exponent and class of ``x * y``.

    Combinational.

    Parameters
    ----------
    exponent_bits: of the operands' exponents

    Members
    -------
    x, y: see ``operand_header``
    o: see ``product_header``
    """

    def __init__(self, exponent_bits: int) -> None:
        self._exponent_bits = exponent_bits
        operand = operand_header(exponent_bits)
        super().__init__(
            {"x": In(operand), "y": In(operand), "o": Out(product_header(exponent_bits))}
        )

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y = self.x, self.y
        # The one that is added comes in as a carry.
        total = Cat(1, x.exponent) + Cat(1, y.exponent)
        m.d.comb += [
            self.o.negative.eq(x.negative ^ y.negative),
            self.o.exponent.eq(total[1:]),
            self.o.zero.eq(x.zero | y.zero),
            self.o.infinite.eq(x.infinite | y.infinite),
            self.o.nan.eq(x.nan | y.nan | (x.infinite & y.zero) | (x.zero & y.infinite)),
        ]
        return m


def formats_of_adder(config: GtaConfig, number: int) -> tuple[str, ...]:
    """Returns the formats of the products that an adder of a row adds; only adder 0 adds fp64."""
    return tuple(name for name in config.floats if name != "fp64" or not number)


def columns_of_adder(config: GtaConfig, number: int) -> range:
    """The columns it serves: the first one all of them, of fp64."""
    own = COLS // config.row_adders
    everything = not number and "fp64" in config.floats
    return range(number * own, COLS if everything else (number + 1) * own)


class RowAdder(wiring.Component):
    """Adds the products of its columns, one a cycle, to the running sums that it keeps.

    Source: ours; of its units for floats the paper says only that they are there.

    Products are complete in column after column, a cycle apart: ``wave[k]`` says that the element
    k columns from the adder's first one multiplies its last limbs, and goes on behind the adder's
    last column. The row's header is taken with ``wave[0]``; with ``wave[k + 1]`` the product comes
    and the column's header; with ``wave[k + 2]`` they are added to the sum, and with
    ``wave[k + stages + 1]`` the new one is there.

    Products of vectors have a header of their own, ``planes``, which comes with them; what their
    sums begin with comes as :class:`FirstAddend` says.

    Two products of a column must lie at least as many cycles apart as the adder serves columns,
    and as it has stages. Sums have no reset, see :class:`RunningSums`.

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
      if the row's header says ``accumulate``; ``narrow_addends``: (fp64 and other sums) by column
      of those that have others, too: likewise, of these
    mode: in; see ``vector_mode``
    planes: in; with a product of vectors, see ``plane_header``
    plane_addend: in; with it, what the first one of a sum is added to; 0 of matrices
    o: out; the new sum, in the low bits, a cycle after ``done``, until the next one; a register
    done: out; by column of the adder: the new sum is its last one
    wide: out; fp64 is at work, as long as the row's header says so
    """

    def __init__(self, config: GtaConfig, number: int) -> None:
        self.config: Final = config
        self._number = number
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
            "mode": In(vector_mode()),
            "planes": In(plane_header(self.exponent_bits)),
            "plane_addend": In(self._bits),
            "o": Out(self._bits),
            "done": Out(self._columns),
            "wide": Out(1),
        }
        self._narrow_columns = COLS // config.row_adders if self._mixed else 0
        if self._mixed:
            words = data.ArrayLayout(sum_format("fp32").bits, self._narrow_columns)
            members["narrow_addends"] = In(words)
        super().__init__(members)

    @property
    def number(self) -> int:
        return self._number

    @property
    def exponent_bits(self) -> int:
        """Bits of the exponents of operands."""
        return widest([sum_format(fmt.name) for fmt in self._formats]).exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, stages = self.config, self.config.adder_stages
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

        m.submodules.adder = adder = FloatAccumulate(self._formats, stages=stages, own=True)
        m.submodules.product = whole = WholeProduct(config, [fmt.name for fmt in self._formats])
        m.submodules.addend = addend = FirstAddend(self._bits, self._columns, self._narrow_columns)
        product = Signal(len(adder.product), reset_less=True)
        header = Signal.like(adder.header, reset_less=True)
        first = Signal(reset_less=True)
        flip = Signal(reset_less=True)
        last: Value = self.right.last
        complete = selected(1)
        m.d.comb += [
            whole.mode.eq(self.mode),
            whole.row.eq(self.right),
            whole.i.eq(one_of(complete, [self.products[k] for k in columns])),
            addend.here.eq(Mux(self.right.accumulate & ~self.mode.active, Cat(*complete), 0)),
            addend.words.eq(self.addends),
            addend.planes.eq(self.plane_addend),
        ]
        if addend.mixed:
            m.d.comb += [
                addend.wide.eq(self.wide),
                addend.narrow_words.eq(self.narrow_addends),
            ]
        found = self._header(m, whole.any)
        m.d.sync += [
            product.eq(whole.o),
            header.eq(found),
            first.eq(self.right.first),
            # A product without an addend is added to a zero of its own sign.
            flip.eq(self.mode.active & (self.mode.subtract | (self.mode.plain & found.negative))),
        ]
        m.submodules.sums = sums = RunningSums(len(columns), own, self._bits, stages)
        stored = selected(stages + 1)
        m.d.comb += [
            sums.store.eq(Cat(*stored).any()),
            sums.i.eq(adder.o),
            adder.product.eq(product),
            adder.header.eq(header),
            adder.sum.eq(Mux(first, addend.o, sums.o)),
            adder.flip.eq(flip),
            self.o.eq(sums.newest),
        ]
        if own < len(columns):
            m.d.comb += sums.all.eq(self.wide)
        if min(len(columns), stages) > 1:
            others = Cat(Cat(*selected(2 + n)).any() for n in range(stages - 1))
            m.d.comb += sums.on_their_way.eq(others)
        self._narrow(m, adder)
        for step in range(stages):
            later = Signal(name=f"last_{step}", reset_less=True)
            m.d.sync += later.eq(last)
            last = later
        m.d.comb += [self.done[k].eq(store & last) for k, store in enumerate(stored)]
        return m

    @property
    def _mixed(self) -> bool:
        """True if the adder adds both fp64 and other formats."""
        return len({sum_format(fmt.name).name for fmt in self._formats}) > 1

    def _narrow(self, m: Module, adder: FloatAccumulate) -> None:
        """The format of sums, in a register like the product's."""
        if "narrow" not in adder.signature.members:
            return
        kinds = {
            "fp32": ~self.wide & ~self.mode.own,
            "fp16": self.mode.own & self.mode.fp16,
            "bf16": self.mode.own & ~self.mode.fp16,
        }
        for name, _ in adder.narrow.shape():
            narrow = Signal(name=f"sum_is_{name}", reset_less=True)
            m.d.sync += narrow.eq(kinds[name])
            m.d.comb += adder.narrow[name].eq(narrow)

    def _header(self, m: Module, not_zero: Value) -> data.View[data.StructLayout]:
        """The header of the product, of exponents as wide as this adder needs them."""
        bits = self.exponent_bits
        m.submodules.headers = headers = ProductOfHeaders(bits)
        for given, header in ((self.right.operand, headers.x), (self.column, headers.y)):
            for name, _ in operand_header(bits):
                value = given[name]
                if name == "exponent" and len(value) > bits:
                    # An exponent in fp32's range has copies of one bit below the top bit of fp64's.
                    value = Cat(value[: bits - 1], value[-1])
                m.d.comb += header[name].eq(value)
        found = Signal(product_header(bits), name="header_of_product")
        for name, value in classified(self.planes, not_zero).items():
            m.d.comb += found[name].eq(Mux(self.mode.active, value, headers.o[name]))
        return found
