"""(x) of a semiring on two values, pipelined."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ..spec.formats import FloatFormat, Format, IntFormat
from ..spec.semirings import Semiring
from .add import FloatAdd
from .compare import FloatMinMax
from .pipeline import Bundle, Pipeline
from .round import exponent_limit, normalise_and_round
from .unpack import Unpack


def is_true(value: Value, fmt: Format) -> Value:
    """Returns whether a value is not zero, of either sign."""
    return (value[:-1] if isinstance(fmt, FloatFormat) else value).any()


def truth(condition: Value, fmt: Format) -> Value:
    """0 or 1 in a format."""
    one = fmt.constant("1")
    assert one is not None
    return Mux(condition, C(one, fmt.bits), C(0, fmt.bits))


def choose(m: Module, a: Value, b: Value, fmt: Format, *, maximum: bool | Value) -> Value:
    """The smaller or the larger value: IEEE 754-2019 ``minimum`` or ``maximum`` of floats."""
    if isinstance(fmt, FloatFormat):
        m.submodules.choose = chooser = FloatMinMax(fmt)
        m.d.comb += [chooser.a.eq(a), chooser.b.eq(b), chooser.maximum.eq(maximum)]
        return chooser.o
    less = Signal(name="less")
    m.d.comb += less.eq(a.as_signed() < b.as_signed())
    return Mux(less ^ maximum, a, b)


def saturating_sum(m: Module, a: Value, b: Value, fmt: IntFormat) -> Value:
    """``a + b``, or the end of the range that it passes."""
    total = Signal(fmt.bits + 1, name="total")
    m.d.comb += total.eq(a.as_signed() + b.as_signed())
    end = Cat((~total[-1]).replicate(fmt.bits - 1), total[-1])
    return Mux(total[-1] ^ total[-2], end, total[: fmt.bits])


def delay(m: Module, value: Value, stages: int, advance: Value, name: str) -> Value:
    """Delays a value by so many registers, which have no reset and move while ``advance`` is
    set."""
    for stage in range(stages):
        register = Signal.like(value, name=f"{name}_{stage}", reset_less=True)
        with m.If(advance):
            m.d.sync += register.eq(value)
        value = register
    return value


class ScalarOperator(wiring.Component):
    """Base of the operators of a semiring on two values, pipelined.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    semiring: whose operator it is
    format: of a, b and o
    stages: register stages, 1..4
    others: members beside these

    Members
    -------
    a, b: the operands
    advance: enables all registers
    o: the result
    """

    def __init__(self, semiring: Semiring, format: Format, stages: int, **others: Member) -> None:
        self._semiring = semiring
        self._format = format
        self._stages = stages
        if stages not in range(1, 5):
            raise ValueError(f"`stages` must be in 1..4, not {stages}")
        bits = format.bits
        members = {"a": In(bits), "b": In(bits), "advance": In(1), "o": Out(bits)}
        super().__init__(members | others)

    @property
    def semiring(self) -> Semiring:
        return self._semiring

    @property
    def format(self) -> Format:
        return self._format

    @property
    def stages(self) -> int:
        return self._stages


MULTIPLY_CUTS: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("result",),
    2: ("product", "result"),
    3: ("product", "shifted", "result"),
    4: ("parts", "product", "shifted", "result"),
}
"""Cuts at which a multiplier has its registers, by the number of stages."""

_PARTS = 3
"""Parts of b's significand that are multiplied before the cut; their products are added behind
it."""


class FloatMultiply(wiring.Component):
    """Computes ``o = RNE(a * b)``.

    IEEE 754 in every case, with the canonical NaN. Latency ``stages`` cycles (0: combinational),
    an operation a cycle. Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    operand: format of a and b
    result: format of the product; default: the operands'
    stages: register stages, 0..4, see :data:`MULTIPLY_CUTS`

    Members
    -------
    a, b: the operands
    advance: (with stages) enables all registers
    o: the product
    """

    def __init__(
        self, operand: FloatFormat, result: FloatFormat | None = None, *, stages: int = 0
    ) -> None:
        self._operand = operand
        self._result = result or operand
        self._stages = stages
        if stages not in MULTIPLY_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(MULTIPLY_CUTS)}, not {stages}")
        members = {"a": In(operand.bits), "b": In(operand.bits), "o": Out(self._result.bits)}
        super().__init__(members | ({"advance": In(1)} if stages else {}))

    @property
    def operand(self) -> FloatFormat:
        return self._operand

    @property
    def result(self) -> FloatFormat:
        return self._result

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = self.advance if self._stages else C(1)
        pipeline = Pipeline(m, self._stages, advance, MULTIPLY_CUTS)
        bundle = pipeline.cut("product", self._product(m, pipeline))
        sign = {"flip": bundle["negative"], "negative_zero": bundle["negative"]}
        m.d.comb += self.o.eq(normalise_and_round(m, {**bundle, **sign}, self._result, pipeline))
        return m

    def _product(self, m: Module, pipeline: Pipeline) -> Bundle:
        """Computes the exact product, and the other inputs of rounding. With a cut before it, it
        is the sum of the products with parts of b's significand."""
        # Subnormal operands are not normalised: the product is, which takes no more stages.
        m.submodules.unpack_a = a = Unpack(self._operand, normalise=False)
        m.submodules.unpack_b = b = Unpack(self._operand, normalise=False)
        m.d.comb += [a.i.eq(self.a), b.i.eq(self.b)]
        rest = {
            "limit": exponent_limit(self._result, a.o.exponent + b.o.exponent, head_bits=2),
            "nan": a.o.nan | b.o.nan | (a.o.infinite & b.o.zero) | (a.o.zero & b.o.infinite),
            "infinite": a.o.infinite | b.o.infinite,
            "negative": a.o.sign ^ b.o.sign,
        }
        first, second = a.o.significand, b.o.significand
        if not pipeline.has("parts"):
            return {"total": Cat(first * second, 0), **rest}
        step = -(-len(second) // _PARTS)
        places = range(0, len(second), step)
        products = {f"part_{n}": first * second[at : at + step] for n, at in enumerate(places)}
        cut = pipeline.cut("parts", {**products, **rest})
        total = sum((cut.pop(name) << at for name, at in zip(products, places, strict=True)), C(0))
        return {"total": Cat(total[: len(first) + len(second)], 0), **cut}


class ScalarProduct(ScalarOperator):
    """Computes ``o = a (x) b``, rounded once.

    Integers: sums saturate, products are taken modulo ``2**bits``, and where (+) is min or max
    the product of the two padding values is its identity. A squared difference of floats is that
    of the difference rounded to the format's precision, which neither overflows nor underflows
    before it is squared. "second" is b where a is not 0, else 0.

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    semiring: whose (x) it is
    format: of a, b and o
    stages: register stages, 1..4

    Members
    -------
    a, b: the operands
    advance: enables all registers
    o: the product
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, times = self._format, self._semiring.times
        if isinstance(fmt, FloatFormat) and times in ("mul", "add", "square_difference"):
            m.d.comb += self.o.eq(self._rounded(m, fmt))
            return m
        if times == "and":
            result = truth(is_true(self.a, fmt) & is_true(self.b, fmt), fmt)
        elif times == "second":
            result = Mux(is_true(self.a, fmt), self.b, C(0, fmt.bits))
        elif times in ("min", "max"):
            result = choose(m, self.a, self.b, fmt, maximum=times == "max")
        else:
            assert isinstance(fmt, IntFormat)
            result = self._integer(m, fmt)
        m.d.comb += self.o.eq(delay(m, result, self._stages, self.advance, "result"))
        return m

    def _rounded(self, m: Module, fmt: FloatFormat) -> Value:
        """Multiplies, adds or squares a difference with an adder or a multiplier of floats."""
        a, b, operand, stages = self.a, self.b, fmt, self._stages
        if self._semiring.times != "mul":
            squares = self._semiring.times == "square_difference"
            # With a bit more, no difference of two values overflows, and none is subnormal.
            wide = FloatFormat(
                name="wide",
                exponent_bits=fmt.exponent_bits + 1,
                fraction_bits=fmt.fraction_bits,
                container_bits=fmt.container_bits + 1,
            )
            before = min(1, stages - 1) if squares else stages
            m.submodules.add = add = FloatAdd(fmt, wide if squares else fmt, stages=before)
            m.d.comb += [add.a.eq(a), add.b.eq(b), add.subtract.eq(int(squares))]
            if before:
                m.d.comb += add.advance.eq(self.advance)
            if not squares:
                return add.o
            a, b, operand, stages = add.o, add.o, wide, stages - before
        m.submodules.multiply = multiply = FloatMultiply(operand, fmt, stages=stages)
        m.d.comb += [multiply.a.eq(a), multiply.b.eq(b), multiply.advance.eq(self.advance)]
        return multiply.o

    def _integer(self, m: Module, fmt: IntFormat) -> Value:
        """The operation before its registers."""
        if self._semiring.times == "add":
            found = saturating_sum(m, self.a, self.b, fmt)
        else:
            x = Signal(signed(fmt.bits), name="left")
            y = Signal(signed(fmt.bits), name="right")
            product = Signal(fmt.bits)
            squares = self._semiring.times == "square_difference"
            m.d.comb += [
                x.eq(self.a - self.b if squares else self.a),
                y.eq(x if squares else self.b),
                product.eq(x * y),
            ]
            found = product
        if self._semiring.plus not in ("min", "max"):
            return found
        padding, identity = self._semiring.padding_in(fmt), self._semiring.identity_in(fmt)
        assert padding is not None
        assert identity is not None
        padded = (self.a == padding[0]) & (self.b == padding[1])
        return Mux(padded, C(identity, fmt.bits), found)


class ScalarSum(ScalarOperator):
    """Computes ``o = a (+) b``: a sum, rounded once or modulo ``2**bits``, a minimum, a maximum, or
    a disjunction (0 or 1).

    Latency ``stages`` cycles, an operation a cycle. Registers have no reset and move only while
    ``advance`` is set.

    Parameters
    ----------
    semiring: whose (+) it is
    format: of a, b and o
    stages: register stages, 1..4

    Members
    -------
    a, b: the operands
    advance: enables all registers
    o: the sum
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, plus, a, b = self._format, self._semiring.plus, self.a, self.b
        if plus == "add" and isinstance(fmt, FloatFormat):
            m.submodules.add = add = FloatAdd(fmt, stages=self._stages)
            m.d.comb += [add.a.eq(a), add.b.eq(b), add.advance.eq(self.advance)]
            m.d.comb += self.o.eq(add.o)
            return m
        result: Value
        if plus == "add":
            result = (a + b)[: fmt.bits]
        elif plus == "or":
            result = truth(is_true(a, fmt) | is_true(b, fmt), fmt)
        else:
            result = choose(m, a, b, fmt, maximum=plus == "max")
        m.d.comb += self.o.eq(delay(m, result, self._stages, self.advance, "result"))
        return m


class OptionalSum(ScalarOperator):
    """Computes ``a (+) b`` of two values that may be absent; a value without the other is
    unchanged.

    Timing as :class:`ScalarSum`.

    Parameters
    ----------
    semiring: whose (+) it is
    format: of a, b and o
    stages: register stages, 1..4

    Members
    -------
    a, b: the operands
    a_present, b_present: whether they count
    advance: enables all registers
    o: the sum; arbitrary if neither is present
    """

    def __init__(self, semiring: Semiring, format: Format, stages: int) -> None:
        super().__init__(semiring, format, stages, a_present=In(1), b_present=In(1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sum = total = ScalarSum(self._semiring, self._format, self._stages)
        alone = Mux(self.a_present, self.a, self.b)
        both = self.a_present & self.b_present
        kept = delay(m, alone, self._stages, self.advance, "alone")
        sums = delay(m, both, self._stages, self.advance, "both")
        m.d.comb += [
            total.a.eq(self.a),
            total.b.eq(self.b),
            total.advance.eq(self.advance),
            self.o.eq(Mux(sums, total.o, kept)),
        ]
        return m
