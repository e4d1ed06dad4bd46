"""Headers of the products of floats that lie by planes, of the columns of an adder."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec.gta import LIMB_BITS
from ..headers import vector_mode
from ..selection import one_of
from .plane_operand import PlaneOperand

__all__ = ["PlaneProduct", "classified", "plane_header"]


def plane_header(exponent_bits: int) -> data.StructLayout:
    """A product without its significand, which tells the rest of what it is.

    ``exponent``: as in ``product_header``. ``x_special``: x is an infinity or a NaN. ``y_zero``,
    ``y_infinite``, ``y_nan``: what y is.
    """
    return data.StructLayout(
        {
            "negative": 1,
            "exponent": exponent_bits + 1,
            "x_special": 1,
            "y_zero": 1,
            "y_infinite": 1,
            "y_nan": 1,
        }
    )


def classified(header: data.View[data.StructLayout], not_zero: Value) -> dict[str, Value]:
    """Fields of ``product_header``, by what the product of the significands is.

    An x that is an infinity has the significand 0, one that is a NaN another one.
    """
    special, infinite = header.x_special, header.y_infinite
    return {
        "negative": header.negative,
        "exponent": header.exponent,
        "zero": ~not_zero,
        "infinite": special | infinite,
        "nan": header.y_nan
        | (special & (not_zero | header.y_zero))
        | (~special & infinite & ~not_zero),
    }


class PlaneProduct(wiring.Component):
    """Takes the operands of one column a cycle.

    Latency from ``x`` 2 cycles; a column's y comes a cycle before its x.

    Parameters
    ----------
    formats: names of those that operands may have
    exponent_bits: of operands
    columns: how many there are

    Members
    -------
    mode: in; see ``vector_mode``
    x, y: in; by column, the two upper bytes of the row's operand
    x_here, y_here: in; a bit a column: a product's last operand is there
    y_any: in; by column, with y: its fraction is not 0
    o: out; see :func:`plane_header`; registers
    """

    def __init__(self, formats: Sequence[str], exponent_bits: int, columns: int) -> None:
        self._formats = tuple(formats)
        self._exponent_bits = exponent_bits
        self._columns = columns
        operands = data.ArrayLayout(2 * LIMB_BITS, columns)
        super().__init__(
            {
                "mode": In(vector_mode()),
                "x": In(operands),
                "y": In(operands),
                "x_here": In(columns),
                "y_here": In(columns),
                "y_any": In(columns),
                "o": Out(plane_header(exponent_bits)),
            }
        )

    @property
    def formats(self) -> tuple[str, ...]:
        return self._formats

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    @property
    def columns(self) -> int:
        return self._columns

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, one = self._exponent_bits, self.mode.one
        x, y = (self._operand(m, name) for name in ("x", "y"))
        some = (self.y_any & self.y_here).any()
        negative = Signal(reset_less=True)
        exponent = Signal(bits, name="y_exponent", reset_less=True)
        m.d.sync += [
            negative.eq(y.negative & ~one),
            exponent.eq(Mux(one, C((1 << bits - 1) - 1, bits), y.exponent)),
        ]
        found = {
            "negative": x.negative ^ negative,
            # The one that is added comes in as a carry.
            "exponent": (Cat(1, x.exponent) + Cat(1, exponent))[1:],
            "x_special": x.special,
        }
        for name, value in (
            ("y_zero", ~y.hidden & ~some & ~one),
            ("y_infinite", y.special & ~some & ~one),
            ("y_nan", y.special & some),
        ):
            held = Signal(name=name, reset_less=True)
            m.d.sync += held.eq(value)
            found[name] = held
        for name, shape in plane_header(bits):
            part = Signal(shape.shape, name=f"product_{name}", reset_less=True)
            m.d.sync += [part.eq(found[name]), self.o[name].eq(part)]
        return m

    def _operand(self, m: Module, name: str) -> PlaneOperand:
        m.submodules[name] = operand = PlaneOperand(self._formats, self._exponent_bits)
        here, given = getattr(self, f"{name}_here"), getattr(self, name)
        word = one_of([here[k] for k in range(self._columns)], list(given))
        m.d.comb += [
            operand.mode.eq(self.mode),
            operand.low.eq(word[:LIMB_BITS]),
            operand.high.eq(word[LIMB_BITS:]),
        ]
        return operand
