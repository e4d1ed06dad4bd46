"""What a lane has for floats beside its array and its memories."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, COLS, FORMATS_OF_GTA, ROWS, GtaConfig
from ..path_members import path_members
from ..vector_layouts import steps_layout
from .float_back import WORD_BITS, FloatBack
from .float_left_feeder import FloatLeftFeeder
from .float_result_path import FloatResultPath
from .float_top_feeder import FloatTopFeeder
from .headers import column_header, limbs_of_format, row_header, vector_mode
from .plane_addends import PlaneAddends
from .planes.float_turns import FloatTurns
from .result_words import ResultWords
from .whole_product import product_bits

__all__ = ["FloatPath"]


class FloatPath(wiring.Component):
    """Feeders, fused adders, and the way to the memory of results.

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
        self._config = config
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

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, place = self._config, self.place
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
        """What all rows' adders know of a product of vectors."""
        header = Signal(row_header(self._config), name="vector_row")
        m.d.comb += [
            header.limbs.eq(Cat(*limbs_of_format(self._config, self.format))),
            header.first.eq(turns.first),
            header.accumulate.eq(turns.accumulate),
            header.last.eq(turns.last),
        ]
        return header.as_value()

    def _results(
        self, m: Module, left: FloatLeftFeeder, back: FloatBack, turns: FloatTurns
    ) -> None:
        """Of matrices and of vectors."""
        m.submodules.results = results = FloatResultPath(self._config)
        m.submodules.words = words = ResultWords(self._config)
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
            (self.done, turns.done, results.done),
        )
        for o, vector, matrix in chosen:
            m.d.comb += o.eq(Mux(self.mode.active, Value.cast(vector), Value.cast(matrix)))
