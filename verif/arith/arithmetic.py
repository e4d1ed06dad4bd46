"""The arithmetic components of one format side by side, and their RTL as a Python function."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.add import FloatAdd
from tilewright.hw.arith.compare import FloatCompare, FloatMinMax
from tilewright.hw.arith.scalar_operators import FloatMultiply
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.formats import FloatFormat
from tilewright.sim.numbers.values import Patterns
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack


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


def agree(name: str, got: npt.ArrayLike, expected: npt.ArrayLike, *operands: Patterns) -> None:
    """Fail with the first operands on which two results differ."""
    wrong = np.flatnonzero(np.asarray(got) != np.asarray(expected))
    if len(wrong):
        first = wrong[0]
        given = ", ".join(hex(operand[first]) for operand in operands)
        found = f"{int(np.asarray(got)[first]):#x}, not {int(np.asarray(expected)[first]):#x}"
        pytest.fail(f"{name}({given}) gives {found}; {len(wrong)} of {len(operands[0])} differ")


_UNPAUSED = Pauses()


class ScalarOperations(wiring.Component):
    """Every operation on two values of a format, on the same operands: one build tests all.

    Parameters
    ----------
    format: format of operands and results

    Members
    -------
    a, b, subtract: operands
    total, product, minimum, maximum: results; total is a - b with ``subtract``
    less, equal, greater, unordered: the relation of a to b
    """

    def __init__(self, format: FloatFormat) -> None:
        self._format = format
        value = format.bits
        super().__init__(
            {
                "a": In(value),
                "b": In(value),
                "subtract": In(1),
                "total": Out(value),
                "product": Out(value),
                "minimum": Out(value),
                "maximum": Out(value),
                "less": Out(1),
                "equal": Out(1),
                "greater": Out(1),
                "unordered": Out(1),
            }
        )

    @property
    def format(self) -> FloatFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.add = add = FloatAdd(self._format)
        m.submodules.multiply = multiply = FloatMultiply(self._format)
        m.submodules.compare = compare = FloatCompare(self._format)
        m.submodules.minimum = minimum = FloatMinMax(self._format)
        m.submodules.maximum = maximum = FloatMinMax(self._format)
        for part in (add, multiply, compare, minimum, maximum):
            m.d.comb += [part.a.eq(self.a), part.b.eq(self.b)]
        m.d.comb += [
            add.subtract.eq(self.subtract),
            self.total.eq(add.o),
            self.product.eq(multiply.o),
            minimum.maximum.eq(0),
            self.minimum.eq(minimum.o),
            maximum.maximum.eq(1),
            self.maximum.eq(maximum.o),
            self.less.eq(compare.less),
            self.equal.eq(compare.equal),
            self.greater.eq(compare.greater),
            self.unordered.eq(compare.unordered),
        ]
        return m


class RtlFunction:
    """A combinational component's Verilog under Verilator, called with arrays of operands.

    Parameters
    ----------
    component: not yet elaborated; all its ports plain values
    name: of the generated module
    """

    def __init__(self, component: wiring.Component, name: str) -> None:
        emitted = emit_component(RegisteredFunction(component), name=name)
        self._simulation = NativeSimulation(emitted)
        self._input = self._simulation.stream("i")
        self._output = self._simulation.stream("o")

    def __call__(
        self, *, pauses: Pauses = _UNPAUSED, **operands: npt.NDArray[Any]
    ) -> dict[str, npt.NDArray[Any]]:
        """Results by output name, a row for each row of the operands, as uint64."""
        fields = {name: np.asarray(values).astype(np.uint64) for name, values in operands.items()}
        payloads = pack(fields, self._input)
        results = unpack(self._simulation.run(payloads, pauses=pauses).payloads, self._output)
        return {name: values.astype(np.uint64) for name, values in results.items()}
