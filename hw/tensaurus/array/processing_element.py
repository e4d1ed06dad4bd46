"""Processing element: multipliers, adders and registers, controlled by the row's head."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import ScalarProduct, ScalarSum, delay
from ...spec.tensaurus import TensaurusConfig
from ...stream.ring import reads_with_writes
from ...stream.valid_pipeline import ValidPipeline
from .layouts import (
    Source,
    answer_layout,
    multiply_layout,
    operation_layout,
    slot_range,
    store_layout,
    sum_layout,
)


class RowControl(wiring.Component):
    """Executes the operations of a row: it sends words to its first element at fixed times, and
    values from the scratchpad of scalars.

    ``fetch`` comes a cycle behind the operation, ``multiply`` two; ``released`` and ``ended`` when
    all sums can be read that were complete with the operation.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    goes, operation, index: in; that an operation leaves the window, which, and its number there
    answer, scalar: in; a value from the scratchpad of scalars, and its number
    fetch, multiply, sum, store: out; see :class:`ProcessingElement`
    released: out; a slice is complete, or an end of a tile is next
    ended: out; the row has carried out all operations of a tile
    idle: out; nothing is in flight
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "goes": In(1),
                "operation": In(operation_layout(config)),
                "index": In(range(config.window)),
                "answer": In(answer_layout(config)),
                "scalar": In(config.format.bits),
                "fetch": Out(range(config.window)),
                "multiply": Out(multiply_layout(config)),
                "sum": Out(sum_layout(config)),
                "store": Out(store_layout(config)),
                "released": Out(1),
                "ended": Out(1),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, always = self.config, Const(1, 1)
        fetched = Signal(operation_layout(config), name="fetched", reset_less=True)
        now = Signal(operation_layout(config), name="multiplied", reset_less=True)
        valid = Signal(2)
        m.d.sync += [
            self.fetch.eq(self.index),
            fetched.eq(self.operation),
            now.eq(fetched),
            valid.eq(Mux(self.clear, 0, Value.cast(self.goes) | (valid << 1))),
        ]
        present = valid[1]
        m.submodules.scalars = scalars = Memory(
            shape=unsigned(config.format.bits), depth=config.window, init=[]
        )
        write = scalars.write_port()
        # It comes when it is read, or earlier.
        (scalar,) = reads_with_writes(m, scalars, write, {"scalar": self.fetch})
        m.d.comb += [
            write.en.eq(self.answer.valid),
            write.addr.eq(self.answer.index),
            write.data.eq(self.scalar),
            self.multiply.scalar.eq(Mux(self.multiply.by_scalar, scalar, now.scalar)),
            self.multiply.fiber.eq(now.fiber),
            self.multiply.slot.eq(now.fiber_slot),
            self.multiply.by_scalar.eq(now.fiber & (now.source == Source.SCALAR)),
        ]
        summing = Signal(sum_layout(config), name="summing")
        m.d.comb += [
            summing.start.eq(present & now.active & now.start),
            summing.accumulate.eq(present & now.active & ~now.start),
            summing.slot.eq(now.slot),
            summing.reduce.eq(present & now.reduce),
            summing.left.eq(Mux(now.reduce, now.left, now.slot)),
            summing.right.eq(now.right),
        ]
        # What is next is known a cycle before: which sums it takes from the adders.
        following = Signal(sum_layout(config), name="following")
        late = delay(m, summing.as_value(), config.product_latency - 1, always, "sum_late")
        storing = Signal(store_layout(config), name="storing")
        stored = Signal(store_layout(config), name="stored")
        m.d.comb += [
            following.eq(late),
            storing.valid.eq(self.sum.accumulate | self.sum.reduce),
            storing.slot.eq(Mux(self.sum.reduce, self.sum.right, self.sum.slot)),
            stored.eq(delay(m, storing.as_value(), config.sum_latency - 1, always, "store_late")),
        ]
        m.d.sync += [Value.cast(self.sum).eq(late), self.store.eq(stored)]
        for side in ("left", "right"):
            new = stored.valid & (stored.slot == following[side])
            m.d.sync += self.sum[f"{side}_new"].eq(new)
        stages = config.product_latency + config.sum_latency
        released, under_way = ValidPipeline(stages), ValidPipeline(stages)
        m.submodules.released_pipeline, m.submodules.all_pipeline = released, under_way
        for pipeline, entry in ((released, present & now.release), (under_way, present)):
            m.d.comb += [
                pipeline.i.eq(entry),
                pipeline.advance.eq(1),
                pipeline.clear.eq(self.clear),
            ]
        count = Signal(range(stages + 1))
        m.d.sync += count.eq(Mux(self.clear, 0, count + present - under_way.o))
        m.d.comb += [
            self.released.eq(released.o),
            self.ended.eq(present & now.release & now.end),
            self.idle.eq(~valid.any() & (count == 0)),
        ]
        return m


class ProcessingElement(wiring.Component):
    """Computes a vector product and a vector sum per cycle, in a datapath that never stalls.

    The words ``fetch``, ``multiply`` (a cycle later), ``sum`` (``product_latency`` after that)
    and ``store`` (``sum_latency`` after that) of an operation say what to do; they go on to the
    element in the next column, a cycle later. There is a register behind the choice of operands,
    and of summands. Registers have no reset.

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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in ("fetch", "multiply", "sum", "store"):
            m.d.sync += Value.cast(getattr(self, f"{name}_on")).eq(Value.cast(getattr(self, name)))
        config = self.config
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
        left = Signal(width, name="left_side", reset_less=True)
        right = Signal(width, name="right_side", reset_less=True)
        m.d.comb += [
            reads["fiber"].addr.eq(self.multiply.slot),
            reads["left"].addr.eq(self.sum.left),
            reads["right"].addr.eq(self.sum.right),
            reads["shown"].addr.eq(self.drain),
            self.shown.eq(reads["shown"].data),
            start.en.eq(self.sum.start),
            start.addr.eq(self.sum.slot),
            start.data.eq(product),
            store.en.eq(self.store.valid),
            store.addr.eq(self.store.slot),
            store.data.eq(total),
        ]
        sides = {
            name: Mux(self.sum[f"{name}_new"], total, reads[name].data)
            for name in ("left", "right")
        }
        m.d.sync += [
            left.eq(sides["left"]),
            right.eq(Mux(self.sum.reduce, sides["right"], product)),
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
            factors = [Signal(bits, name=f"factor_{x}_{lane}", reset_less=True) for x in "ab"]
            m.d.sync += [
                factors[0].eq(Mux(self.multiply.fiber, fiber[part], scalar)),
                factors[1].eq(Mux(self.multiply.by_scalar, scalar, operand[lane])),
            ]
            m.d.comb += [
                multiply.advance.eq(C(1)),
                multiply.a.eq(factors[0]),
                multiply.b.eq(factors[1]),
                product[part].eq(multiply.o),
                add.advance.eq(C(1)),
                add.a.eq(left[part]),
                add.b.eq(right[part]),
                total[part].eq(add.o),
            ]
        return m

    def _widened(self, value: Value) -> Value:
        """An operand in the format of the sums."""
        more = self.config.sum_format.bits - self.config.format.bits
        return Cat(value, value[-1].replicate(more)) if more else value

    def _operand(self, m: Module) -> list[Value]:
        """The values of the operand that was fetched, widened."""
        config = self.config
        bits = config.format.bits
        m.submodules.operands = operands = Memory(
            shape=unsigned(config.vlen * bits), depth=config.window, init=[]
        )
        write = operands.write_port()
        # It comes when it is read, or earlier.
        (operand,) = reads_with_writes(m, operands, write, {"operand": self.fetch})
        m.d.comb += [
            write.en.eq(self.answer.valid),
            write.addr.eq(self.answer.index),
            write.data.eq(self.vector),
        ]
        return [
            self._widened(operand[lane * bits : (lane + 1) * bits]) for lane in range(config.vlen)
        ]
