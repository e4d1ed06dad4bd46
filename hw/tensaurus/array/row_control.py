"""Turns a row's operations into the control words of its elements."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...spec.tensaurus import TensaurusConfig
from ...stream.valid_pipeline import ValidPipeline
from .layouts import (
    Source,
    answer_layout,
    multiply_layout,
    operation_layout,
    store_layout,
    sum_layout,
)

__all__ = ["RowControl"]


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
        self._config = config
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

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, always = self._config, Const(1, 1)
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
        write, read = scalars.write_port(), scalars.read_port()
        m.d.comb += [
            write.en.eq(self.answer.valid),
            write.addr.eq(self.answer.index),
            write.data.eq(self.scalar),
            read.addr.eq(self.fetch),
            read.en.eq(1),
            self.multiply.scalar.eq(Mux(self.multiply.by_scalar, read.data, now.scalar)),
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
            summing.left.eq(now.left),
            summing.right.eq(now.right),
        ]
        late = delay(m, summing.as_value(), config.multiplier_stages, always, "sum_late")
        m.d.comb += self.sum.eq(late)
        storing = Signal(store_layout(config), name="storing")
        m.d.comb += [
            storing.valid.eq(self.sum.accumulate | self.sum.reduce),
            storing.slot.eq(Mux(self.sum.reduce, self.sum.right, self.sum.slot)),
        ]
        m.d.comb += self.store.eq(
            delay(m, storing.as_value(), config.adder_stages, always, "store_late")
        )
        stages = config.multiplier_stages + config.adder_stages
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
