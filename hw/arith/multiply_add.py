"""Floating-point multiplication and addition, rounded once together."""

from __future__ import annotations

from amaranth.hdl import C, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .fused.aligned_sum import head_bits
from .fused.product_and_addend import anchor_terms, sum_terms, window_bits
from .fused.specials import SpecialCases
from .normalise_and_round import normalise_and_round
from .pipeline import Bundle, Pipeline
from .round import exponent_limit
from .unpack import Unpack

__all__ = ["MULTIPLY_ADD_CUTS", "FloatMultiplyAdd"]

MULTIPLY_ADD_CUTS: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("result",),
    2: ("product", "result"),
    3: ("product", "total", "result"),
    4: ("product", "total", "shifted", "result"),
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
    stages: register stages, 0..4, see :data:`MULTIPLY_ADD_CUTS`
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
        bundle = pipeline.cut("product", self._product(m))
        bundle = pipeline.cut("total", self._total(m, bundle))
        m.d.comb += self.o.eq(normalise_and_round(m, bundle, self._format, pipeline))
        return m

    def _product(self, m: Module) -> Bundle:
        """Computes the exact product, its position relative to the addend, and the decision of
        special values."""
        formats = {"a": self._operand, "b": self._operand, "c": self._format}
        parts = {
            name: Unpack(format, normalise=self._normalise) for name, format in formats.items()
        }
        for name, part in parts.items():
            m.submodules[f"unpack_{name}"] = part
            m.d.comb += part.i.eq(getattr(self, name))
        a, b, c = (part.o for part in parts.values())
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
        return {
            "significand": a.significand * b.significand,
            "addend": c.significand,
            "above": anchored["above"],
            "distance": anchored["distance"],
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
        done = ("significand", "addend", "above", "distance", "differ")
        alignment_bits = window_bits(self._operand, self._format, normalised=self._normalise)
        total = sum_terms(m, bundle, alignment_bits=alignment_bits)
        return total | {name: value for name, value in bundle.items() if name not in done}
