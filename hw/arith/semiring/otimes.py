"""The (x) ALU of a semiring unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FloatFormat
from ...spec.semirings import Semiring
from ..multiplier import Multiplier, UnequalMultiplier
from ..unpack import format_layout
from .adder import SelectingAdder
from .factors import multiply_in_two_steps, round_difference, square_exponent
from .layouts import half_width, operator_layout, term_layout

__all__ = ["Otimes"]

Fields = dict[str, Value]
_SUMS = ("add", "min", "max", "square_difference")


class Otimes(wiring.Component):
    """Computes ``a (x) b``: product, sum, minimum, maximum, conjunction or squared difference.

    One multiplier serves products and squares, one adder sums and differences, and the adder's
    comparator minima and maxima; what no semiring needs is not there. A difference is rounded to
    the operands' precision before it is squared; its exponent has room enough never to overflow.

    The comparison is made one cycle before the operands come, while they are being loaded: which
    of them comes first, in a sum or a choice, is all the adder needs to know.

    With ``cuts``, there are stages of registers before the multiplier (an operation a cycle,
    latency as many cycles); without, the component is combinational and cannot square differences.
    Registers move only while ``advance`` is set.

    Source: SIMD2, the (x) ALU of its matrix unit.

    Parameters
    ----------
    element: format of a and b
    result: format in which sums will be rounded
    semirings: what is to be computed
    cuts: the register stages: ``aligned`` within the adder, ``prepared`` behind it, ``rounded``
        behind the rounding of a difference
    multiplier_bits: width of the multipliers: that of a significand, or half of it. With half,
        a product takes two steps: in the second one, marked by ``accumulate``, the operands
        stand still and ``partial`` is the first step's result, to which the cross products
        are added
    stalls: (cuts) whether there is ``advance``
    split: whether the products with both halves of a factor are left to be added

    Members
    -------
    a, b: the operands, see :func:`format_layout`
    operator: the decoded opcode of the operands, see :func:`operator_layout`
    next_a, next_b, next_operator: (sums, minima, maxima) the packed operands that are being
        loaded, and their decoded opcode
    load: (likewise) they come next
    aligned_operator, prepared_operator: (such a cut, and others behind it) the decoded opcode
        behind the cut
    o_operator: (cuts) that of the term
    advance: (cuts, stalls) enables the registers
    accumulate, partial: (half) see above; of the term
    o: the term, see :func:`term_layout`
    """

    def __init__(
        self,
        element: FloatFormat,
        result: FloatFormat,
        semirings: Collection[Semiring],
        *,
        cuts: Sequence[str] = (),
        multiplier_bits: int = 0,
        stalls: bool = True,
        split: bool = False,
    ) -> None:
        self._element = element
        self._result = result
        self._semirings = tuple(semirings)
        self._cuts = tuple(cuts)
        self._stalls = stalls
        self._split = split
        self._times = {row.times for row in semirings}
        self._halves = 0 < multiplier_bits < element.significand_bits
        if "square_difference" in self._times and "prepared" not in cuts:
            raise ValueError(f"`cuts` must have prepared for squared differences, not {cuts!r}")
        operator = operator_layout(semirings)
        term = term_layout(element, result, self._times, split=split)
        members = {
            "a": In(format_layout(element)),
            "b": In(format_layout(element)),
            "operator": In(operator),
            "o": Out(term),
        }
        if self.compares:
            members |= {"next_a": In(element.bits), "next_b": In(element.bits)}
            members |= {"next_operator": In(operator), "load": In(1)}
        members |= {f"{cut}_operator": In(operator) for cut in self._cuts[:-1]}
        if cuts:
            members["o_operator"] = In(operator)
            if stalls:
                members["advance"] = In(1)
        if self._halves:
            members |= {"accumulate": In(1), "partial": In(2 * element.significand_bits)}
        super().__init__(members)

    @property
    def element(self) -> FloatFormat:
        return self._element

    @property
    def semirings(self) -> tuple[Semiring, ...]:
        return self._semirings

    @property
    def compares(self) -> bool:
        """Returns whether operands are compared, which needs an adder."""
        return bool(self._times & set(_SUMS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = self._cut(m, "prepared", self._prepare(m))
        if "rounded" in self._cuts and self._times & {"mul", "square_difference"}:
            fields |= self._factors(m, fields["held"], self._operator("prepared"))
        self._finish(m, self._cut(m, "rounded", fields), self._operator("rounded"))
        return m

    def _cut(self, m: Module, cut: str, fields: Fields) -> Fields:
        """The fields behind a cut."""
        if cut not in self._cuts:
            return fields
        registers: Fields = {}
        for name, value in fields.items():
            register = Signal.like(value, name=f"{cut}_{name}", reset_less=True)
            with m.If(self.advance if self._stalls else C(1, 1)):
                m.d.sync += register.eq(value)
            registers[name] = register
        return registers

    def _operator(self, cut: str) -> Value:
        """The decoded opcode behind a cut, if there is that, or the last one before it."""
        order = ("aligned", "prepared", "rounded")
        before = [name for name in order[: order.index(cut) + 1] if name in self._cuts]
        if not before:
            return self.operator
        name = "o" if before[-1] == self._cuts[-1] else before[-1]
        operator: Value = getattr(self, f"{name}_operator")
        return operator

    def _any(self, operator: Value, *times: str) -> Value:
        """Returns whether the operator is one of these; constant if that is known at build time."""
        wanted = [name for name in times if name in self._times]
        if len(wanted) == len(self._times):
            return C(1, 1)
        return Cat(operator[f"times_{name}"] for name in wanted).any() if wanted else C(0, 1)

    def _chooses(self, operator: Value) -> Value:
        """Returns whether (+) chooses a term, which must then be normalised."""
        plus = {row.plus for row in self._semirings}
        if plus <= {"min", "max"}:
            return C(1, 1)
        # In a fixed order, which that of a set is not.
        return Cat(operator[f"plus_{name}"] for name in ("min", "max") if name in plus).any()

    def _prepare(self, m: Module) -> Fields:
        """Prepares the inputs of the multiplier: operands of a product, or a finished sum."""
        a, b, behind = self.a, self.b, self._operator("aligned")
        choices: list[tuple[Value, Fields]] = []
        bits, adder_bits = len(a.significand), 0
        if self.compares:
            total = self._sum(m)
            adder_bits = len(total["held"]) if self._adds else 0
            choices.append((self._any(behind, *_SUMS), total))
        if self._times & {"mul", "and"}:
            pair: Fields = {}
            if adder_bits < 2 * bits:  # else the factors pass through the adder
                pair["held"] = Cat(b.significand, a.significand)
            if "mul" in self._times:
                pair |= self._product_class(m)
            choices.append((self._any(behind, "mul", "and"), self._cut(m, "aligned", pair)))
        return _select_fields(m, choices)

    def _product_class(self, m: Module) -> Fields:
        """Exponent, sign and special values of a product."""
        a, b = self.a, self.b
        exponent = Signal.like(self.o.exponent, name="product_exponent")
        m.d.comb += exponent.eq(a.exponent + b.exponent)
        invalid = (a.infinite & b.zero) | (a.zero & b.infinite)
        return {
            "exponent": exponent,
            "sign": a.sign ^ b.sign,
            "infinite": a.infinite | b.infinite,
            # A conjunction treats a NaN as true.
            "nan": (a.nan | b.nan | invalid) & self._any(self.operator, "mul"),
        }

    @property
    def _adds(self) -> bool:
        return bool(self._times & {"add", "square_difference"})

    def _sum(self, m: Module) -> Fields:
        """Adds with the selecting adder; factors pass through it if it is wide enough."""
        element, operator = self._element, self.operator
        precise = self._result if "add" in self._times else element
        m.submodules.adder = adder = SelectingAdder(
            element,
            precision=precise.significand_bits,
            adds=self._adds,
            register="aligned" in self._cuts,
        )
        if "aligned" in self._cuts:
            m.d.comb += adder.advance.eq(self.advance if self._stalls else C(1, 1))
        m.d.comb += [
            adder.a.eq(self.a),
            adder.b.eq(self.b),
            adder.a_first.eq(self._order(m)),
        ]
        squares = self._any(operator, "square_difference")
        if self._adds:
            m.d.comb += [
                adder.subtract.eq(squares),
                adder.select.eq(self._any(operator, "min", "max")),
                adder.pair.eq(self._any(operator, "mul", "and")),
            ]
        return {
            "held": adder.significand,
            "exponent": adder.exponent,
            # A square has no sign.
            "sign": adder.sign & ~self._any(self._operator("aligned"), "square_difference"),
            "infinite": adder.infinite,
            "nan": adder.nan,
        }

    def _order(self, m: Module) -> Value:
        """Returns whether a comes first, from the comparison one cycle before."""
        a, b, operator = self.next_a, self.next_b, self.next_operator
        larger = Signal()
        a_is_maximum = Signal()
        a_first = Signal(reset_less=True)
        m.d.comb += [
            # Packed floats order like the values they stand for.
            larger.eq(a[:-1] > b[:-1]),
            # The larger magnitude is the larger number, unless it is negative.
            a_is_maximum.eq(Mux(a[-1] ^ b[-1], ~a[-1], larger ^ a[-1])),
        ]
        smallest = ~self._any(operator, "max")
        select = self._any(operator, "min", "max")
        with m.If(self.load):
            m.d.sync += a_first.eq(Mux(select, a_is_maximum ^ smallest, larger))
        return a_first

    def _finish(self, m: Module, fields: Fields, operator: Value) -> None:
        """The multiplier, and the term in its common layout."""
        o, width = self.o, len(self.o.significand)
        for name in ("sign", "infinite", "nan"):
            m.d.comb += o[name].eq(fields.get(name, C(0, 1)))
        held, exponent = fields["held"], fields.get("exponent", C(0, 1))
        pairs = self._any(operator, "mul", "and")
        squares = self._any(operator, "square_difference")
        chooses = self._chooses(operator)
        m.d.comb += o.zero.eq(~held[-1])
        if self._times & {"mul", "and"}:
            m.d.comb += o.zero.eq(~held[-1] | (pairs & ~self._lower(held)[-1]))
        # The held sum may be wider than a term if it is only to be squared.
        significand = Cat(C(0, width), held)[-width:]
        raised = chooses
        if self._times & {"mul", "square_difference"}:
            if "factor" not in fields:
                fields = fields | self._factors(m, held, operator)
            factor, other = fields["factor"], fields["other"]
            if self._split:
                half = half_width(self._element)
                m.d.comb += o.upper.eq(self._product_of(m, "upper", factor, other[half:]))
                lower = self._product_of(m, "lower", factor, other[:half])
                product: Value = Cat(lower, C(0, 2 * len(factor) - len(lower)))
            else:
                product = self._product(m, factor, other)
            if "square_difference" in self._times:
                exponent = square_exponent(m, exponent, squares, fields["carry"])
            finishes = chooses & self.accumulate if self._halves else chooses
            normalise = Signal()
            normalised = Signal(len(product), name="normalised_product")
            m.d.comb += [
                normalise.eq(~product[-1] & finishes),
                normalised.eq(Mux(normalise, product.shift_left(1)[:-1], product)),
            ]
            multiplied = Cat(C(0, width - len(product)), normalised)
            sums = self._any(operator, "add", "min", "max")
            # The product is zero if the operation is a sum.
            significand = (significand & sums.replicate(width)) | multiplied
            raised = chooses & (product[-1] | sums)
        m.d.comb += [
            o.significand.eq(significand),
            o.exponent.eq(exponent),
            o.raised.eq(raised),
        ]

    def _factors(self, m: Module, held: Value, operator: Value) -> Fields:
        """The factors of a product or a square, of which one is zero for other operators; and
        (squares) whether the root was rounded up to the next power of two."""
        squares, bits = self._any(operator, "square_difference"), self._element.significand_bits
        factor, found = held[-bits:], {}
        if "square_difference" in self._times:
            factor, found["carry"] = round_difference(m, held, squares, bits=bits)
        other = Signal(len(factor), name="other_factor")
        others: list[Value] = []
        if "mul" in self._times:
            multiplies = self._any(operator, "mul")
            others.append(self._lower(held) & multiplies.replicate(len(factor)))
        if "square_difference" in self._times:
            others.append(factor & squares.replicate(len(factor)))
        m.d.comb += other.eq(reduce(or_, others))
        return {**found, "factor": factor, "other": other}

    def _product(self, m: Module, factor: Value, other: Value) -> Value:
        if self._halves:
            return multiply_in_two_steps(
                m, factor, other, partial=self.partial, accumulate=self.accumulate
            )
        m.submodules.multiplier = multiplier = Multiplier(len(factor))
        m.d.comb += [multiplier.a.eq(factor), multiplier.b.eq(other)]
        product: Value = multiplier.o
        return product

    def _product_of(self, m: Module, name: str, factor: Value, half: Value) -> Value:
        """Multiplies a factor by a half of the other."""
        multiplier = UnequalMultiplier(len(factor), len(half))
        m.submodules[f"{name}_multiplier"] = multiplier
        m.d.comb += [multiplier.a.eq(factor), multiplier.b.eq(half)]
        product: Value = multiplier.o
        return product

    def _lower(self, held: Value) -> Value:
        """The second factor of a product, below the first."""
        bits = self._element.significand_bits
        return held[len(held) - 2 * bits : len(held) - bits]


def _select_fields(
    m: Module, choices: Collection[tuple[Value, Mapping[str, Value]]]
) -> dict[str, Value]:
    """Selects each field from the chosen alternative; ``held`` is aligned at the top.

    A field that only one of the choices has comes from there, selected or not.

    Parameters
    ----------
    choices: of each, whether it is selected, as at most one is, and its fields; the field
        ``exponent`` is signed
    """
    merged: dict[str, Value] = {}
    for name in dict.fromkeys(name for _, fields in choices for name in fields):
        having = [(selected, fields[name]) for selected, fields in choices if name in fields]
        width = max(len(value) for _, value in having)
        shape = signed(width) if name == "exponent" else width
        field = Signal(shape, name=name)
        parts: list[Value] = []
        for selected, value in having:
            part = Signal(shape, name=f"{name}_choice_{len(parts)}")
            below = width - len(value) if name == "held" else 0
            m.d.comb += part.eq(Cat(C(0, below), value) if below else value)
            parts.append(part & selected.replicate(width) if len(having) > 1 else part)
        m.d.comb += field.eq(reduce(or_, parts))
        merged[name] = field
    return merged
