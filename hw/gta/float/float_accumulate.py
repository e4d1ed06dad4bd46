"""A running sum and an exact product, rounded once together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...arith.fused.aligned_sum import SpecialCases, head_bits
from ...arith.multiply_add import add_pair, align_pair, anchor_terms
from ...arith.pipeline import Bundle, Pipeline
from ...arith.round import limit_offset, normalise_and_round
from ...arith.unpack import unpacked_layout
from ...spec.formats import FLOAT_FORMATS, FloatFormat
from .headers import operand_header, product_header, sum_format, widened_exponent, widest


class FloatOperand(wiring.Component):
    """Splits a packed float of any format into its header and its significand.

    Combinational. The significand's hidden bit, clear in subnormal numbers, stands in the top bit
    for every format, zeros below the last bit: products of such significands have their binary
    point at one place. The exponent is biased as in the widest format.

    Parameters
    ----------
    formats: that the word may have

    Members
    -------
    word: the float, in the low bits
    format: its number among ``formats`` (one format: of no meaning)
    header: see ``operand_header``
    significand: with the hidden bit
    """

    def __init__(self, formats: Sequence[FloatFormat]) -> None:
        self._formats = tuple(formats)
        if not self._formats:
            raise ValueError("`formats` must name at least one format, not none")
        self._exponent_bits = widest(self._formats).exponent_bits
        self._significand_bits = max(fmt.significand_bits for fmt in self._formats)
        super().__init__(
            {
                "word": In(max(fmt.bits for fmt in self._formats)),
                "format": In(max(1, (len(self._formats) - 1).bit_length())),
                "header": Out(operand_header(self._exponent_bits)),
                "significand": Out(self._significand_bits),
            }
        )

    @property
    def formats(self) -> tuple[FloatFormat, ...]:
        return self._formats

    def elaborate(self, platform: object) -> Module:
        m = Module()
        hidden = Signal()
        all_ones = Signal()
        biased = Signal(self._exponent_bits)
        fraction = Signal(self._significand_bits - 1)
        with m.Switch(self.format):
            for number, fmt in enumerate(self._formats):
                last = number == len(self._formats) - 1
                with m.Default() if last else m.Case(number):
                    field = self.word[fmt.fraction_bits : fmt.bits - 1]
                    below = C(0, len(fraction) - fmt.fraction_bits)
                    m.d.comb += [
                        self.header.negative.eq(self.word[fmt.bits - 1]),
                        hidden.eq(field.any()),
                        all_ones.eq(field.all()),
                        biased.eq(widened_exponent(field, self._exponent_bits)),
                        fraction.eq(Cat(below, self.word[: fmt.fraction_bits])),
                    ]
        m.d.comb += [
            self.significand.eq(Cat(fraction, hidden)),
            # A subnormal number's exponent is that of 1, whose lowest bit alone differs from 0's.
            self.header.exponent.eq(Cat(biased[0] | ~hidden, biased[1:])),
            self.header.zero.eq(~hidden & ~fraction.any()),
            self.header.infinite.eq(all_ones & ~fraction.any()),
            self.header.nan.eq(all_ones & fraction.any()),
        ]
        return m


ACCUMULATE_CUTS: dict[int, tuple[str, ...]] = {
    1: (),
    2: ("total",),
    3: ("total", "shifted"),
    4: ("anchored", "total", "shifted"),
    5: ("anchored", "aligned", "total", "shifted"),
}
"""Places of an adder's registers, by its number of stages; the last one is the running sum."""

_HEAD_BITS = head_bits(1)


def _alignment_bits(operand: FloatFormat) -> int:
    """Returns the bits that a correctly rounded result needs below the larger term.

    Operands are not normalised, so a product may have leading zeros: as many as a fraction has
    bits, or twice that, where products of two subnormal numbers are more than the smallest sum.
    Its last bit and the bits of a result that begins one place lower must be in the window, and
    three below that.
    """
    result = sum_format(operand.name)
    factors = 2 if 2 * operand.emin >= result.emin else 1
    return factors * operand.fraction_bits + result.significand_bits + 3


class FloatAccumulate(wiring.Component):
    """Computes ``o = RNE(x * y + sum)``, from the exact product's significand and header.

    IEEE 754 in every case, with the canonical NaN. fp64 products have fp64 sums, all others fp32
    sums, their operands widened exactly, or, if they are to, sums of their own format, which are
    rounded once, too. A product and a sum a cycle; latency ``stages - 1`` cycles, for the last of
    the register stages is the one that holds the running sum, outside. Registers have no reset.

    Parameters
    ----------
    formats: of the operands
    stages: register stages, 1..5, see :data:`ACCUMULATE_CUTS`
    own: products of fp16 and bf16 may have sums of these formats

    Members
    -------
    product: significand of the product, its binary point behind the two top bits
    header: see ``product_header``, exponents as in the widest of operands and sums
    sum: the running sum, in the low bits
    flip: it is negated
    narrow: (sums of several formats) a bit for each but the widest, fp32, fp16, bf16 as they are
        there: set if the sum is of that format
    o: the new sum, in the low bits
    """

    def __init__(
        self, formats: Sequence[FloatFormat], *, stages: int = 2, own: bool = False
    ) -> None:
        self._formats = tuple(formats)
        self._stages = stages
        self._own = own
        if not self._formats:
            raise ValueError("`formats` must name at least one format, not none")
        if stages not in ACCUMULATE_CUTS:
            raise ValueError(f"`stages` must be in 1..{max(ACCUMULATE_CUTS)}, not {stages}")
        sums = {sum_format(fmt.name).name for fmt in self._formats}
        if own:
            sums |= {fmt.name for fmt in self._formats if fmt.bits < 32}
        self._sums = tuple(fmt for name, fmt in FLOAT_FORMATS.items() if name in sums)
        self._result = widest(self._sums)
        self._narrow = tuple(fmt for fmt in self._sums if fmt != self._result)
        bits = self._result.bits
        members: dict[str, Member] = {
            "product": In(2 * max(fmt.significand_bits for fmt in self._formats)),
            "header": In(product_header(self._result.exponent_bits)),
            "sum": In(bits),
            "flip": In(1),
            "o": Out(bits),
        }
        if self._narrow:
            members["narrow"] = In(data.StructLayout({fmt.name: 1 for fmt in self._narrow}))
        super().__init__(members)

    @property
    def formats(self) -> tuple[FloatFormat, ...]:
        return self._formats

    @property
    def stages(self) -> int:
        return self._stages

    @property
    def own(self) -> bool:
        return self._own

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pipeline = Pipeline(m, self._stages, C(1), ACCUMULATE_CUTS)
        bundle = pipeline.cut("anchored", self._anchored(m, self._operands(m)))
        bundle["limit"] = bundle.pop("anchor") + bundle.pop("offset")
        alignment_bits = max(_alignment_bits(fmt) for fmt in self._formats)
        aligned = align_pair(m, bundle, alignment_bits=alignment_bits)
        bundle = pipeline.cut("aligned", aligned)
        bundle = pipeline.cut("total", add_pair(m, bundle))
        rounded = normalise_and_round(m, bundle, self._result, pipeline, narrow=self._narrow)
        m.d.comb += self.o.eq(rounded)
        return m

    def _operands(self, m: Module) -> Bundle:
        """Decodes the sum, and what special values make of the result."""
        m.submodules.addend = addend = FloatOperand(self._sums)
        bits = len(addend.format)
        m.d.comb += [
            addend.word.eq(self.sum),
            addend.format.eq(self._of_sum(lambda fmt: C(self._sums.index(fmt), bits))),
        ]
        product, c = self.header, Signal.like(addend.header)
        m.d.comb += [
            *(c[name].eq(addend.header[name]) for name, _ in c.shape() if name != "negative"),
            c.negative.eq(addend.header.negative ^ self.flip),
        ]
        m.submodules.specials = specials = self._specials(m, c)
        # The addend's bias becomes that of the product's exponent: 2**(bits - 1) more.
        top = c.exponent[-1]
        addend_exponent = Signal.like(product.exponent)
        m.d.comb += addend_exponent.eq(Cat(c.exponent[:-1], ~top, top))
        zeros, bias = self._result.significand_bits, (1 << self._result.exponent_bits) - 1
        offset = self._of_sum(lambda fmt: C(limit_offset(fmt, _HEAD_BITS, zeros) - bias))
        narrow = {"narrow": self.narrow.as_value()} if self._narrow else {}
        return narrow | {
            "significand": self.product,
            "exponent": product.exponent,
            "zero": product.zero,
            "addend": addend.significand,
            "addend_exponent": addend_exponent,
            "addend_zero": c.zero,
            "offset": offset,
            "differ": product.negative ^ c.negative,
            "flip": c.negative,
            "negative_zero": specials.o.negative_zero,
            "nan": specials.o.nan,
            "infinite": specials.o.infinite,
            "negative": specials.o.negative,
        }

    def _anchored(self, m: Module, operands: Bundle) -> Bundle:
        """Finds the larger term, and how far the other one lies below."""
        rest = dict(operands)
        names = ("exponent", "zero", "addend_exponent", "addend_zero")
        exponent, zero, addend_exponent, addend_zero = (rest.pop(name) for name in names)
        found = anchor_terms(m, exponent, zero, addend_exponent, addend_zero)
        above = found["above"].replicate(len(exponent))
        return rest | {
            # Both are subtracted, so that the comparison selects and is not waited for.
            "distance": (addend_exponent - exponent)[: len(exponent)] & ~above,
            "addend_distance": (exponent - addend_exponent)[: len(exponent)] & above,
            "anchor": found["anchor"],
        }

    def _of_sum(self, value: Callable[[FloatFormat], Value]) -> Value:
        """A number of the sum's format."""
        found = value(self._result)
        for fmt in self._narrow:
            found = Mux(self.narrow[fmt.name], value(fmt), found)
        return found

    def _specials(self, m: Module, c: data.View[data.StructLayout]) -> SpecialCases:
        """The product, which is one operand by now, times one."""
        operand = unpacked_layout(1, 1)
        specials = SpecialCases(1, operand, operand)
        for part, header in ((specials.a[0], self.header), (specials.addend, c)):
            m.d.comb += [
                part.sign.eq(header.negative),
                part.zero.eq(header.zero),
                part.infinite.eq(header.infinite),
                part.nan.eq(header.nan),
            ]
        return specials
