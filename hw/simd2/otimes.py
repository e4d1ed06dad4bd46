"""The (x) ALU of a semiring unit."""

from __future__ import annotations

from collections.abc import Collection

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith.multiplier import Multiplier
from ..arith.unpacked import format_layout
from ..spec.formats import FloatFormat
from ..spec.semirings import Semiring
from .adder import SelectingAdder
from .layouts import operator_layout, term_layout

__all__ = ["Otimes"]

Fields = dict[str, Value]


class Otimes(wiring.Component):
    """``a (x) b``: product, sum, minimum, maximum, conjunction or squared difference.

    One multiplier serves products and squares, one adder sums and differences, and the adder's
    comparator minima and maxima; what no semiring needs is not there. A difference is rounded to
    the operands' precision before it is squared; its exponent has room enough never to overflow.

    With ``register``, a stage of registers stands between the adder and the multiplier (an
    operation a cycle, latency one); without, the component is combinational and cannot square
    differences. Registers move only while ``advance`` is set.

    Source: SIMD2, the (x) ALU of its matrix unit.

    Parameters
    ----------
    element: format of a and b
    result: format in which sums will be rounded
    semirings: what is to be computed
    register: whether there is a register stage
    multiplier_bits: width of the multipliers: that of a significand, or half of it. With half,
        a product takes two steps: in the second one, marked by ``accumulate``, the operands
        stand still and ``partial`` is the first step's result, to which the cross products
        are added

    Members
    -------
    a, b: the operands, see :func:`format_layout`
    operator: the decoded opcode of the operands, see :func:`operator_layout`
    o_operator: (register) that of the term
    advance: (register) enables the registers
    accumulate, partial: (half) see above; of the term
    o: the term, see :func:`term_layout`
    """

    def __init__(
        self,
        element: FloatFormat,
        result: FloatFormat,
        semirings: Collection[Semiring],
        *,
        register: bool = False,
        multiplier_bits: int = 0,
    ) -> None:
        self._element = element
        self._result = result
        self._semirings = tuple(semirings)
        self._register = register
        self._times = {row.times for row in semirings}
        self._sum_bits = 0
        self._halves = 0 < multiplier_bits < element.significand_bits
        if "square_difference" in self._times and not register:
            raise ValueError("`register` must be true for squared differences, not False")
        operator = operator_layout(semirings)
        term = term_layout(element, result, self._times)
        members = {
            "a": In(format_layout(element)),
            "b": In(format_layout(element)),
            "operator": In(operator),
            "o": Out(term),
        }
        if register:
            members |= {"o_operator": In(operator), "advance": In(1)}
        if self._halves:
            members |= {"accumulate": In(1), "partial": In(2 * element.significand_bits)}
        super().__init__(members)

    @property
    def element(self) -> FloatFormat:
        return self._element

    @property
    def semirings(self) -> tuple[Semiring, ...]:
        return self._semirings

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = self._prepare(m)
        operator = self.operator
        if self._register:
            operator = self.o_operator
            registers: Fields = {}
            for name, value in fields.items():
                register = Signal.like(value, name=f"prepared_{name}", reset_less=True)
                with m.If(self.advance):
                    m.d.sync += register.eq(value)
                registers[name] = register
            fields = registers
        self._finish(m, fields, operator)
        return m

    def _any(self, operator: Value, *times: str) -> Value:
        """Whether the operator is one of these; constant where that is known beforehand."""
        wanted = [name for name in times if name in self._times]
        if len(wanted) == len(self._times):
            return C(1, 1)
        return Cat(operator[f"times_{name}"] for name in wanted).any() if wanted else C(0, 1)

    def _prepare(self, m: Module) -> Fields:
        """What there is before the multiplier: operands of a product, or a finished sum."""
        a, b, operator = self.a, self.b, self.operator
        exponent_bits = self.o.shape()["exponent"].width
        choices: list[tuple[Value, Fields]] = []
        if "mul" in self._times:
            exponent = Signal(signed(exponent_bits), name="product_exponent")
            m.d.comb += exponent.eq(a.exponent + b.exponent)
            invalid = (a.infinite & b.zero) | (a.zero & b.infinite)
            product = {
                "factors": Cat(a.significand, b.significand),
                "exponent": exponent,
                "sign": a.sign ^ b.sign,
                "zero": a.zero | b.zero,
                "infinite": a.infinite | b.infinite,
                "nan": a.nan | b.nan | invalid,
            }
            choices.append((self._any(operator, "mul"), product))
        if self._times & {"add", "min", "max", "square_difference"}:
            choices += self._sums(m, exponent_bits)
        if "and" in self._times:
            conjunction = {"zero": a.zero | b.zero}
            choices.append((self._any(operator, "and"), conjunction))
        return self._choose(m, choices)

    def _sums(self, m: Module, exponent_bits: int) -> list[tuple[Value, Fields]]:
        """What the adder and its comparator give."""
        element, operator = self._element, self.operator
        rounded_later = "add" in self._times
        precision = (self._result if rounded_later else element).significand_bits
        squares = "square_difference" in self._times
        m.submodules.adder = adder = SelectingAdder(
            element,
            precision=precision,
            adds=rounded_later or squares,
            selects=bool(self._times & {"min", "max"}),
        )
        self._sum_bits = len(adder.significand)
        m.d.comb += [
            adder.a.eq(self.a),
            adder.b.eq(self.b),
            adder.subtract.eq(self._any(operator, "square_difference")),
            adder.select.eq(self._any(operator, "min", "max")),
            adder.maximum.eq(self._any(operator, "max")),
        ]
        classes = {"zero": adder.zero, "infinite": adder.infinite, "nan": adder.nan}
        choices: list[tuple[Value, Fields]] = []
        if self._times & {"add", "min", "max"}:
            total = {"sum": adder.significand, "exponent": adder.exponent, "sign": adder.sign}
            choices.append((self._any(operator, "add", "min", "max"), total | classes))
        if squares:
            factor, exponent = self._round_difference(m, adder, exponent_bits)
            square = {"factors": Cat(factor, factor), "exponent": exponent, "sign": C(0, 1)}
            choices.append((self._any(operator, "square_difference"), square | classes))
        return choices

    def _round_difference(
        self, m: Module, adder: SelectingAdder, exponent_bits: int
    ) -> tuple[Value, Value]:
        """The difference, rounded to nearest even, and the exponent of its square."""
        bits = self._element.significand_bits
        value = adder.significand
        kept, half, low = value[-bits:], value[-bits - 1], value[: -bits - 1].any()
        increment = Signal(name="difference_increment")
        rounded = Signal(bits + 1, name="difference")
        exponent = Signal(signed(exponent_bits), name="square_exponent")
        m.d.comb += [
            increment.eq(half & (low | kept[0])),
            rounded.eq(kept + increment),
            # The adder's exponent is that of the leading one, less one.
            exponent.eq(Cat(C(0, 1), adder.exponent + 1 + rounded[-1])),
        ]
        # All ones round up to the next power of two, whose lower bits are zero already.
        return Cat(rounded[: bits - 1], rounded[bits - 1] | rounded[-1]), exponent

    def _choose(self, m: Module, choices: list[tuple[Value, Fields]]) -> Fields:
        """Each field from the choice that is selected; factors and sums share their bits."""
        merged: Fields = {}
        for _, fields in choices:
            for old in {"factors", "sum"} & set(fields):
                fields["held"] = fields.pop(old)
        for name in dict.fromkeys(name for _, fields in choices for name in fields):
            having = [(selected, fields[name]) for selected, fields in choices if name in fields]
            width = max(len(value) for _, value in having)
            shape = signed(width) if name == "exponent" else width
            field = Signal(shape, name=name)
            if len(having) == 1:
                m.d.comb += field.eq(having[0][1])
            else:
                terms: list[Value] = []
                for selected, value in having:
                    whole = Signal(shape, name=f"{name}_choice_{len(terms)}")
                    m.d.comb += whole.eq(value)
                    terms.append(whole & selected.replicate(width))
                combined = terms[0]
                for term in terms[1:]:
                    combined = combined | term
                m.d.comb += field.eq(combined)
            merged[name] = field
        return merged

    def _finish(self, m: Module, fields: Fields, operator: Value) -> None:
        """The multiplier, and the term in its common layout."""
        o, width = self.o, len(self.o.significand)
        for name in ("sign", "zero", "infinite", "nan"):
            m.d.comb += o[name].eq(fields.get(name, C(0, 1)))
        exponent = fields.get("exponent", C(0, 1))
        held = fields.get("held", C(0, width))
        # A sum may be wider than a term if it was only made to be squared.
        total = Cat(C(0, width), held[: self._sum_bits])[-width:]
        if not self._times & {"mul", "square_difference"}:
            m.d.comb += [o.significand.eq(total), o.exponent.eq(exponent)]
            return
        product = self._product(m, held)
        normalise = Signal()
        shifted = Signal(len(product), name="normalised_product")
        multiplies = self._any(operator, "mul", "square_difference")
        complete = self.accumulate if self._halves else C(1, 1)
        significand: Value = Cat(C(0, width - len(product)), shifted)
        if self._times & {"add", "min", "max"}:
            significand = Mux(multiplies, significand, total)
        m.d.comb += [
            normalise.eq(~product[-1] & multiplies & self._normalises(operator) & complete),
            shifted.eq(Mux(normalise, product << 1, product)),
            o.significand.eq(significand),
            o.exponent.eq(exponent - normalise),
        ]

    def _normalises(self, operator: Value) -> Value:
        """Products that are compared must be normalised; those that are added need not be."""
        plus = {row.plus for row in self._semirings if row.multiplies}
        if "add" not in plus:
            return C(1, 1)
        return ~operator["plus_add"] if plus - {"add"} else C(0, 1)

    def _product(self, m: Module, held: Value) -> Value:
        bits = self._element.significand_bits
        if not self._halves:
            m.submodules.multiplier = multiplier = Multiplier(bits)
            m.d.comb += [multiplier.a.eq(held[:bits]), multiplier.b.eq(held[bits : 2 * bits])]
            return multiplier.o
        return self._two_steps(m, held[:bits], held[bits : 2 * bits])

    def _two_steps(self, m: Module, a: Value, b: Value) -> Value:
        """High and low halves with each other first, then across."""
        half = self._element.significand_bits // 2
        product = Signal(4 * half, name="product")
        partial = {}
        for name, left, straight, crossed in (
            ("high", a[half:], b[half:], b[:half]),
            ("low", a[:half], b[:half], b[half:]),
        ):
            m.submodules[f"multiplier_{name}"] = multiplier = Multiplier(half)
            m.d.comb += [
                multiplier.a.eq(left),
                multiplier.b.eq(Mux(self.accumulate, crossed, straight)),
            ]
            partial[name] = multiplier.o
        upper = Signal(3 * half, name="upper")
        m.d.comb += [
            upper.eq(self.partial[half:] + partial["high"] + partial["low"]),
            product.eq(
                Mux(
                    self.accumulate,
                    Cat(self.partial[:half], upper),
                    Cat(partial["low"], partial["high"]),
                )
            ),
        ]
        return product
