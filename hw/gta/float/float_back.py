"""The fused adders of a lane."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import (
    BANKS,
    COLS,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
)
from .headers import column_header, one_of, product_bits, row_header, sum_bits, vector_mode
from .plane_product import PlaneProduct
from .row_adder import RowAdder, columns_of_adder, formats_of_adder


def row_result(config: GtaConfig) -> data.StructLayout:
    """A row's results: ``value``, fp32 in the low bits, and the ``column`` it is of, a bit each;
    none set: it is no result. ``wide``: it is fp64."""
    bits = sum_bits(config)
    return data.StructLayout({"value": bits, "column": COLS, "wide": 1})


WORD_BITS = 8 * RESULT_WORD_BYTES


class FloatBack(wiring.Component):
    """Sums products of floats after a lane's elements, with ``row_adders`` adders per row.

    Row r works on column t - r, as the elements complete their products, see :class:`RowAdder`;
    ``last_limbs[r][c]`` says that an element multiplies a product's last limbs. The row's header
    is taken then, and passes right from adder to adder; the column's header comes a cycle later
    and passes down a row a cycle. What a sum begins with is row r's element of the bank's word
    that comes with the column's header, if the row's header says ``accumulate``, or 0. A result
    is there ``adder_stages`` + 1 cycles after the column's header, one in a row and cycle: the last
    products of two sums of an element lie at least 8 cycles apart.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    last_limbs: in; by row, a bit a column
    products: in; by row and column, see :func:`product_bits`
    rows, rows_right: in and out; by row, see :func:`row_header`. In: with the last limbs of the
      lane's first column; out: with those of the column right of the lane
    columns, columns_down: in and out; by adder of a row: header of the operand of that of its
      columns whose product in the first row is complete, zeros if none is; out: in the row below
      the lane's
    words: in; by column, the word of the bank of results with the sums to begin with
    o: out; by row, see :func:`row_result`; registers
    mode: in; see ``vector_mode``
    left_words, top_words: in; of vectors: words of the columns' banks
    x_here, y_here: in; see ``FloatTurns``
    y_any: in; by column and row, see ``FloatLimbs``
    plane_addends: in; see ``PlaneAddends``
    sums: out; by row and adder, what is in ``o`` of matrices; registers
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        self._adders = [n for n in range(config.row_adders) if formats_of_adder(config, n)]
        rows = data.ArrayLayout(row_header(config), ROWS)
        columns = data.ArrayLayout(column_header(config), config.row_adders)
        products = data.ArrayLayout(data.ArrayLayout(product_bits(config), COLS), ROWS)
        sums = data.ArrayLayout(data.ArrayLayout(sum_bits(config), config.row_adders), ROWS)
        addends = data.ArrayLayout(data.ArrayLayout(sum_bits(config), ROWS), config.row_adders)
        super().__init__(
            {
                "last_limbs": In(data.ArrayLayout(COLS, ROWS)),
                "products": In(products),
                "rows": In(rows),
                "rows_right": Out(rows),
                "columns": In(columns),
                "columns_down": Out(columns),
                "words": In(data.ArrayLayout(WORD_BITS, BANKS)),
                "o": Out(data.ArrayLayout(row_result(config), ROWS)),
                "mode": In(vector_mode()),
                "left_words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, COLS)),
                "top_words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, COLS)),
                "x_here": In(COLS),
                "y_here": In(COLS),
                "y_any": In(data.ArrayLayout(ROWS, COLS)),
                "plane_addends": In(addends),
                "sums": Out(sums),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        columns = self.columns
        for r in range(ROWS):
            self._row(m, r, columns)
            below = Signal.like(columns, name=f"columns_{r}")
            m.d.sync += below.eq(columns)
            columns = below
        m.d.comb += self.columns_down.eq(columns)
        return m

    def _row(self, m: Module, r: int, columns: data.View[data.ArrayLayout]) -> None:
        """A row's adders."""
        config, stages = self.config, self.config.adder_stages
        behind = Signal(stages + 1, name=f"behind_{r}")
        wave = Cat(self.last_limbs[r], behind)
        m.d.sync += behind.eq(wave[COLS - 1 : -1])
        header = self.rows[r]
        values: list[Value] = []
        completes: list[Value] = []
        done: list[Value] = [C(0)] * COLS
        for n in self._adders:
            served = columns_of_adder(config, n)
            m.submodules[f"adder_{r}_{n}"] = adder = RowAdder(config, n)
            m.d.comb += [
                adder.wave.eq(wave[served.start : served.start + len(adder.wave)]),
                adder.left.eq(header),
                *(adder.products[k].eq(self.products[r][c]) for k, c in enumerate(served)),
            ]
            header = adder.right
            self._addends(m, r, adder)
            self._planes(m, r, adder)
            m.d.comb += adder.plane_addend.eq(self.plane_addends[n][r])
            m.d.comb += self.sums[r][n].eq(adder.o)
            values.append(adder.o)
            complete = Signal(name=f"complete_{r}_{n}")
            m.d.sync += complete.eq(adder.done.any())
            completes.append(complete)
            for k, c in enumerate(served):
                done[c] = done[c] | adder.done[k]
            if len(self._adders) > 1 and len(served) == COLS:
                m.d.comb += adder.column.eq(Mux(adder.wide, self._any_column(columns), columns[n]))
            else:
                m.d.comb += adder.column.eq(columns[n])
            if not n:
                wide = adder.wide
        m.d.comb += self.rows_right[r].eq(header)
        # One alone needs no choice, for where none is complete nothing is written.
        value = one_of(completes, values) if len(values) > 1 else values[0]
        m.d.comb += self.o[r].value.eq(value)
        m.d.sync += [
            self.o[r].column.eq(Cat(*done)),
            self.o[r].wide.eq(wide),
        ]

    def _any_column(self, columns: data.View[data.ArrayLayout]) -> Value:
        """Returns the header of the only column that is present."""
        found = Value.cast(columns[0])
        for n in self._adders[1:]:
            found = found | Value.cast(columns[n])
        return found

    def _addends(self, m: Module, r: int, adder: RowAdder) -> None:
        """Returns the row's element in the words of its columns."""
        served = columns_of_adder(self.config, adder.number)
        for name in ("addends", "narrow_addends"):
            if name in adder.signature.members:
                for k, addend in enumerate(getattr(adder, name)):
                    bits = len(addend)
                    word = self.words[served[k]]
                    m.d.comb += addend.eq(word.word_select(r % (WORD_BITS // bits), bits))

    def _planes(self, m: Module, r: int, adder: RowAdder) -> None:
        """Returns the header of a product of vectors."""
        served = columns_of_adder(self.config, adder.number)
        formats = formats_of_adder(self.config, adder.number)
        header = PlaneProduct(formats, adder.exponent_bits, len(served))
        m.submodules[f"header_{r}_{adder.number}"] = header
        own = COLS // self.config.row_adders
        for k, c in enumerate(served):
            # Others than its own ones are the adder's in fp64 alone.
            here = C(1) if k < own else self.mode.fp64
            m.d.comb += [
                header.x_here[k].eq(self.x_here[c] & here),
                header.y_here[k].eq(self.y_here[c] & here),
                header.y_any[k].eq(self.y_any[c][r]),
            ]
            for operand, words in ((header.x, self.left_words), (header.y, self.top_words)):
                low, high = (words[c].word_select(n * ROWS + r, LIMB_BITS) for n in (0, 1))
                m.d.comb += operand[k].eq(Cat(low, high))
        m.d.comb += [
            header.mode.eq(self.mode),
            adder.mode.eq(self.mode),
            adder.planes.eq(header.o),
        ]
