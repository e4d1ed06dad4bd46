"""A combinational component between two registers, with a stream on either side."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class RegisteredFunction(wiring.Component):
    """Makes a combinational component a unit that a stream harness can drive at full rate.

    Latency 2 cycles, one operation a cycle; stalls hold both registers.

    Parameters
    ----------
    function: a component all of whose ports are plain values, inputs and outputs

    Members
    -------
    i: its inputs, one field each, in the order of its signature
    o: its outputs likewise
    """

    def __init__(self, function: wiring.Component) -> None:
        self._function = function
        inputs: dict[str, Any] = {}
        outputs: dict[str, Any] = {}
        for name, member in function.signature.members.items():
            fields = inputs if member.flow is In else outputs
            fields[name] = member.shape
        self._inputs = data.StructLayout(inputs)
        self._outputs = data.StructLayout(outputs)
        super().__init__(
            {
                "i": In(stream.Signature(self._inputs)),
                "o": Out(stream.Signature(self._outputs)),
            }
        )

    @property
    def function(self) -> wiring.Component:
        return self._function

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.function = self._function
        operands = Signal(self._inputs)
        operands_valid = Signal()
        result = Signal(self._outputs)
        result_valid = Signal()
        advance = Signal()
        m.d.comb += [
            advance.eq(self.o.ready | ~result_valid),
            self.i.ready.eq(advance),
            self.o.valid.eq(result_valid),
            self.o.payload.eq(result),
        ]
        for name in self._inputs.members:
            port = getattr(self._function, name)
            m.d.comb += Value.cast(port).eq(Value.cast(operands[name]))
        with m.If(advance):
            m.d.sync += [
                operands.eq(self.i.payload),
                operands_valid.eq(self.i.valid),
                result_valid.eq(operands_valid),
            ]
            for name in self._outputs.members:
                port = Value.cast(getattr(self._function, name))
                width = Shape.cast(port.shape()).width
                m.d.sync += Value.cast(result[name]).eq(port[:width])
        return m
