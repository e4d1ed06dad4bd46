"""Classification and unpacking of packed floats."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.formats import FloatFormat
from .pipeline import count_leading_zeros, shift_left


def exponent_bits(low: int, high: int) -> int:
    """Bits of the smallest two's-complement number that holds ``low..high``."""
    return max((-low - 1 if low < 0 else low).bit_length(), high.bit_length()) + 1


def unpacked_layout(exponent_bits: int, significand_bits: int) -> data.StructLayout:
    """A classified float: ``(-1)**sign * significand * 2**(exponent - significand_bits + 1)``.

    ``exponent`` is unbiased. ``zero``, ``infinite`` and ``nan`` exclude each other; the
    significand of a zero is zero, that of an infinity or NaN is arbitrary.
    """
    return data.StructLayout(
        {
            "significand": significand_bits,
            "exponent": signed(exponent_bits),
            "sign": 1,
            "zero": 1,
            "infinite": 1,
            "nan": 1,
        }
    )


def format_layout(fmt: FloatFormat) -> data.StructLayout:
    """The unpacked layout of a format, subnormal values normalised.

    An infinity's exponent is one above that of the largest finite value.
    """
    lowest = fmt.emin - fmt.fraction_bits
    return unpacked_layout(exponent_bits(lowest, fmt.emax + 1), fmt.significand_bits)


class Unpack(wiring.Component):
    """Unpacks a float.

    Combinational. With ``normalise`` the leading significand bit of every non-zero finite
    value is one, subnormal values having an exponent below ``format.emin``; without it a
    subnormal value keeps ``format.emin`` and its leading zeros.

    Parameters
    ----------
    format: the packed format
    normalise: whether subnormal values are normalised
    biased: whether the exponent keeps its bias, without ``normalise`` only

    Members
    -------
    i: the value, ``format.bits`` wide
    o: classified and unpacked, see :func:`format_layout`
    """

    verilog_parameters: ClassVar = {
        "FRACTION_BITS": "format.fraction_bits",
        "EXPONENT_BITS": "format.exponent_bits",
    }

    def __init__(
        self, format: FloatFormat, *, normalise: bool = True, biased: bool = False
    ) -> None:
        if normalise and biased:
            raise ValueError("`biased` must be False with `normalise`")
        self._format = format
        self._normalise = normalise
        self._biased = biased
        super().__init__({"i": In(format.bits), "o": Out(format_layout(format))})

    @property
    def format(self) -> FloatFormat:
        return self._format

    @property
    def normalise(self) -> bool:
        return self._normalise

    @property
    def biased(self) -> bool:
        return self._biased

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        fraction = self.i[: fmt.fraction_bits]
        biased = self.i[fmt.fraction_bits : -1]
        hidden = Signal()
        no_fraction = Signal()
        m.d.comb += [
            hidden.eq(biased.any()),
            no_fraction.eq(~fraction.any()),
            self.o.sign.eq(self.i[-1]),
            self.o.zero.eq(~hidden & no_fraction),
        ]
        if fmt.has_infinity:
            m.d.comb += [
                self.o.infinite.eq(biased.all() & no_fraction),
                self.o.nan.eq(biased.all() & ~no_fraction),
            ]
        else:
            m.d.comb += self.o.nan.eq(biased.all() & fraction.all())

        significand: Value = Cat(fraction, hidden)
        exponent: Value = Mux(hidden, biased, 1)
        if not self._biased:
            exponent = exponent - fmt.bias
        if self._normalise:
            zeros = count_leading_zeros(m, significand, name="zeros")
            significand = shift_left(m, significand, zeros, name="significand")
            exponent = Mux(hidden, biased - fmt.bias, fmt.emin - zeros)
        m.d.comb += [self.o.exponent.eq(exponent), self.o.significand.eq(significand)]
        return m
