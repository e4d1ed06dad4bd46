"""The (+) ALU of a semiring unit."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FloatFormat
from ...spec.semirings import Semiring
from ..fused.aligned_sum import head_bits
from ..fused.sum_stages import (
    add_rows,
    align_terms,
    anchored,
    carry_save_rows,
    largest_exponent,
    measure_distances,
    named,
    normalise,
    pair_maxima,
    round_pack,
)
from ..pipeline import BEFORE_PRODUCTS, CUTS, Bundle, Pipeline
from ..round import special_layout
from ..unpack import format_layout
from .adder import Extremum, candidate_layout
from .factors import whole_products
from .layouts import operator_layout, term_layout


def _any(values: Collection[Value]) -> Value:
    """Joins values of which at most one is not zero; zero if there are none."""
    return reduce(or_, values) if values else C(0, 1)


class Oplus(wiring.Component):
    """Computes ``o = c (+) (+)_k t[k]``, rounded once: sum, minimum, maximum or
    disjunction.

    A sum is the fused sum of the terms' upper ``2 * significand_bits`` bits, which hold products
    exactly. Minima and maxima are chosen among unrounded terms, which is as good as among rounded
    ones, and join the sums before the normaliser, so that one rounder serves all. What no
    semiring needs is not there.

    Latency ``pipeline`` cycles; an operation a cycle. Registers move only while ``advance`` is
    set, or always.

    Source: SIMD2, the (+) ALU of its matrix unit.

    Parameters
    ----------
    element: format of the operands that the terms were made of
    result: format of c and of the result
    semirings: what is to be computed
    terms: number of terms
    alignment_bits: accumulation window of a sum, in bits
    pipeline: register stages, see :data:`~tilewright.hw.arith.pipeline.CUTS`
    two_steps: products take two steps
    stalls: whether there is ``advance``
    split: whether products come as two, see :func:`term_layout`; needs cut ``multiplied``

    Members
    -------
    terms: see :func:`term_layout`
    c: the unpacked addend
    operator: the decoded opcode of the terms, see :func:`operator_layout`
    advance: (stalls) enables all registers
    o: the result
    partial: (two_steps) the products of the cycle before
    """

    def __init__(
        self,
        element: FloatFormat,
        result: FloatFormat,
        semirings: Collection[Semiring],
        *,
        terms: int,
        alignment_bits: int,
        pipeline: int,
        two_steps: bool = False,
        stalls: bool = True,
        split: bool = False,
    ) -> None:
        self._element = element
        self._result = result
        self._terms = terms
        self._alignment_bits = alignment_bits
        self._pipeline = pipeline
        self._plus = {row.plus for row in semirings}
        self._sums = "add" in self._plus
        self._selects = bool(self._plus & {"min", "max"})
        self._term = term_layout(element, result, {row.times for row in semirings}, split=split)
        self._addend = format_layout(result)
        self._product_bits = 2 * element.significand_bits
        self._two_steps, self._stalls = two_steps, stalls
        self._exponent_bits = max(self._term["exponent"].width, self._addend["exponent"].width)
        self._choice = candidate_layout(
            max(self._term["significand"].width, result.significand_bits), self._exponent_bits
        )
        self._candidate = candidate_layout(
            self._term["significand"].width, self._term["exponent"].width
        )
        members = {
            "terms": In(data.ArrayLayout(self._term, terms)),
            "c": In(self._addend),
            "operator": In(operator_layout(semirings)),
            "o": Out(result.bits),
        }
        if stalls:
            members["advance"] = In(1)
        if two_steps:
            members["partial"] = Out(data.ArrayLayout(self._product_bits, terms))
        super().__init__(members)

    @property
    def plus(self) -> set[str]:
        return self._plus

    @property
    def pipeline(self) -> int:
        return self._pipeline

    @property
    def window_bits(self) -> int:
        """Bits of a total at and below the place of a choice's top bit."""
        if self._sums:
            return self._alignment_bits + 1
        return self._choice["significand"].width if self._selects else 1

    @property
    def total_bits(self) -> int:
        """Width of the signed total."""
        return self.window_bits + self._head_bits

    @property
    def _head_bits(self) -> int:
        """Bits of a total above the binary point of a choice, its sign bit included."""
        return head_bits(self._terms) if self._sums else 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pipeline = Pipeline(m, self._pipeline, self.advance if self._stalls else C(1, 1))
        if self._plus == {"or"}:
            return self._disjunction(m, pipeline)
        gathered = self._raise(m, whole_products(m, self._gather(m, pipeline), self._element))
        # With a stage for distances there is time to choose among the terms before them.
        early = self._selects and pipeline.has("distances")
        bundle = anchored(m, self._pairs(m, gathered) if early else gathered)
        bundle = pipeline.cut("products", bundle)
        if self._two_steps:
            held = gathered if pipeline.has("multiplied") else bundle
            if not pipeline.has("products"):
                held = self._partials(pipeline, gathered)
            for i in range(self._terms):
                m.d.comb += self.partial[i].eq(self._upper(held[f"significand_{i}"]))
        bundle = self._distances(m, self._chosen_term(m, bundle) if early else bundle)
        bundle = pipeline.cut("distances", bundle)
        bundle = pipeline.cut("carry_save", self._combine(m, bundle))
        bundle = pipeline.cut("total", self._total(m, bundle))
        bundle = normalise(m, bundle, self._result, pipeline)
        rounded = round_pack(m, bundle, self._result)
        m.d.comb += self.o.eq(pipeline.cut("result", {"o": rounded})["o"])
        return m

    def _disjunction(self, m: Module, pipeline: Pipeline) -> Module:
        """Computes the disjunction of the terms, without rounding, if the unit has no other
        operation."""
        truth: Value = Cat(~self.c.zero, *(~term.zero for term in self.terms)).any()
        for cut in CUTS[self._pipeline]:
            if cut not in BEFORE_PRODUCTS:
                truth = pipeline.cut(cut, {"truth": truth})["truth"]
        m.d.comb += self.o.eq(Mux(truth, self._result.one, 0))
        return m

    def _partials(self, pipeline: Pipeline, bundle: Bundle) -> Bundle:
        """Registers of the products' own, in a pipeline that has none there."""
        names = [f"significand_{i}" for i in range(self._terms)]
        return {name: pipeline.register(f"partial_{name}", bundle[name]) for name in names}

    def _upper(self, significand: Value) -> Value:
        """The bits that hold a product, zeros below a narrower term."""
        return Cat(C(0, self._product_bits), significand)[-self._product_bits :]

    def _is(self, plus: str) -> Value:
        """Returns whether the terms' operation is this one; constant if the unit has no other."""
        if plus not in self._plus:
            return C(0, 1)
        return C(1, 1) if self._plus == {plus} else self.operator[f"plus_{plus}"]

    def _gather(self, m: Module, pipeline: Pipeline) -> Bundle:
        """Collects the terms and the decision of their classes, behind a register stage if there
        is one right behind the terms, which has time for the larger ones of pairs of exponents."""
        n, c = self._terms, self.c
        flags = {
            name: named(m, name, Cat(self.terms[i][name] for i in range(n)))
            for name in ("sign", "zero", "infinite", "nan")
        }
        bundle: dict[str, Value] = {"special": self._specials(m, flags)}
        if "or" in self._plus:
            truth = (~flags["zero"]).any() | ~c.zero
            bundle["truth"] = named(m, "truth", truth & self._is("or"))
        if self._sums or self._selects:
            bundle |= {"sign": flags["sign"], "addend": c.significand}
            bundle |= {"addend_exponent": c.exponent, "flip": c.sign}
            fields = [n for n in ("significand", "exponent", "upper") if n in self._term.members]
            for i in range(n):
                bundle |= {f"{name}_{i}": self.terms[i][name] for name in fields}
            if self._selects:
                bundle["raised"] = named(m, "raised", Cat(term.raised for term in self.terms))
        if self._sums:
            exponents = [*(self.terms[i].exponent for i in range(n)), c.exponent]
            zero = Cat(flags["zero"], c.zero)
            if pipeline.has("multiplied"):
                bundle |= pair_maxima(m, exponents, zero)
            else:
                bundle["anchor"] = largest_exponent(m, exponents, zero)
        if self._selects:
            bundle |= {"infinite": flags["infinite"], "addend_infinite": c.infinite}
            bundle["greatest"] = named(m, "greatest", self._is("max"))
        if len(self._plus) > 1:
            # The total is a sum, or a choice; otherwise it is a truth value.
            if self._sums:
                bundle["adds"] = named(m, "adds", self._is("add"))
            if self._selects:
                selects = self._is("min") | self._is("max")
                bundle["selects"] = named(m, "selects", selects)
        return pipeline.cut("multiplied", bundle)

    def _raise(self, m: Module, bundle: Bundle) -> Bundle:
        """Raises the exponents of terms that may be chosen, which are of one place more."""
        if "raised" not in bundle:
            return bundle
        result = {name: value for name, value in bundle.items() if name != "raised"}
        for i in range(self._terms):
            exponent = Signal.like(bundle[f"exponent_{i}"], name=f"exponent_{i}")
            m.d.comb += exponent.eq(bundle[f"exponent_{i}"] + bundle["raised"][i])
            result[f"exponent_{i}"] = exponent
        return result

    def _specials(self, m: Module, flags: dict[str, Value]) -> Value:
        """NaN among the operands of a sum, minimum or maximum; infinities and zeros of a sum."""
        special = Signal(special_layout(), name="special_cases")
        c = self.c
        nan = flags["nan"].any() | c.nan
        positive = Signal()
        negative = Signal()
        if self._sums:
            adds = self._is("add")
            m.d.comb += [
                positive.eq((flags["infinite"] & ~flags["sign"]).any() | (c.infinite & ~c.sign)),
                negative.eq((flags["infinite"] & flags["sign"]).any() | (c.infinite & c.sign)),
                special.nan.eq((nan & ~self._is("or")) | (positive & negative & adds)),
                special.infinite.eq((positive | negative) & adds),
                special.negative.eq(negative),
                special.negative_zero.eq(
                    (flags["zero"] & flags["sign"]).all() & c.zero & c.sign & adds
                ),
            ]
        else:
            m.d.comb += special.nan.eq(nan & ~self._is("or"))
        return special.as_value()

    def _distances(self, m: Module, bundle: Bundle) -> Bundle:
        """Measures the distance of each term of a sum below the largest."""
        later = self._selects and "candidate_0" not in bundle
        result = {
            name: value
            for name, value in bundle.items()
            if not name.startswith("exponent_") or later
        }
        if not self._selects:
            result.pop("addend_exponent", None)
        if self._sums:
            result |= measure_distances(m, bundle, products=self._terms)
        return result

    def _combine(self, m: Module, bundle: Bundle) -> Bundle:
        """Computes the two rows of a carry-save sum. A choice or a truth value replaces the second
        row, so that they share its register and need no multiplexer after the adder."""
        adds, selects = (bundle.get(name, C(1, 1)) for name in ("adds", "selects"))
        second: list[Value] = []
        flips: list[Value] = []
        anchors: list[Value] = []
        result: dict[str, Value] = {"special": bundle["special"]}
        if self._sums:
            total = self._sum(m, bundle)
            second.append(self._if(adds, total["second"]))
            flips.append(self._if(adds, bundle["flip"]))
            anchors.append(self._if(adds, bundle["anchor"]))
            for name in ("first", "carry", "lost_positive", "lost_negative"):
                result[name] = named(m, f"sum_{name}", self._if(adds, total[name]))
        if self._selects:
            choice = self._choose(m, bundle)
            below = self.window_bits - len(choice.significand)
            second.append(Cat(C(0, below), self._if(selects, choice.significand)))
            flips.append(self._if(selects, choice.sign))
            anchors.append(self._if(selects, choice.exponent))
            result["special"] = self._special_choice(m, bundle["special"], choice, selects)
        if "or" in self._plus:
            # True is 1: the top bit, with an exponent of 0.
            second.append(Cat(C(0, self.window_bits - 1), bundle["truth"]))
        row = Signal(self.total_bits, name="row")
        anchor = Signal(signed(self._exponent_bits))
        m.d.comb += [row.eq(_any(second)), anchor.eq(_any(anchors))]
        flip = named(m, "flip", _any(flips))
        return result | {"second": row, "anchor": anchor, "flip": flip}

    def _candidates(self, m: Module, bundle: Bundle) -> list[Value]:
        """The terms that may be chosen, or those that are left of them."""
        left = [value for name, value in bundle.items() if name.startswith("candidate_")]
        if left:
            return left
        found = []
        for i in range(self._terms):
            term = Signal(self._candidate, name=f"term_{i}")
            m.d.comb += [
                term.significand.eq(bundle[f"significand_{i}"]),
                term.exponent.eq(bundle[f"exponent_{i}"]),
                term.infinite.eq(bundle["infinite"][i]),
                term.sign.eq(bundle["sign"][i]),
            ]
            found.append(term.as_value())
        return found

    def _pairs(self, m: Module, bundle: Bundle) -> Bundle:
        """The better ones of pairs of terms."""
        terms = self._candidates(m, bundle)
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        better = [self._best(m, f"pair_{n}", pair, bundle) for n, pair in enumerate(pairs)]
        rest = {name: value for name, value in bundle.items() if name != "infinite"}
        return {**rest, **{f"candidate_{n}": value for n, value in enumerate(better)}}

    def _chosen_term(self, m: Module, bundle: Bundle) -> Bundle:
        """The best one of the terms."""
        rest = {n: value for n, value in bundle.items() if not n.startswith("candidate_")}
        return {**rest, "candidate_0": self._best(m, "best", self._candidates(m, bundle), bundle)}

    def _best(self, m: Module, name: str, terms: list[Value], bundle: Bundle) -> Value:
        """The least or greatest of terms."""
        if len(terms) == 1:
            return terms[0]
        m.submodules[name] = extremum = Extremum(len(terms) - 1, self._candidate, self._candidate)
        m.d.comb += [
            Cat(*extremum.terms, extremum.last).eq(Cat(terms)),
            extremum.maximum.eq(bundle["greatest"]),
        ]
        return Value.cast(extremum.o)

    def _choose(self, m: Module, bundle: Bundle) -> data.View:
        """The least or greatest of the terms and the addend."""
        terms = self._candidates(m, bundle)
        m.submodules.extremum = extremum = Extremum(len(terms), self._candidate, self._choice)
        m.d.comb += extremum.terms.as_value().eq(Cat(terms))
        below = len(extremum.last.significand) - len(bundle["addend"])
        m.d.comb += [
            extremum.last.significand.eq(Cat(C(0, below), bundle["addend"])),
            extremum.last.exponent.eq(bundle["addend_exponent"]),
            extremum.last.infinite.eq(bundle["addend_infinite"]),
            extremum.last.sign.eq(bundle["flip"]),
            extremum.maximum.eq(bundle["greatest"]),
        ]
        return extremum.o

    def _special_choice(
        self, m: Module, special: Value, choice: data.View, selects: Value
    ) -> Value:
        """The special cases, with an infinity or a zero that was chosen."""
        before = data.View(special_layout(), special)
        after = Signal(special_layout(), name="choice_special")
        m.d.comb += [
            after.nan.eq(before.nan),
            after.infinite.eq(before.infinite | (choice.infinite & selects)),
            after.negative.eq(Mux(selects, choice.sign, before.negative)),
            after.negative_zero.eq(Mux(selects, choice.sign, before.negative_zero)),
        ]
        return after.as_value()

    def _if(self, condition: Value, value: Value) -> Value:
        """The value, or zero; as it is if the condition is constant."""
        return value if isinstance(condition, Const) else value & condition.replicate(len(value))

    def _sum(self, m: Module, bundle: Bundle) -> Bundle:
        """Alignment and carry-save addition of all terms."""
        products = [self._upper(bundle[f"significand_{i}"]) for i in range(self._terms)]
        aligned = align_terms(m, bundle, products=products, alignment_bits=self._alignment_bits)
        for i in range(self._terms):
            m.d.comb += aligned.negative[i].eq(bundle["sign"][i] ^ bundle["flip"])
        return carry_save_rows(aligned)

    def _total(self, m: Module, bundle: Bundle) -> Bundle:
        """The signed total; of a sum by carry-propagate addition."""
        names = ("special", "flip", "lost_positive", "lost_negative")
        rest = {name: bundle[name] for name in names if name in bundle}
        return rest | add_rows(m, bundle, self._result, head_bits=self._head_bits)
