"""Processing element: multipliers, adders and registers, controlled by the row's head."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_product import ScalarProduct
from ...arith.scalar_sum import ScalarSum
from ...spec.tensaurus import TensaurusConfig
from .layouts import answer_layout, multiply_layout, slot_range, store_layout, sum_layout

__all__ = ["ProcessingElement"]


class ProcessingElement(wiring.Component):
    """Computes a vector product and a vector sum per cycle, in a datapath that never stalls.

    The words ``fetch``, ``multiply`` (a cycle later), ``sum`` (``multiplier_stages`` after that)
    and ``store`` (``adder_stages`` after that) of an operation say what to do; they go on to the
    element in the next column, a cycle later. Registers have no reset.

    Source: Tensaurus, section on the compute PEs.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    fetch, multiply, sum, store: in; the words: number of the operand, see
      :func:`multiply_layout`, :func:`sum_layout`, :func:`store_layout`
    fetch_on, multiply_on, sum_on, store_on: out; to the next column
    answer, vector: in; an operand from the scratchpad, and its number
    drain: in; a slot
    shown: out; the vector in it
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        words = {
            "fetch": range(config.window),
            "multiply": multiply_layout(config),
            "sum": sum_layout(config),
            "store": store_layout(config),
        }
        super().__init__(
            {
                **{name: In(shape) for name, shape in words.items()},
                **{f"{name}_on": Out(shape) for name, shape in words.items()},
                "answer": In(answer_layout(config)),
                "vector": In(config.vlen * config.format.bits),
                "drain": In(slot_range(config)),
                "shown": Out(config.vlen * config.sum_format.bits),
            }
        )

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in ("fetch", "multiply", "sum", "store"):
            m.d.sync += Value.cast(getattr(self, f"{name}_on")).eq(Value.cast(getattr(self, name)))
        config = self._config
        bits, lanes = config.sum_format.bits, config.vlen
        width = lanes * bits
        m.submodules.sums = sums = Memory(
            shape=unsigned(width), depth=len(slot_range(config)), init=[]
        )
        reads = {
            name: sums.read_port(domain="comb") for name in ("fiber", "left", "right", "shown")
        }
        start, store = sums.write_port(), sums.write_port()
        operand = self._operand(m)
        product = Signal(width)
        total = Signal(width)
        fiber = reads["fiber"].data
        right = Signal(width, name="right_side")
        m.d.comb += [
            reads["fiber"].addr.eq(self.multiply.slot),
            reads["left"].addr.eq(Mux(self.sum.reduce, self.sum.left, self.sum.slot)),
            reads["right"].addr.eq(self.sum.right),
            reads["shown"].addr.eq(self.drain),
            self.shown.eq(reads["shown"].data),
            start.en.eq(self.sum.start),
            start.addr.eq(self.sum.slot),
            start.data.eq(product),
            right.eq(Mux(self.sum.reduce, reads["right"].data, product)),
            store.en.eq(self.store.valid),
            store.addr.eq(self.store.slot),
            store.data.eq(total),
        ]
        scalar = self._widened(self.multiply.scalar)
        for lane in range(lanes):
            part = slice(lane * bits, (lane + 1) * bits)
            m.submodules[f"multiply_{lane}"] = multiply = ScalarProduct(
                config.operators, config.sum_format, config.multiplier_stages
            )
            m.submodules[f"add_{lane}"] = add = ScalarSum(
                config.operators, config.sum_format, config.adder_stages
            )
            m.d.comb += [
                multiply.advance.eq(C(1)),
                multiply.a.eq(Mux(self.multiply.fiber, fiber[part], scalar)),
                multiply.b.eq(Mux(self.multiply.by_scalar, scalar, operand[lane])),
                product[part].eq(multiply.o),
                add.advance.eq(C(1)),
                add.a.eq(reads["left"].data[part]),
                add.b.eq(right[part]),
                total[part].eq(add.o),
            ]
        return m

    def _widened(self, value: Value) -> Value:
        """An operand in the format of the sums."""
        more = self._config.sum_format.bits - self._config.format.bits
        return Cat(value, value[-1].replicate(more)) if more else value

    def _operand(self, m: Module) -> list[Value]:
        """The values of the operand that was fetched, widened."""
        config = self._config
        bits = config.format.bits
        m.submodules.operands = operands = Memory(
            shape=unsigned(config.vlen * bits), depth=config.window, init=[]
        )
        write, read = operands.write_port(), operands.read_port()
        m.d.comb += [
            write.en.eq(self.answer.valid),
            write.addr.eq(self.answer.index),
            write.data.eq(self.vector),
            read.addr.eq(self.fetch),
            read.en.eq(1),
        ]
        return [
            self._widened(read.data[lane * bits : (lane + 1) * bits]) for lane in range(config.vlen)
        ]
