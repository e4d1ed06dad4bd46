"""Floating-point multiplication and addition, rounded once together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .fused.aligned_sum import AlignedSum, SpecialCases, head_bits
from .fused.sum_stages import carry_save_rows
from .pipeline import Bundle, Pipeline
from .round import exponent_limit, normalise_and_round
from .unpack import Unpack


def anchor_terms(
    m: Module, exponent: Value, zero: Value, addend_exponent: Value, addend_zero: Value
) -> dict[str, Value]:
    """Finds the larger exponent of the two terms that are not zero.

    Parameters
    ----------
    m: the module
    exponent, zero: of the product
    addend_exponent, addend_zero: of the addend; both exponents have the same shape and offset

    Returns ``above``: the product stands there; ``anchor``: the exponent.
    """
    above = Signal()
    anchor = Signal.like(exponent)
    m.d.comb += [
        # A term that is zero leaves the other one where it is.
        above.eq(~zero & (addend_zero | (exponent >= addend_exponent))),
        anchor.eq(Mux(above, exponent, addend_exponent)),
    ]
    return {"above": above, "anchor": anchor}


_TERMS = ("significand", "addend", "distance", "addend_distance", "differ")
"""Values from which :func:`align_pair` computes its rows."""


def align_pair(m: Module, bundle: Bundle, *, alignment_bits: int) -> dict[str, Value]:
    """Aligns the two terms, the product relative to the addend's sign.

    Parameters
    ----------
    m: the module
    bundle: ``significand`` of the product, binary point behind its two top bits; ``addend``,
        binary point behind its top bit; ``differ``: their signs do; ``distance`` and
        ``addend_distance``: how far they lie below the anchor, see :func:`anchor_terms`
    alignment_bits: of the window below the anchor

    Returns ``first``, ``second`` and ``carry``, whose sum is the total; ``lost_positive`` and
    ``lost_negative``, see :class:`NormaliseSum`; and what else is in the bundle.
    """
    distance = bundle["distance"]
    m.submodules.sum = aligned = AlignedSum(
        products=1,
        product_bits=len(bundle["significand"]),
        addend_bits=len(bundle["addend"]),
        alignment_bits=alignment_bits,
        distance_bits=len(distance),
    )
    m.d.comb += [
        aligned.significands[0].eq(bundle["significand"]),
        aligned.addend.eq(bundle["addend"]),
        aligned.distances[0].eq(distance),
        aligned.addend_distance.eq(bundle["addend_distance"]),
        aligned.negative.eq(bundle["differ"]),
    ]
    rest = {name: value for name, value in bundle.items() if name not in _TERMS}
    return {**carry_save_rows(aligned), **rest}


def add_pair(m: Module, bundle: Bundle) -> dict[str, Value]:
    """Adds the rows of :func:`align_pair`. Returns ``total``, and what else is in the bundle."""
    rest = dict(bundle)
    first, second, carry = (rest.pop(name) for name in ("first", "second", "carry"))
    total = Signal(signed(len(first)))
    # The carry enters below the lowest bit.
    m.d.comb += total.eq((Cat(carry, first) + Cat(carry, second))[1:])
    return {**rest, "total": total}


def window_bits(operand: FloatFormat, result: FloatFormat, *, normalised: bool) -> int:
    """Returns the bits of the window: the part of the terms below the anchor that a correctly
    rounded result needs.

    Normalised terms need all bits of the one at the anchor, and two places more. Without
    normalisation a product may have leading zeros, as many as a fraction has bits, or twice that,
    where products of two subnormal numbers are more than the smallest sum. The window then holds
    its last bit, the bits of a result that begins one place lower, and three bits below that.

    Parameters
    ----------
    operand: of the product's factors
    result: of the addend and of the sum
    normalised: whether operands and addend are
    """
    if normalised:
        return max(2 * operand.significand_bits, result.significand_bits) + 2
    factors = 2 if 2 * operand.emin >= result.emin else 1
    return factors * operand.fraction_bits + result.significand_bits + 3


MULTIPLY_ADD_CUTS: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("result",),
    2: ("product", "result"),
    3: ("product", "total", "result"),
    4: ("product", "total", "shifted", "result"),
    5: ("operands", "product", "total", "shifted", "result"),
}
"""Cuts at which a fused multiplier and adder has its registers, by the number of stages."""

_HEAD_BITS = head_bits(1)


class FloatMultiplyAdd(wiring.Component):
    """Computes ``o = RNE(a * b + c)``.

    IEEE 754 in every case, with the canonical NaN. Latency ``stages`` cycles (0: combinational),
    an operation a cycle. Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    format: of c and of the result
    operand: of a and b; default: ``format``
    stages: register stages, 0..5, see :data:`MULTIPLY_ADD_CUTS`
    open_ended: the last stage is left to the user, who puts a register behind ``o``
    normalise: whether subnormal operands are normalised first; without it the sum's window has room
        for their leading zeros

    Members
    -------
    a, b, c: the operands
    advance: (with registers in here) enables all of them
    o: the result
    """

    def __init__(
        self,
        format: FloatFormat,
        operand: FloatFormat | None = None,
        *,
        stages: int = 0,
        open_ended: bool = False,
        normalise: bool = True,
    ) -> None:
        self._format = format
        self._operand = operand or format
        self._stages = stages
        self._open_ended = open_ended
        self._normalise = normalise
        if stages not in MULTIPLY_ADD_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(MULTIPLY_ADD_CUTS)}, not {stages}")
        factors = {name: In(self._operand.bits) for name in ("a", "b")}
        members = factors | {"c": In(format.bits), "o": Out(format.bits)}
        super().__init__(members | ({"advance": In(1)} if self._cuts else {}))

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def operand(self) -> FloatFormat:
        return self._operand

    @property
    def stages(self) -> int:
        return self._stages

    @property
    def open_ended(self) -> bool:
        return self._open_ended

    @property
    def normalise(self) -> bool:
        return self._normalise

    @property
    def _cuts(self) -> tuple[str, ...]:
        """Names of the cuts at which this component has registers."""
        cuts = MULTIPLY_ADD_CUTS[self._stages]
        return cuts[:-1] if self._open_ended else cuts

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = self.advance if self._cuts else C(1)
        pipeline = Pipeline(m, self._stages, advance, {self._stages: self._cuts})
        operands = pipeline.cut("operands", self._operands(m))
        bundle = pipeline.cut("product", self._product(m, operands))
        bundle = pipeline.cut("total", self._total(m, bundle))
        m.d.comb += self.o.eq(normalise_and_round(m, bundle, self._format, pipeline))
        return m

    def _operands(self, m: Module) -> dict[str, Any]:
        """Unpacks the operands."""
        formats = {"a": self._operand, "b": self._operand, "c": self._format}
        parts = {
            name: Unpack(format, normalise=self._normalise) for name, format in formats.items()
        }
        for name, part in parts.items():
            m.submodules[f"unpack_{name}"] = part
            m.d.comb += part.i.eq(getattr(self, name))
        return {name: part.o for name, part in parts.items()}

    def _product(self, m: Module, operands: Mapping[str, Any]) -> Bundle:
        """Computes the exact product, its position relative to the addend, and the decision of
        special values."""
        a, b, c = (operands[name] for name in "abc")
        m.submodules.specials = specials = SpecialCases(1, a.shape(), c.shape())
        exponent = Signal(signed(max(len(a.exponent) + 1, len(c.exponent))))
        addend_exponent = Signal.like(exponent)
        m.d.comb += [
            specials.a[0].eq(a),
            specials.b[0].eq(b),
            specials.addend.eq(c),
            exponent.eq(a.exponent + b.exponent),
            addend_exponent.eq(c.exponent),
        ]
        anchored = anchor_terms(m, exponent, a.zero | b.zero, addend_exponent, c.zero)
        distance = Signal(len(exponent))
        m.d.comb += distance.eq(
            Mux(anchored["above"], exponent - addend_exponent, addend_exponent - exponent)
        )
        return {
            "significand": a.significand * b.significand,
            "addend": c.significand,
            "above": anchored["above"],
            "distance": distance,
            "limit": exponent_limit(self._format, anchored["anchor"], _HEAD_BITS),
            "differ": a.sign ^ b.sign ^ c.sign,
            "flip": c.sign,
            "negative_zero": specials.o.negative_zero,
            "nan": specials.o.nan,
            "infinite": specials.o.infinite,
            "negative": specials.o.negative,
        }

    def _total(self, m: Module, bundle: Bundle) -> Bundle:
        """The sum of the aligned terms, relative to the addend's sign."""
        alignment_bits = window_bits(self._operand, self._format, normalised=self._normalise)
        rest = dict(bundle)
        above, distance = rest.pop("above"), rest.pop("distance")
        rest["distance"] = Mux(above, 0, distance)
        rest["addend_distance"] = Mux(above, distance, 0)
        found = add_pair(m, align_pair(m, rest, alignment_bits=alignment_bits))
        return {"total": found.pop("total"), **found}
