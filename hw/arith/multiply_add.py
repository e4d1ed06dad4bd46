"""Floating-point multiplication and addition, rounded once together."""

from __future__ import annotations

from amaranth.hdl import C, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .fused.aligned_sum import head_bits
from .fused.product_and_addend import anchor_terms, sum_terms
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
"""Where a fused multiplier and adder of so many stages has its registers."""

_HEAD_BITS = head_bits(1)


class FloatMultiplyAdd(wiring.Component):
    """``o = RNE(a * b + c)``.

    IEEE 754 in every case, with the canonical NaN. Latency ``stages`` cycles (0: combinational),
    an operation a cycle. Registers have no reset and move only while ``advance`` is set.

    Parameters
    ----------
    format: of all operands and of the result
    stages: register stages, 0..4, see :data:`MULTIPLY_ADD_CUTS`

    Members
    -------
    a, b, c: the operands
    advance: (with stages) enables all registers
    o: the result
    """

    def __init__(self, format: FloatFormat, *, stages: int = 0) -> None:
        self._format = format
        self._stages = stages
        if stages not in MULTIPLY_ADD_CUTS:
            raise ValueError(f"`stages` must be in 0..{max(MULTIPLY_ADD_CUTS)}, not {stages}")
        members = {name: In(format.bits) for name in ("a", "b", "c")} | {"o": Out(format.bits)}
        super().__init__(members | ({"advance": In(1)} if stages else {}))

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def stages(self) -> int:
        return self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        advance = self.advance if self._stages else C(1)
        pipeline = Pipeline(m, self._stages, advance, MULTIPLY_ADD_CUTS)
        bundle = pipeline.cut("product", self._product(m))
        bundle = pipeline.cut("total", self._total(m, bundle))
        m.d.comb += self.o.eq(normalise_and_round(m, bundle, self._format, pipeline))
        return m

    def _product(self, m: Module) -> Bundle:
        """The exact product, where it stands beside the addend, and what special values decide."""
        parts = {name: Unpack(self._format) for name in ("a", "b", "c")}
        for name, part in parts.items():
            m.submodules[f"unpack_{name}"] = part
            m.d.comb += part.i.eq(getattr(self, name))
        a, b, c = (part.o for part in parts.values())
        m.submodules.specials = specials = SpecialCases(1, a.shape(), c.shape())
        exponent = Signal(signed(len(a.exponent) + 1))
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
        total = sum_terms(m, bundle, alignment_bits=2 * self._format.significand_bits + 2)
        return total | {name: value for name, value in bundle.items() if name not in done}
