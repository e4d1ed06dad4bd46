"""A lane: registers for the rows of a block, and arithmetic."""

from __future__ import annotations

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...spec.sida import SidaConfig
from ...stream.written_word import reads_with_writes
from .lane_arithmetic import LaneArithmetic
from .layouts import place_layout

__all__ = ["Lane", "lane_stages"]


def lane_stages(config: SidaConfig) -> int:
    """Cycles of a lane's arithmetic: a fused multiplication and addition has one more than a
    multiplication."""
    return config.multiplier_stages + 1


class Lane(wiring.Component):
    """Computes one element of each row.

    Operands are read in a cycle with ``read``, and an instruction computes with them in the next
    ones, until ``execute``; its result can be read from ``lane_stages`` cycles after that on.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    read: in; reads what the next instruction has at ``places``
    places: in; of the operands a, b, c
    constant, constants: in, a cycle later and until the next ``read``; operands that are these
        values instead
    opcode: in, likewise; of the instruction
    outside, given: in, likewise; the result comes from outside
    start: in; begins a quotient or a root
    done: out; for one cycle: it is there
    execute: in; the result is to be written to ``target``
    target: in
    operand: out; the operand a
    clear: in; forgets results that are on their way, at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        bits = config.format.bits
        super().__init__(
            {
                "read": In(1),
                "places": In(data.ArrayLayout(place_layout(config), 3)),
                "constant": In(3),
                "constants": In(data.ArrayLayout(bits, 3)),
                "opcode": In(6),
                "outside": In(1),
                "given": In(bits),
                "start": In(1),
                "done": Out(1),
                "execute": In(1),
                "target": In(place_layout(config)),
                "operand": Out(bits),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, stages = self._config, lane_stages(self._config)
        m.submodules.arithmetic = arithmetic = LaneArithmetic(config.format, stages)
        place_bits = place_layout(config).size
        m.submodules.registers = registers = Memory(
            shape=config.format.bits, depth=1 << place_bits, init=[]
        )
        write = registers.write_port()
        valid: Value = self.execute
        for stage in range(stages):
            register = Signal(name=f"writes_{stage}")
            m.d.sync += register.eq(valid & ~self.clear)
            valid = register
        m.d.comb += [
            write.en.eq(valid),
            write.addr.eq(delay(m, self.target.as_value(), stages, C(1), "target")),
            write.data.eq(arithmetic.o),
        ]
        places = {name: self.places[n].as_value() for n, name in enumerate("abc")}
        found = reads_with_writes(m, registers, write, places, self.read)
        for number, name in enumerate("abc"):
            operand = Mux(self.constant[number], self.constants[number], found[number])
            m.d.comb += getattr(arithmetic, name).eq(operand)
        m.d.comb += [
            arithmetic.opcode.eq(self.opcode),
            arithmetic.outside.eq(self.outside),
            arithmetic.given.eq(self.given),
            arithmetic.start.eq(self.start),
            self.done.eq(arithmetic.done),
            self.operand.eq(arithmetic.a),
        ]
        return m
