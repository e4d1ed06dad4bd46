"""What a lane has for floats beside its array and its memories."""

from __future__ import annotations

from amaranth.hdl import Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import COLS, FORMATS_OF_GTA, ROWS, GtaConfig
from ..path_members import path_members
from .float_back import FloatBack
from .float_left_feeder import FloatLeftFeeder
from .float_result_path import FloatResultPath
from .float_top_feeder import FloatTopFeeder
from .headers import column_header, row_header
from .row_adder import product_bits

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
        rows = Mux(place.left, left.headers.as_value(), self.headers_left.as_value())
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
            self.headers_right.eq(back.rows_right),
            self.headers_below.eq(back.columns_down),
        ]
        self._results(m, left, back)
        return m

    def _results(self, m: Module, left: FloatLeftFeeder, back: FloatBack) -> None:
        m.submodules.results = results = FloatResultPath(self._config)
        m.d.comb += [
            results.wide.eq(self.format == FORMATS_OF_GTA.index("fp64")),
            results.place.eq(self.place),
            results.go.eq(self.go),
            results.fold.eq(self.waiting),
            results.step.eq(left.step),
            results.sums.eq(back.o),
            self.read.eq(results.read),
            self.read_address.eq(results.read_address),
            self.write.eq(results.write),
            self.write_address.eq(results.write_address),
            self.write_data.eq(results.write_data),
            self.done.eq(results.done),
        ]
