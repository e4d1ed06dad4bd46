"""A product in two steps, on multipliers half as wide as the factors."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ..arith.multiplier import Multiplier

__all__ = ["multiply_in_two_steps"]


def multiply_in_two_steps(
    m: Module, a: Value, b: Value, *, partial: Value, accumulate: Value
) -> Value:
    """The product of a and b after the second step; the straight products side by side after
    the first one.

    Parameters
    ----------
    a, b: the factors, of one even width; they stand still for both steps
    partial: what the first step gave
    accumulate: the second step, in which high and low halves are multiplied across, not with
        each other, and added to ``partial``
    """
    half = len(a) // 2
    product = Signal(4 * half, name="product")
    products = {}
    for name, left, straight, crossed in (
        ("high", a[half:], b[half:], b[:half]),
        ("low", a[:half], b[:half], b[half:]),
    ):
        m.submodules[f"multiplier_{name}"] = multiplier = Multiplier(half)
        m.d.comb += [
            multiplier.a.eq(left),
            multiplier.b.eq(Mux(accumulate, crossed, straight)),
        ]
        products[name] = multiplier.o
    upper = Signal(3 * half, name="upper")
    completed = Cat(partial[:half], upper)
    m.d.comb += [
        upper.eq(partial[half:] + products["high"] + products["low"]),
        product.eq(Mux(accumulate, completed, Cat(products["low"], products["high"]))),
    ]
    return product
