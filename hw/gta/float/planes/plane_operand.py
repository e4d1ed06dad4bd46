"""Sign and exponent of a float that lies by planes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from amaranth.hdl import C, Cat, Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec.formats import FLOAT_FORMATS
from ....spec.gta import LIMB_BITS
from ..headers import vector_mode, widened_exponent

__all__ = ["PlaneOperand", "exponent_is_all", "exponent_is_any"]


def _sizes(formats: Sequence[str]) -> list[int]:
    return sorted({FLOAT_FORMATS[name].exponent_bits for name in formats})


def _longer(
    formats: Sequence[str], mode: data.View[data.StructLayout], word: Value
) -> list[tuple[Value, Value]]:
    """Bits behind the shortest exponent's, and whether they are of the exponent."""
    usual, long = (FLOAT_FORMATS[name].exponent_bits for name in ("fp32", "fp64"))
    at_least = {usual: ~mode.fp16, long: mode.fp64}
    return [(word[-size:-shorter], at_least[size]) for shorter, size in pairwise(_sizes(formats))]


def exponent_is_any(
    formats: Sequence[str], mode: data.View[data.StructLayout], word: Value
) -> Value:
    """Tells, from its upper bits without the sign, whether a float's exponent is not all 0.

    If it is not, the significand has its hidden bit.
    """
    found: Value = word[-_sizes(formats)[0] :].any()
    for part, here in _longer(formats, mode, word):
        found = found | (here & part.any())
    return found


def exponent_is_all(
    formats: Sequence[str], mode: data.View[data.StructLayout], word: Value
) -> Value:
    """Tells whether the exponent is all ones: an infinity or a NaN."""
    found: Value = word[-_sizes(formats)[0] :].all()
    for part, here in _longer(formats, mode, word):
        found = found & (~here | part.all())
    return found


class PlaneOperand(wiring.Component):
    """Splits a float's two upper bytes into its fields, for any format.

    Combinational.

    Parameters
    ----------
    formats: names of those that it may have
    exponent_bits: of ``exponent``

    Members
    -------
    mode: in; see ``vector_mode``
    low, high: in; the two upper bytes
    negative: out
    exponent: out; as ``operand_header`` has it
    hidden: out; the exponent's bits are not all 0: a significand has its hidden bit
    special: out; they are all 1: an infinity or a NaN
    """

    def __init__(self, formats: Sequence[str], exponent_bits: int) -> None:
        self._formats = tuple(formats)
        self._exponent_bits = exponent_bits
        super().__init__(
            {
                "mode": In(vector_mode()),
                "low": In(LIMB_BITS),
                "high": In(LIMB_BITS),
                "negative": Out(1),
                "exponent": Out(exponent_bits),
                "hidden": Out(1),
                "special": Out(1),
            }
        )

    @property
    def formats(self) -> tuple[str, ...]:
        return self._formats

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Cat(self.low, self.high)[: 2 * LIMB_BITS - 1]
        short, usual, long = (FLOAT_FORMATS[n].exponent_bits for n in ("fp16", "fp32", "fp64"))
        sizes = _sizes(self._formats)
        exact = {short: self.mode.fp16, usual: C(1), long: self.mode.fp64}
        exponent: Value = C(0, self._exponent_bits)
        for size in sorted(sizes, key=lambda size: size != usual):
            field = widened_exponent(word[-size:], self._exponent_bits)
            exponent = Mux(exact[size], field, exponent) if len(sizes) > 1 else field
        m.d.comb += [
            self.negative.eq(self.high[-1]),
            # A subnormal number's exponent is that of 1, whose lowest bit alone differs from 0's.
            self.exponent.eq(Cat(exponent[0] | ~self.hidden, exponent[1:])),
            self.hidden.eq(exponent_is_any(self._formats, self.mode, word)),
            self.special.eq(exponent_is_all(self._formats, self.mode, word)),
        ]
        return m
