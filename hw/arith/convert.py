"""Conversion between float formats."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .round import NormaliseSum, RoundPack, exponent_limit
from .unpack import Unpack

__all__ = ["FloatConvert"]


class FloatConvert(wiring.Component):
    """Converts a float to another format: ``o = RNE(i)``.

    Combinational; NaN becomes the canonical NaN.

    Parameters
    ----------
    source: format of the input
    result: format of the output

    Members
    -------
    i: the value
    o: the value in the other format
    """

    def __init__(self, source: FloatFormat, result: FloatFormat) -> None:
        self._source = source
        self._result = result
        super().__init__({"i": In(source.bits), "o": Out(result.bits)})

    @property
    def source(self) -> FloatFormat:
        return self._source

    @property
    def result(self) -> FloatFormat:
        return self._result

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unpack = unpack = Unpack(self._source)
        limit = exponent_limit(self._result, unpack.o.exponent, head_bits=1)
        m.submodules.normalise = normalise = NormaliseSum(
            self._result,
            sum_bits=self._source.significand_bits + 1,
            limit_bits=len(limit),
        )
        m.submodules.round = rounder = RoundPack(self._result)
        m.d.comb += [
            unpack.i.eq(self.i),
            normalise.total.eq(Cat(unpack.o.significand, 0)),
            normalise.limit.eq(limit),
            normalise.flip.eq(unpack.o.sign),
            normalise.negative_zero.eq(unpack.o.sign),
            rounder.i.eq(normalise.o),
            rounder.special.nan.eq(unpack.o.nan),
            rounder.special.infinite.eq(unpack.o.infinite),
            rounder.special.negative.eq(unpack.o.sign),
            self.o.eq(rounder.o),
        ]
        return m
