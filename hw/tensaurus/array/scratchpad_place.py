"""Where an operand is in a scratchpad."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data

from ...spec.tensaurus import TensaurusConfig
from .layouts import place_layout

__all__ = ["scratchpad_place"]


def _divided(m: Module, value: Value, divisor: int) -> tuple[Value, Value]:
    """Quotient and remainder by a constant; in hardware a product with its reciprocal."""
    bits = divisor.bit_length() - 1
    if divisor == 1 << bits:
        return value[bits:], value[:bits]
    # Exact for all values below 2**len(value).
    shift = len(value) + divisor.bit_length()
    quotient = Signal(len(value), name="quotient")
    remainder = Signal(range(divisor), name="remainder")
    m.d.comb += [
        quotient.eq((value * (-(-(1 << shift) // divisor))) >> shift),
        remainder.eq(value - quotient * divisor),
    ]
    return quotient, remainder


def scratchpad_place(
    m: Module, config: TensaurusConfig, operand: data.View[data.StructLayout], scalar: Value
) -> tuple[data.View[data.StructLayout], Value]:
    """The vector that holds an operand, a unit or a scalar, and of a scalar its lane there.

    Consecutive vectors are in consecutive banks.
    """
    place = Signal(place_layout(config), name="place")
    vector, lane = _divided(m, operand.address, config.vlen)
    unit = Signal.like(operand.address, name="vector")
    banks = config.banks.bit_length() - 1
    m.d.comb += [
        unit.eq(Mux(scalar, vector, operand.address)),
        place.bank.eq(unit[:banks] if banks else Const(0, 1)),
        place.line.eq(unit[banks:]),
        place.side.eq(operand.side),
    ]
    return place, lane if len(lane) else Const(0, 1)
