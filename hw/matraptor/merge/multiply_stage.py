"""The multiplier of a processing element."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import ScalarProduct, delay
from ...spec.matraptor import MatRaptorConfig
from ...stream.stream_registers import SkidBuffer
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import partial_layout, product_layout, row_layout

__all__ = ["MultiplyStage"]


class MultiplyStage(wiring.Component):
    """Multiplies, and checks that the columns of a row of B ascend.

    Latency ``multiplier_stages`` cycles and one; a product a cycle.

    Source: MatRaptor, section on its architecture (PEs).

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: stream of pairs of values, see :func:`product_layout`
    o: stream of their products, see :func:`partial_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(product_layout(config))),
                "o": Out(stream.Signature(partial_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, stages = self.config, self.config.multiplier_stages
        m.submodules.multiply = multiply = ScalarProduct(config.operators, config.format, stages)
        m.submodules.products = products = SkidBuffer(partial_layout(config), clearable=True)
        token = self.i.payload
        advance = Signal()
        m.d.comb += [
            advance.eq(products.i.ready),
            self.i.ready.eq(advance),
            products.clear.eq(self.clear),
            multiply.a.eq(token.a),
            multiply.b.eq(token.b),
            multiply.advance.eq(advance),
        ]
        beside = Signal(
            data.StructLayout(
                {
                    "column": config.index_bits,
                    "row": row_layout(config),
                    **dict.fromkeys(("ends", "present", "row_last", "lane_last", "unsorted"), 1),
                    **({"target": token.target.shape()} if config.outer_product else {}),
                }
            )
        )
        m.d.comb += [
            beside.ends.eq(token.b_last | token.row_last),
            beside.unsorted.eq(self._unsorted(m)),
        ]
        for name in ("column", "row", "present", "row_last", "lane_last", "target"):
            if name in beside.shape().members:
                m.d.comb += beside[name].eq(token[name])
        m.submodules.valids = valids = ValidPipeline(stages)
        m.d.comb += [
            valids.i.eq(self.i.valid),
            valids.advance.eq(advance),
            valids.clear.eq(self.clear),
        ]
        last = beside.shape()(delay(m, beside.as_value(), stages, advance, "beside"))
        m.d.comb += [products.i.valid.eq(valids.o), products.i.payload.value.eq(multiply.o)]
        for name in beside.shape().members:
            m.d.comb += products.i.payload[name].eq(last[name])
        m.d.comb += [
            self.o.valid.eq(products.o.valid),
            self.o.payload.eq(products.o.payload),
            products.o.ready.eq(self.o.ready),
        ]
        return m

    def _unsorted(self, m: Module) -> Signal:
        """Returns whether the token's column is no larger than the column before it in the same row
        of B."""
        token = self.i.payload
        within = Signal()
        before = Signal(self.config.index_bits, reset_less=True)
        unsorted = Signal()
        m.d.comb += unsorted.eq(token.present & within & (token.column <= before))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += within.eq(token.present & ~(token.b_last | token.row_last))
            with m.If(token.present):
                m.d.sync += before.eq(token.column)
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        return unsorted
