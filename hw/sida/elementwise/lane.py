"""A lane: registers for the rows of a block, and arithmetic."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.compare import FloatCompare, FloatMinMax
from ...arith.iterative import FloatDivide, FloatSquareRoot
from ...arith.multiply_add import FloatMultiplyAdd
from ...arith.scalar_operators import delay, is_true, truth
from ...spec.formats import FloatFormat, Format
from ...spec.sida import SidaConfig
from ...stream.ring import reads_with_writes
from .layouts import opcode, place_layout


class LaneArithmetic(wiring.Component):
    """Computes the result of an instruction on one element.

    Sums, products and both fused are of one fused multiplier and adder. Quotients and roots are
    found a digit a cycle, and enter the stages when they are ready. Latency ``stages`` cycles.
    Registers have no reset.

    Parameters
    ----------
    format: of all values
    stages: register stages, 2..4

    Members
    -------
    opcode: in; of the instruction; one without a result gives anything
    a, b, c: in; its operands
    outside: in; the result is ``given``
    given: in
    start: in; begins a quotient or a root, of operands as they are in this cycle; one that was
        begun before is given up
    done: out; for one cycle: it is there
    o: out; the result
    """

    def __init__(self, format: Format, stages: int) -> None:
        self._format, self._stages = format, stages
        bits = format.bits
        super().__init__(
            {
                "opcode": In(6),
                "a": In(bits),
                "b": In(bits),
                "c": In(bits),
                "outside": In(1),
                "given": In(bits),
                "start": In(1),
                "done": Out(1),
                "o": Out(bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plain = Signal(self._format.bits)
        self._moves(m, plain)
        self._decisions(m, plain)
        if isinstance(self._format, FloatFormat):
            self._iterative(m, plain, self._format)
        with m.If(self.outside):
            m.d.comb += plain.eq(self.given)
        fused = self._is("add", "sub", "mul", "fma") & ~self.outside
        later = delay(m, plain, self._stages, C(1), "plain")
        takes_fused = delay(m, fused, self._stages, C(1), "fused")
        m.d.comb += self.o.eq(Mux(takes_fused, self._fused(m), later))
        return m

    def _is(self, *names: str) -> Value:
        return Cat(self.opcode == opcode(name) for name in names).any()

    def _fused(self, m: Module) -> Value:
        """Computes ``a * 1 + b``, ``a * 1 - b``, ``a * b - 0`` or ``a * b + c`` in ``stages``.

        Operands are unpacked in the first stage; the sum is rounded after the last register, on the
        way to the lane's registers.
        """
        fmt = self._format
        one, zero = fmt.constant("1"), fmt.constant("-0")
        assert one is not None
        assert zero is not None
        factor = Signal(fmt.bits)
        addend = Signal(fmt.bits)
        negative = self.b ^ (1 << fmt.bits - 1) if isinstance(fmt, FloatFormat) else -self.b
        with m.Switch(self.opcode):
            with m.Case(opcode("add")):
                m.d.comb += [factor.eq(one), addend.eq(self.b)]
            with m.Case(opcode("sub")):
                m.d.comb += [factor.eq(one), addend.eq(negative[: fmt.bits])]
            with m.Case(opcode("mul")):
                # A zero that leaves the product's sign alone.
                m.d.comb += [factor.eq(self.b), addend.eq(zero)]
            with m.Default():
                m.d.comb += [factor.eq(self.b), addend.eq(self.c)]
        if not isinstance(fmt, FloatFormat):
            total = (self.a * factor + addend)[: fmt.bits]
            return delay(m, total, self._stages, C(1), "total")
        m.submodules.multiply_add = unit = FloatMultiplyAdd(
            fmt, stages=self._stages + 1, open_ended=True
        )
        m.d.comb += [
            unit.a.eq(self.a),
            unit.b.eq(factor),
            unit.c.eq(addend),
            unit.advance.eq(1),
        ]
        return unit.o

    def _moves(self, m: Module, plain: Signal) -> None:
        """Computes the instructions that pass on an operand, or change its sign."""
        fmt, a = self._format, self.a
        with m.Switch(self.opcode):
            with m.Case(opcode("load")):
                m.d.comb += plain.eq(self.c)
            with m.Case(opcode("abs"), opcode("neg")):
                if isinstance(fmt, FloatFormat):
                    nan = a[:-1] > fmt.infinity
                    sign = ~a[-1] & self._is("neg")
                    m.d.comb += plain.eq(Mux(nan, fmt.nan, Cat(a[:-1], sign)))
                else:
                    m.d.comb += plain.eq(Mux(self._is("neg") | a[-1], -a, a))
            with m.Case(opcode("select")):
                m.d.comb += plain.eq(Mux(is_true(a, fmt), self.b, self.c))
            with m.Default():
                m.d.comb += plain.eq(a)

    def _decisions(self, m: Module, plain: Signal) -> None:
        """Computes comparisons, the minimum and the maximum, and truth."""
        fmt, a = self._format, self.a
        b = Signal(fmt.bits, name="compared")
        less = Signal()
        equal = Signal()
        extreme = Signal(fmt.bits)
        maximum = ~self._is("min")
        m.d.comb += b.eq(Mux(self._is("relu"), 0, self.b))
        if isinstance(fmt, FloatFormat):
            m.submodules.compare = compare = FloatCompare(fmt)
            m.submodules.choose = choose = FloatMinMax(fmt)
            for part in (compare, choose):
                m.d.comb += [part.a.eq(a), part.b.eq(b)]
            m.d.comb += [
                choose.maximum.eq(maximum),
                less.eq(compare.less),
                equal.eq(compare.equal),
                extreme.eq(choose.o),
            ]
        else:
            m.d.comb += [
                less.eq(a.as_signed() < b.as_signed()),
                equal.eq(a == b),
                extreme.eq(Mux(less ^ maximum, a, b)),
            ]
        p, q = is_true(a, fmt), is_true(b, fmt)
        found = {"equal": equal, "less": less, "atmost": less | equal, "and": p & q,
                 "or": p | q, "not": ~p}  # fmt: skip
        with m.Switch(self.opcode):
            with m.Case(opcode("min"), opcode("max"), opcode("relu")):
                m.d.comb += plain.eq(extreme)
            for name, condition in found.items():
                with m.Case(opcode(name)):
                    m.d.comb += plain.eq(truth(condition, fmt))

    def _iterative(self, m: Module, plain: Signal, fmt: FloatFormat) -> None:
        """Quotients and roots."""
        m.submodules.divide = divide = FloatDivide(fmt)
        m.submodules.root = root = FloatSquareRoot(fmt)
        roots = self._is("sqrt")
        m.d.comb += [
            divide.a.eq(self.a),
            divide.b.eq(self.b),
            divide.start.eq(self.start & ~roots),
            root.a.eq(self.a),
            root.start.eq(self.start & roots),
            self.done.eq(Mux(roots, root.done, divide.done) & ~self.start),
        ]
        with m.If(self._is("div", "sqrt")):
            m.d.comb += plain.eq(Mux(roots, root.o, divide.o))


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
