"""Functions of scalar operators whose format is no float, or that round nothing."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from ..spec.formats import FloatFormat, Format, IntFormat
from .compare import FloatMinMax

__all__ = ["choose", "delay", "is_true", "saturating_sum", "truth"]


def is_true(value: Value, fmt: Format) -> Value:
    """Returns whether a value is not zero, of either sign."""
    return (value[:-1] if isinstance(fmt, FloatFormat) else value).any()


def truth(condition: Value, fmt: Format) -> Value:
    """0 or 1 in a format."""
    one = fmt.constant("1")
    assert one is not None
    return Mux(condition, C(one, fmt.bits), C(0, fmt.bits))


def choose(m: Module, a: Value, b: Value, fmt: Format, *, maximum: bool | Value) -> Value:
    """The smaller or the larger value: IEEE 754-2019 ``minimum`` or ``maximum`` of floats."""
    if isinstance(fmt, FloatFormat):
        m.submodules.choose = chooser = FloatMinMax(fmt)
        m.d.comb += [chooser.a.eq(a), chooser.b.eq(b), chooser.maximum.eq(maximum)]
        return chooser.o
    less = Signal(name="less")
    m.d.comb += less.eq(a.as_signed() < b.as_signed())
    return Mux(less ^ maximum, a, b)


def saturating_sum(m: Module, a: Value, b: Value, fmt: IntFormat) -> Value:
    """``a + b``, or the end of the range that it passes."""
    total = Signal(fmt.bits + 1, name="total")
    m.d.comb += total.eq(a.as_signed() + b.as_signed())
    end = Cat((~total[-1]).replicate(fmt.bits - 1), total[-1])
    return Mux(total[-1] ^ total[-2], end, total[: fmt.bits])


def delay(m: Module, value: Value, stages: int, advance: Value, name: str) -> Value:
    """Delays a value by so many registers, which have no reset and move while ``advance`` is
    set."""
    for stage in range(stages):
        register = Signal.like(value, name=f"{name}_{stage}", reset_less=True)
        with m.If(advance):
            m.d.sync += register.eq(value)
        value = register
    return value
