"""The dot product unit: narrow multipliers, exact accumulation over steps, one rounding."""

from __future__ import annotations

from typing import TypedDict

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.fused.aligned_sum import SpecialCases, compress, head_bits
from ..arith.fused.sum_stages import (
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
from ..arith.multiplier import Multiplier
from ..arith.pipeline import Bundle, Pipeline
from ..arith.unpack import format_layout
from ..spec.formats import FLOAT_FORMATS

__all__ = ["DotProductParameters", "DotProductUnit"]

_FP32 = FLOAT_FORMATS["fp32"]


class DotProductParameters(TypedDict):
    """Parameters that all dot product units of a grid share; see :class:`DotProductUnit`."""

    entry: data.StructLayout
    products: int
    alignment_bits: int
    pipeline: int
    multi_step: bool
    complex: bool


class DotProductUnit(wiring.Component):
    """Computes ``d = c + sum(a[k] * b[k])`` over one step, or over the two steps of an fp32
    product.

    The products of a step are exact. In the second step of an fp32 operation, marked by
    ``accumulate``, each pair of products joins the pair of the step before: high*high and
    low*low stand side by side in 48 bits, and the two cross products are added with weight
    ``2**12``, which completes the exact 48-bit product of two 24-bit significands. Only then is
    anything aligned, summed and rounded, once an operation. The two halves of a 48-bit product
    go through the same aligners as two narrow products, the lower one with an exponent that is
    24 less; as bits do not overlap, truncating them apart is truncating them together.

    Latency ``pipeline`` cycles; a step every cycle. Registers move only while ``advance`` is
    set.

    Source: M3XU, microarchitecture: the extension to arithmetic logics.

    Parameters
    ----------
    entry: layout of an operand entry
    products: number of multipliers
    alignment_bits: accumulation window, in bits
    pipeline: register stages, see :data:`~tilewright.hw.arith.pipeline.CUTS`
    multi_step: whether there are operations of two steps
    complex: whether results have an imaginary part, in the upper 32 bits of ``d``

    Members
    -------
    a, b: operand entries
    c: the unpacked addend; counts in the last step of a sum
    advance: enables all registers
    d: the result; after an imaginary part, both parts
    accumulate: (multi_step) the operands are those of a second step; with a cut ``multiplied`` the
        operands of the cycle before
    imaginary: (complex) the sum at the result register is an imaginary part
    """

    def __init__(
        self,
        *,
        entry: data.StructLayout,
        products: int,
        alignment_bits: int,
        pipeline: int,
        multi_step: bool = False,
        complex: bool = False,
    ) -> None:
        self._entry = entry
        self._products = products
        self._alignment_bits = alignment_bits
        self._pipeline = pipeline
        self._multi_step = multi_step
        self._complex = complex
        self._addend = format_layout(_FP32)
        self._significand_bits = entry["significand"].width
        self._exponent_bits = max(entry["exponent"].width + 1, self._addend["exponent"].width)
        members = {
            "a": In(data.ArrayLayout(entry, products)),
            "b": In(data.ArrayLayout(entry, products)),
            "c": In(self._addend),
            "advance": In(1),
            "d": Out(64 if complex else 32),
        }
        if multi_step:
            members["accumulate"] = In(1)
        if complex:
            members["imaginary"] = In(1)
        super().__init__(members)

    @property
    def products(self) -> int:
        return self._products

    @property
    def alignment_bits(self) -> int:
        return self._alignment_bits

    @property
    def pipeline(self) -> int:
        return self._pipeline

    @property
    def multi_step(self) -> bool:
        return self._multi_step

    @property
    def complex(self) -> bool:
        return self._complex

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pipeline = Pipeline(m, self._pipeline, self.advance)
        bundle = anchored(m, self._multiply(m, pipeline))
        if self._multi_step:
            bundle = self._accumulate(m, bundle, pipeline)
        else:
            bundle = pipeline.cut("products", bundle)
        bundle = pipeline.cut("distances", self._distances(m, bundle))
        bundle = pipeline.cut("carry_save", self._align(m, bundle))
        bundle = pipeline.cut("total", self._add(m, bundle))
        bundle = normalise(m, bundle, _FP32, pipeline)
        self._result(m, bundle)
        return m

    def _multiply(self, m: Module, pipeline: Pipeline) -> Bundle:
        """Products, their exponents and signs, and the special cases. Before a register stage
        right behind the multipliers there is time for the larger ones of pairs of exponents."""
        bundle: dict[str, Value] = {}
        m.submodules.specials = specials = SpecialCases(self._products, self._entry, self._addend)
        m.d.comb += specials.addend.eq(self.c)
        zero = []
        for i in range(self._products):
            a, b = self.a[i], self.b[i]
            m.submodules[f"multiplier_{i}"] = multiplier = Multiplier(self._significand_bits)
            exponent = Signal(signed(self._exponent_bits), name=f"exponent_{i}")
            m.d.comb += [
                multiplier.a.eq(a.significand),
                multiplier.b.eq(b.significand),
                exponent.eq(a.exponent + b.exponent),
                specials.a[i].eq(a),
                specials.b[i].eq(b),
            ]
            bundle[f"product_{i}"] = multiplier.o
            bundle[f"exponent_{i}"] = exponent
            zero.append(a.zero | b.zero)
        # Signs relative to the addend's, which makes the addend positive.
        signs = Cat(*(a.sign ^ b.sign ^ self.c.sign for a, b in zip(self.a, self.b, strict=True)))
        bundle |= {
            "negative": named(m, "negative", signs),
            "addend": self.c.significand,
            "addend_exponent": self.c.exponent,
            "flip": self.c.sign,
            "special": specials.o.as_value(),
        }
        exponents = [bundle[f"exponent_{i}"] for i in range(self._products)]
        exponents.append(bundle["addend_exponent"])
        absent = named(m, "zero", Cat(*zero, self.c.zero))
        if pipeline.has("multiplied"):
            return pipeline.cut("multiplied", bundle | pair_maxima(m, exponents, absent))
        return bundle | {"anchor": largest_exponent(m, exponents, absent)}

    def _accumulate(self, m: Module, bundle: Bundle, pipeline: Pipeline) -> Bundle:
        """Complete the products of a two-step operation.

        The register of the products is what the second step adds to. (Without a register stage
        there, it stands aside.)
        """
        p = self._significand_bits
        complete = dict(bundle)
        before = {
            f"product_{i}": Signal(2 * p, name=f"products_product_{i}", reset_less=True)
            for i in range(self._products)
        }
        for k in range(0, self._products - 1, 2):
            high, low = f"product_{k}", f"product_{k + 1}"
            pair = Cat(before[low], before[high])
            middle = 3 * p
            rows = (pair[p:], bundle[high], bundle[low])
            rows = tuple(Cat(row, C(0, middle - len(row))) for row in rows)
            first, second, _ = compress(m, rows, (), width=middle, name=f"cross_{k}")
            joined = Signal(4 * p, name=f"joined_{k}")
            narrow = Cat(bundle[low], bundle[high])
            m.d.comb += joined.eq(
                Mux(self.accumulate, Cat(pair[:p], (first + second)[:middle]), narrow)
            )
            complete[low], complete[high] = joined[: 2 * p], joined[2 * p :]
        with m.If(self.advance):
            for name, register in before.items():
                m.d.sync += register.eq(complete[name])
        if not pipeline.has("products"):
            return complete
        rest = {name: value for name, value in bundle.items() if name not in before}
        return pipeline.cut("products", rest) | before

    def _distances(self, m: Module, bundle: Bundle) -> Bundle:
        """Measures the distance of each term below the largest."""
        rest = {name: value for name, value in bundle.items() if "exponent" not in name}
        return rest | measure_distances(m, bundle, products=self._products)

    def _align(self, m: Module, bundle: Bundle) -> Bundle:
        """Alignment and carry-save addition of all terms."""
        products = [bundle[f"product_{i}"] for i in range(self._products)]
        aligned = align_terms(m, bundle, products=products, alignment_bits=self._alignment_bits)
        m.d.comb += aligned.negative.eq(bundle["negative"])
        rest = {name: bundle[name] for name in ("anchor", "flip", "special")}
        return carry_save_rows(aligned) | rest

    def _add(self, m: Module, bundle: Bundle) -> Bundle:
        """The carry-propagate addition."""
        total = add_rows(m, bundle, _FP32, head_bits=head_bits(self._products))
        names = ("lost_positive", "lost_negative", "flip", "special")
        return total | {name: bundle[name] for name in names}

    def _result(self, m: Module, bundle: Bundle) -> None:
        """Rounding, and the result register: a real part waits there for its imaginary part."""
        rounded = round_pack(m, bundle, _FP32)
        low = Signal(32, reset_less=True)
        if not self._complex:
            with m.If(self.advance):
                m.d.sync += low.eq(rounded)
            m.d.comb += self.d.eq(low)
            return
        high = Signal(32, reset_less=True)
        with m.If(self.advance):
            m.d.sync += high.eq(Mux(self.imaginary, rounded, C(0, 32)))
            with m.If(~self.imaginary):
                m.d.sync += low.eq(rounded)
        m.d.comb += self.d.eq(Cat(low, high))
