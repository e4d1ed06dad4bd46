"""A lane's array of elements."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ..spec.gta import COLS, LIMB_BITS, ROWS, GtaConfig
from .float.whole_product import SUM_BITS, product_bits
from .layouts import x_layout
from .limb_element import LimbElement

__all__ = ["Mpra"]


class Mpra(wiring.Component):
    """Multi-precision reconfigurable array: 8 x 8 :class:`LimbElement`.

    Source: the paper's section 4.1. Each passes its x right, its y, its sum and its second rank
    down; the next lane's elements stand behind the last ones as these behind each other. Latency
    from ``x`` to ``x_right`` 8, from ``y`` to ``y_down`` 8 while it moves.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    x, x_right: by row, in and out; see :func:`x_layout`
    y, y_down: by column, in and out; limbs with their sign
    vector: in; limbs are the elements' own; x_vector, y_vector: in, by column and row; these
    bytes: out; by column and row, the lowest byte of each sum
    sum_above, sum, drain_above, drain: by column, in and out; of a configuration with integers.
      Above the array's first row 0 comes as the sum
    products, last_limbs: out; by row and column, of a configuration with floats: products of
      significands, see :func:`product_bits`, and that an element multiplies the last limbs of one,
      which is there in the next cycle
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        x = data.ArrayLayout(x_layout(config), ROWS)
        y = data.ArrayLayout(signed(LIMB_BITS + 1), COLS)
        partial = data.ArrayLayout(signed(config.partial_bits), COLS)
        own = data.ArrayLayout(data.ArrayLayout(signed(LIMB_BITS + 1), ROWS), COLS)
        members: dict[str, Member] = {
            "x": In(x),
            "x_right": Out(x),
            "y": In(y),
            "y_down": Out(y),
            "vector": In(1),
            "x_vector": In(own),
            "y_vector": In(own),
            "bytes": Out(data.ArrayLayout(data.ArrayLayout(LIMB_BITS, ROWS), COLS)),
        }
        if config.integers:
            members |= {
                "sum_above": In(partial),
                "sum": Out(partial),
                "drain_above": In(partial),
                "drain": Out(partial),
            }
        if config.floats:
            products = data.ArrayLayout(data.ArrayLayout(product_bits(config), COLS), ROWS)
            members |= {
                "products": Out(products),
                "last_limbs": Out(data.ArrayLayout(COLS, ROWS)),
            }
        super().__init__(members)

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        columns = range(COLS)
        y = [self.y[c] for c in columns]
        if config.integers:
            above = [self.sum_above[c] for c in columns]
            drain = [self.drain_above[c] for c in columns]
        for r in range(ROWS):
            x = self.x[r]
            for c in columns:
                m.submodules[f"element_{r}_{c}"] = element = LimbElement(config)
                m.d.comb += [
                    element.x.eq(x),
                    element.y.eq(y[c]),
                    element.vector.eq(self.vector),
                    element.x_vector.eq(self.x_vector[c][r]),
                    element.y_vector.eq(self.y_vector[c][r]),
                    self.bytes[c][r].eq(element.sum[:LIMB_BITS]),
                ]
                x, y[c] = element.x_right, element.y_down
                if config.floats:
                    m.d.comb += [
                        self.products[r][c].eq(self._product(element)),
                        self.last_limbs[r][c].eq(x.last),
                    ]
                if config.integers:
                    m.d.comb += [element.sum_above.eq(above[c]), element.drain_above.eq(drain[c])]
                    above[c], drain[c] = element.sum, element.drain[: config.partial_bits]
            m.d.comb += self.x_right[r].eq(x)
        for c in columns:
            m.d.comb += self.y_down[c].eq(y[c])
            if config.integers:
                m.d.comb += [self.sum[c].eq(above[c]), self.drain[c].eq(drain[c])]
        return m

    def _product(self, element: LimbElement) -> Value:
        """A product's top bits are the sum's, others the second rank's, and of a long one the
        lowest ones again the sum's."""
        config, begin = self._config, self._config.significand_sum_bits
        kept = element.sum[begin : begin + config.spare_bits]
        return Cat(kept, element.drain, element.sum[:SUM_BITS])[-product_bits(config) :]
