"""The ALUs of a semiring unit for integers."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import IntFormat
from ...spec.semirings import Semiring
from ..fused.aligned_sum import compress
from ..pipeline import BEFORE_PRODUCTS, Bundle, Pipeline
from .layouts import operator_layout

__all__ = ["IntegerOplus", "IntegerOtimes", "UnpackInteger", "integer_layout"]


def integer_layout(fmt: IntFormat) -> data.StructLayout:
    """An integer operand, and whether it is one of the ends of its range, which stand for
    infinities in padding."""
    return data.StructLayout({"value": signed(fmt.bits), "highest": 1, "lowest": 1})


class UnpackInteger(wiring.Component):
    """Unpacks an integer, and marks the ends of its range.

    Combinational.

    Parameters
    ----------
    format: format of the operand

    Members
    -------
    i: the operand
    o: see :func:`integer_layout`
    """

    def __init__(self, format: IntFormat) -> None:
        self._format = format
        super().__init__({"i": In(format.bits), "o": Out(integer_layout(format))})

    @property
    def format(self) -> IntFormat:
        return self._format

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.o.value.eq(self.i),
            self.o.highest.eq(self.i == self._format.constant("+inf")),
            self.o.lowest.eq(self.i == self._format.constant("-inf")),
        ]
        return m


class IntegerOtimes(wiring.Component):
    """Computes ``a (x) b`` on integers, modulo ``2**result.bits``; sums saturate.

    Combinational. In a semiring of minima or maxima a pair of padding values gives the identity
    of (+), whatever (x) is, so that padding works where c is wider than a and b.

    Parameters
    ----------
    element: format of a and b
    result: format of the term
    semirings: what is to be computed

    Members
    -------
    a, b: the operands, see :func:`integer_layout`
    operator: the decoded opcode, see :func:`operator_layout`
    o: the term; of a conjunction only whether it is zero matters
    """

    def __init__(
        self, element: IntFormat, result: IntFormat, semirings: Collection[Semiring]
    ) -> None:
        self._element = element
        self._result = result
        self._semirings = tuple(semirings)
        self._times = {row.times for row in semirings}
        super().__init__(
            {
                "a": In(integer_layout(element)),
                "b": In(integer_layout(element)),
                "operator": In(operator_layout(semirings)),
                "o": Out(signed(result.bits)),
            }
        )

    @property
    def element(self) -> IntFormat:
        return self._element

    @property
    def semirings(self) -> tuple[Semiring, ...]:
        return self._semirings

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, bits = self.a.value, self.b.value, self._result.bits
        choices: dict[str, Value] = {}
        if self._times & {"mul", "square_difference"}:
            choices |= self._product(m, a, b)
        if "add" in self._times:
            choices["add"] = self._sum(m, a, b)
        if self._times & {"min", "max"}:
            less = Signal()
            m.d.comb += less.eq(a < b)
            choices |= {"min": Mux(less, a, b), "max": Mux(less, b, a)}
        if "and" in self._times:
            choices["and"] = a.any() & b.any()
        terms = []
        for name in sorted(self._times):
            term = Signal(signed(bits), name=f"term_{name}")
            m.d.comb += term.eq(choices[name])
            chosen = self.operator[f"times_{name}"] if len(self._times) > 1 else C(1, 1)
            terms.append(term & chosen.replicate(bits))
        term = Signal(signed(bits), name="term")
        m.d.comb += [term.eq(reduce(or_, terms)), self.o.eq(term)]
        self._pad(m)
        return m

    def _product(self, m: Module, a: Value, b: Value) -> dict[str, Value]:
        """One multiplier for products and squares."""
        x, y = a, b
        if "square_difference" in self._times:
            difference = Signal(signed(min(self._element.bits + 1, self._result.bits)))
            m.d.comb += difference.eq(a - b)
            x = y = difference
            if "mul" in self._times:
                squares = self.operator["times_square_difference"]
                x, y = Mux(squares, difference, a), Mux(squares, difference, b)
        factor_a = Signal(signed(len(x)))
        factor_b = Signal(signed(len(y)))
        product = Signal(signed(self._result.bits))
        m.d.comb += [factor_a.eq(x), factor_b.eq(y), product.eq(factor_a * factor_b)]
        return {"mul": product, "square_difference": product}

    def _sum(self, m: Module, a: Value, b: Value) -> Value:
        total = Signal(signed(self._element.bits + 1), name="total")
        m.d.comb += total.eq(a + b)
        if self._result.bits > self._element.bits:
            return total
        saturated = Signal(signed(self._result.bits))
        end = Cat((~total[-1]).replicate(self._result.bits - 1), total[-1])
        m.d.comb += saturated.eq(Mux(total[-1] ^ total[-2], end, total))
        return saturated

    def _pad(self, m: Module) -> None:
        """Padding values meet padding values only: any semiring's pair decides."""
        for row in self._semirings:
            if row.plus not in ("min", "max"):
                continue
            ends = {"+inf": "highest", "-inf": "lowest"}
            pair = self.a[ends[row.padding[0]]] & self.b[ends[row.padding[1]]]
            operator = self.operator
            here = operator[f"plus_{row.plus}"] & operator[f"times_{row.times}"]
            with m.If(pair & here):
                m.d.comb += self.o.eq(C(row.identity_in(self._result), self._result.bits))


class IntegerOplus(wiring.Component):
    """Computes ``o = c (+) (+)_k t[k]`` on integers: sum modulo ``2**bits``, minimum,
    maximum or disjunction (0 or 1).

    Latency ``pipeline`` cycles; an operation a cycle. Registers move only while ``advance`` is
    set, or always.

    Parameters
    ----------
    result: format of the terms, of c and of the result
    semirings: what is to be computed
    terms: number of terms
    pipeline: register stages, see :data:`~tilewright.hw.arith.pipeline.CUTS`
    stalls: whether there is ``advance``

    Members
    -------
    terms, c: what is to be joined
    operator: the decoded opcode of the terms, see :func:`operator_layout`
    advance: (stalls) enables all registers
    o: the result
    """

    def __init__(
        self,
        result: IntFormat,
        semirings: Collection[Semiring],
        *,
        terms: int,
        pipeline: int,
        stalls: bool = True,
    ) -> None:
        self._result = result
        self._terms = terms
        self._pipeline, self._stalls = pipeline, stalls
        self._plus = {row.plus for row in semirings}
        members = {
            "terms": In(data.ArrayLayout(signed(result.bits), terms)),
            "c": In(signed(result.bits)),
            "operator": In(operator_layout(semirings)),
            "o": Out(result.bits),
        }
        super().__init__({**members, "advance": In(1)} if stalls else members)

    @property
    def plus(self) -> set[str]:
        return self._plus

    @property
    def pipeline(self) -> int:
        return self._pipeline

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pipeline = Pipeline(m, self._pipeline, self.advance if self._stalls else C(1, 1))
        gathered: dict[str, Value] = {f"term_{i}": self.terms[i] for i in range(self._terms)}
        gathered["c"] = self.c
        if len(self._plus) > 1:
            gathered |= {name: self.operator[f"plus_{name}"] for name in sorted(self._plus)}
        bundle: Bundle = gathered
        for cut in (*BEFORE_PRODUCTS, "multiplied", "products", "distances"):
            bundle = pipeline.cut(cut, bundle)
        bundle = pipeline.cut("carry_save", self._combine(m, bundle))
        bundle = pipeline.cut("total", {"total": self._total(m, bundle)})
        bundle = pipeline.cut("result", pipeline.cut("shifted", bundle))
        m.d.comb += self.o.eq(bundle["total"])
        return m

    def _combine(self, m: Module, bundle: Bundle) -> Bundle:
        """The carry-save sum, the choice, the truth value."""
        values = [bundle["c"], *(bundle[f"term_{i}"] for i in range(self._terms))]
        result = {name: bundle[name] for name in ("add", "min", "max", "or") if name in bundle}
        if "add" in self._plus:
            width = self._result.bits
            unsigned = [value.as_unsigned() for value in values]
            first, second, _ = compress(m, unsigned, (), width=width, name="terms")
            result |= {"first": first, "second": second}
        if self._plus & {"min", "max"}:
            greatest = bundle.get("max", C(int("max" in self._plus), 1))
            result["choice"] = self._choose(m, values, greatest)
        if "or" in self._plus:
            truth = Signal()
            m.d.comb += truth.eq(Cat(*values).any())
            result["truth"] = truth
        return result

    def _choose(self, m: Module, values: list[Value], greatest: Value) -> Value:
        level, depth = values, 0
        while len(level) > 1:
            following: list[Value] = []
            for i in range(0, len(level) - 1, 2):
                better = Signal(signed(self._result.bits), name=f"better_{depth}_{i // 2}")
                a, b = level[i], level[i + 1]
                m.d.comb += better.eq(Mux((a < b) ^ greatest, a, b))
                following.append(better)
            level, depth = following + level[len(level) - len(level) % 2 :], depth + 1
        return level[0]

    def _total(self, m: Module, bundle: Bundle) -> Value:
        bits = self._result.bits
        always = C(1, 1)
        values: list[Value] = []
        if "add" in self._plus:
            total = Signal(bits, name="sum")
            m.d.comb += total.eq(bundle["first"] + bundle["second"])
            values.append(total & bundle.get("add", always).replicate(bits))
        if self._plus & {"min", "max"}:
            selects = bundle.get("min", C(0, 1)) | bundle.get("max", C(0, 1))
            kept = selects if len(self._plus) > 1 else always
            values.append(bundle["choice"].as_unsigned() & kept.replicate(bits))
        if "or" in self._plus:
            values.append(bundle["truth"] & bundle.get("or", always))
        combined = Signal(bits, name="combined")
        m.d.comb += combined.eq(reduce(or_, values))
        return combined
