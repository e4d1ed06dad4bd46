"""Datapath of a lane for floats: feeders, adders and the port to the memory of results."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
)
from ..layouts import left_words, steps_layout
from ..path_members import fold_layout, path_members
from .bank_words import PackedOperand, ResultWords
from .float_back import WORD_BITS, FloatBack
from .float_left_feeder import FloatLeftFeeder
from .float_result_path import FloatResultPath
from .headers import (
    column_header,
    limbs_of_format,
    one_of,
    product_bits,
    row_header,
    sum_bits,
    vector_mode,
)
from .product_steps import FloatTurns, ProductSteps, step_layout
from .row_adder import columns_of_adder, formats_of_adder

_LOW = LEFT_WORD_BYTES.bit_length() - 1

_Y_TO_HEADER = 3
"""Cycles from a product's last limb at a column to its header: y waits for its x, they are
multiplied, and the product is there."""


class FloatTopFeeder(wiring.Component):
    """Reads the banks of columns and gives each column the limbs of its floats, and their headers.

    Column c begins c cycles after column 0. Its string is its floats, one behind the other. It
    reads a word every cycle and picks a limb. Latency from ``valid`` to column 0's first ``y`` 3
    cycles; a header comes three cycles after a product's last limb.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    format: in; its place among all formats; constant while anything is under way
    top_edge: in; the lane is at the top edge of its region, and reads
    valid, fold: in; a fold begins
    read, address: out; of the banks
    words: in; what was read
    y: out; by column
    headers: out; by adder of a row, of that of its columns that has one; zeros if none has
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "format": In(range(8)),
                "top_edge": In(1),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "read": Out(BANKS),
                "address": Out(data.ArrayLayout(range(left_words(config)), BANKS)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "y": Out(data.ArrayLayout(signed(LIMB_BITS + 1), COLS)),
                "headers": Out(data.ArrayLayout(column_header(config), config.row_adders)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.steps = sequence = ProductSteps(config)
        m.d.comb += [
            sequence.format.eq(self.format),
            sequence.start.eq(self.valid),
            sequence.products.eq(self.fold.cycles),
            sequence.address.eq(self.fold.top),
        ]
        steps = [sequence.step]
        for c in range(1, COLS + 1):
            steps.append(Signal(step_layout(config), name=f"step_{c}"))
        for before, after in pairwise(steps):
            m.d.sync += after.eq(before)
        found: list[Value] = []
        for c in range(COLS):
            m.submodules[f"operand_{c}"] = operand = PackedOperand(config)
            reading, step = steps[c], steps[c + 1]
            m.d.comb += [
                self.read[c].eq(reading.valid & self.top_edge),
                self.address[c].eq(reading.address[_LOW:]),
                operand.format.eq(self.format),
                operand.word.eq(self.words[c]),
                operand.place.eq(step.address[:_LOW]),
                operand.limb.eq(step.j),
            ]
            m.d.sync += self.y[c].eq(Mux(step.valid, operand.o, 0))
            header = operand.header.as_value()
            found.append(header & (step.valid & step.last).replicate(len(header)))
        own = COLS // config.row_adders
        for n in range(config.row_adders):
            header = reduce(or_, found[n * own : (n + 1) * own])
            for wait in range(_Y_TO_HEADER):
                later = Signal(len(header), name=f"header_{n}_{wait}")
                m.d.sync += later.eq(header)
                header = later
            m.d.sync += self.headers[n].eq(header)
        return m


_NARROW = 32
_HALF = 16


class PlaneAddends(wiring.Component):
    """Selects the addends of all rows from the word of one column.

    The rows have their turn together. The addends are 0 where no column has its turn.

    Combinational. Of fp64 the two halves come one after the other, the lower one first, in two
    words.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    mode: in; see ``vector_mode``
    words: in; by column, of the banks of results
    low, high: in; a bit a column: its word has what sums begin with, of fp64 the lower, the upper
      halves of it; of others both say the same
    upper: in; by adder of a row; of sums of bf16 and fp16: these are above the low 16 bits
    o: out; by adder of a row and by row; in the low bits
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        adders, bits = config.row_adders, sum_bits(config)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "words": In(data.ArrayLayout(8 * RESULT_WORD_BYTES, BANKS)),
                "low": In(COLS),
                "high": In(COLS),
                "upper": In(adders),
                "o": Out(data.ArrayLayout(data.ArrayLayout(bits, ROWS), adders)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n in range(self.config.row_adders):
            if formats := formats_of_adder(self.config, n):
                self._adder(m, n, wide="fp64" in formats)
        return m

    def _adder(self, m: Module, n: int, *, wide: bool) -> None:
        lower = self._word(m, n, "low")
        if wide:
            higher = self._word(m, n, "high")
            before = Signal(len(lower), name=f"lower_halves_{n}", reset_less=True)
            m.d.sync += before.eq(lower)
        for r in range(ROWS):
            found = _planes(lower, r)
            own = self.mode.own & self.upper[n]
            found = Cat(Mux(own, found[_HALF:], found[:_HALF]), found[_HALF:])
            if wide:
                low = Mux(self.mode.fp64, _planes(before, r), found)
                found = Cat(low, _planes(higher, r))
            m.d.comb += self.o[n][r].eq(found)

    def _word(self, m: Module, n: int, name: str) -> Signal:
        """Selects the word of the column whose turn the adder serves."""
        own = COLS // self.config.row_adders
        here, words = [], []
        for k, c in enumerate(columns_of_adder(self.config, n)):
            # Others than its own ones are the adder's in fp64 alone.
            here.append(getattr(self, name)[c] & (C(1) if k < own else self.mode.fp64))
            words.append(self.words[c])
        word = Signal(len(words[0]), name=f"{name}_word_{n}")
        m.d.comb += word.eq(one_of(here, words))
        return word


def _planes(word: Value, row: int) -> Value:
    """Returns a row's number, whose bytes lie by planes."""
    return Cat(*(word.word_select(ROWS * k + row, LIMB_BITS) for k in range(_NARROW // LIMB_BITS)))


class FloatPath(wiring.Component):
    """Feeds a lane with floats, sums their products, and connects the memory of results.

    A lane takes rows' headers, as their limbs, from its own feeder at the left edge of its region,
    else from the lane beside it; columns' at the top edge, else from the lane above.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    last_limbs, products: in; of the array
    headers_left, headers_above: in; of the lanes beside it; ``headers_right``, ``headers_below``:
      out; to them
    mode: in; see ``vector_mode``
    steps: in; see ``steps_layout``
    y_any: in; by column and row, see ``FloatLimbs``
    words: in; of the banks of results, what was read a cycle before
    write_words, write_upper, upper: out; see :class:`ResultWords`
    others: see :func:`path_members`
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        rows = data.ArrayLayout(row_header(config), ROWS)
        columns = data.ArrayLayout(column_header(config), config.row_adders)
        products = data.ArrayLayout(data.ArrayLayout(product_bits(config), COLS), ROWS)
        own = {
            "last_limbs": In(data.ArrayLayout(COLS, ROWS)),
            "products": In(products),
            "headers_left": In(rows),
            "headers_right": Out(rows),
            "headers_above": In(columns),
            "headers_below": Out(columns),
            "mode": In(vector_mode()),
            "steps": In(steps_layout(config)),
            "y_any": In(data.ArrayLayout(ROWS, COLS)),
            "words": In(data.ArrayLayout(WORD_BITS, BANKS)),
            "write_words": Out(data.ArrayLayout(WORD_BITS, config.row_adders)),
            "write_upper": Out(WORD_BITS),
            "upper": Out(BANKS),
        }
        super().__init__(own | path_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, place = self.config, self.place
        m.submodules.left_feeder = left = FloatLeftFeeder(config)
        m.submodules.top_feeder = top = FloatTopFeeder(config)
        m.submodules.back = back = FloatBack(config)
        m.submodules.turns = turns = FloatTurns(config)
        m.submodules.addends = addends = PlaneAddends(config)
        m.d.comb += [turns.mode.eq(self.mode), turns.steps.eq(self.steps)]
        rows = Mux(
            self.mode.active,
            self._vector_rows(m, turns).replicate(ROWS),
            Mux(place.left, left.headers.as_value(), self.headers_left.as_value()),
        )
        columns = Mux(place.top, top.headers.as_value(), self.headers_above.as_value())
        for name, feeder in (("left", left), ("top", top)):
            m.d.comb += [
                feeder.format.eq(self.format),
                feeder.words.eq(getattr(self, f"{name}_words")),
                getattr(self, f"{name}_read").eq(feeder.read),
                getattr(self, f"{name}_address").eq(feeder.address),
            ]
        m.d.comb += [
            left.left_edge.eq(place.left),
            left.go.eq(self.go),
            left.fold.eq(self.waiting),
            top.top_edge.eq(place.top),
            top.valid.eq(self.valid),
            top.fold.eq(self.fold),
            self.x.eq(left.x),
            self.y.eq(top.y),
            back.last_limbs.eq(self.last_limbs),
            back.products.eq(self.products),
            back.rows.eq(rows),
            back.columns.eq(columns),
            back.words.eq(self.words),
            back.mode.eq(self.mode),
            back.left_words.eq(self.left_words),
            back.top_words.eq(self.top_words),
            back.x_here.eq(turns.x_here),
            back.y_here.eq(turns.y_here),
            back.y_any.eq(self.y_any),
            back.plane_addends.eq(addends.o),
            addends.mode.eq(self.mode),
            addends.words.eq(self.words),
            addends.low.eq(turns.addends_low),
            addends.high.eq(turns.addends_high),
            addends.upper.eq(turns.upper),
            self.headers_right.eq(back.rows_right),
            self.headers_below.eq(back.columns_down),
        ]
        self._results(m, left, back, turns)
        return m

    def _vector_rows(self, m: Module, turns: FloatTurns) -> Value:
        """Builds the row header that all rows' adders use for a product of vectors."""
        header = Signal(row_header(self.config), name="vector_row")
        m.d.comb += [
            header.limbs.eq(Cat(*limbs_of_format(self.config, self.format))),
            header.first.eq(turns.first),
            header.accumulate.eq(turns.accumulate),
            header.last.eq(turns.last),
        ]
        return header.as_value()

    def _results(
        self, m: Module, left: FloatLeftFeeder, back: FloatBack, turns: FloatTurns
    ) -> None:
        """Connects the datapaths that write results of matrices and of vectors."""
        m.submodules.results = results = FloatResultPath(self.config)
        m.submodules.words = words = ResultWords(self.config)
        m.d.comb += [
            results.wide.eq(self.format == FORMATS_OF_GTA.index("fp64")),
            results.place.eq(self.place),
            results.go.eq(self.go),
            results.fold.eq(self.waiting),
            results.step.eq(left.step),
            results.sums.eq(back.o),
            words.mode.eq(self.mode),
            words.wide.eq(results.wide),
            *(words.results[r].eq(back.o[r].value) for r in range(ROWS)),
            words.sums.eq(back.sums),
            words.upper.eq(results.upper),
            self.write_words.eq(words.words),
            self.write_upper.eq(words.upper_word),
            self.upper.eq(words.takes_upper),
            words.low.eq(turns.low),
            words.high.eq(turns.high),
            words.half.eq(turns.half),
        ]
        chosen = (
            (self.read, turns.read, results.read),
            (self.read_address, turns.read_address, results.read_address),
            (self.write, words.write, results.write),
            (self.write_address, turns.write_address, results.write_address),
            (self.will_write, turns.will_write.any(), results.will_write.any()),
            (self.done, turns.done, results.done),
        )
        for o, vector, matrix in chosen:
            m.d.comb += o.eq(Mux(self.mode.active, Value.cast(vector), Value.cast(matrix)))
