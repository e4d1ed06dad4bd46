"""Units that add the products of an operation to a processing element's sum."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arith.convert import FloatConvert
from ...spec.formats import FloatFormat, Format, IntFormat
from ...spec.t2s.arithmetic import LaneSum
from ...spec.t2s.parts import ElementPart
from ...spec.t2s.timing import timing_of, widens
from .lane_sum import LaneSumUnit

__all__ = ["FactoredSum", "PlainSum", "later", "operand_members", "widened"]

_NEUTRAL = {"mul": "1", "and": "1", "add": "-0", "min": "+inf", "max": "-inf"}
"""Neutral word of (x): the product with it is the other word."""


class PlainSum(wiring.Component):
    """Computes ``o = c (+) (+) over lanes of the product of all operands``, one or two.

    Operands and c come in the same cycle. An operation a cycle; it never waits.

    Parameters
    ----------
    part: of the element; nothing is factored out

    Members
    -------
    i_<operand>: words of all its lanes, or of one that is for all of them
    c: the sum so far
    o: the sum, see :func:`timing_of`
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        super().__init__(operand_members(part))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lanes = lanes = _inner_unit(self, m, self._part, adds=True)
        m.d.comb += [lanes.c.eq(self.c), self.o.eq(lanes.o)]
        return m


class FactoredSum(wiring.Component):
    """Computes ``o = c (+) outer (x) (+) over lanes of inner``, with fewer products.

    It rounds otherwise than :class:`PlainSum`.

    ``inner`` is the product of one or two operands, ``outer`` that of the others, one after the
    other in the format of sums, each rounded. An operation a cycle; it never waits.

    Source: T2S-Tensor, section 3.5.2: MTTKRP and TTMc as changed by hand.

    Parameters
    ----------
    part: of the element, some operands of which are factored out

    Members
    -------
    i_<operand>: words of all its lanes, or of one that is for all of them
    c: the sum so far, when :func:`timing_of` says
    o: the sum, likewise
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        super().__init__(operand_members(part))

    @property
    def _of_sums(self) -> LaneSum:
        return self._part.arithmetic.of_sums()

    @property
    def _lead(self) -> int:
        return timing_of(self._part).lead

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lanes = lanes = _inner_unit(self, m, self._part, adds=False)
        factor, when = self._outer(m)
        m.submodules.total = total = LaneSumUnit(self._of_sums)
        m.d.comb += [
            total.a[0].eq(later(m, "factor", factor, self._lead - when)),
            total.b[0].eq(later(m, "inner_sum", lanes.o, self._lead - lanes.latency)),
            total.c.eq(self.c),
            self.o.eq(total.o),
        ]
        return m

    def _outer(self, m: Module) -> tuple[Value, int]:
        """Returns the factored-out product, and its latency in cycles after the operands."""
        first, *others = self._part.outer
        when = widens(self._part) if others else self._lead
        factor = self._factor(m, first, when)
        for name in others:
            m.submodules[f"times_{name}"] = unit = LaneSumUnit(self._of_sums, adds=False)
            m.d.comb += [unit.a[0].eq(factor), unit.b[0].eq(self._factor(m, name, when))]
            factor, when = unit.o, when + unit.latency
        return factor, when

    def _factor(self, m: Module, name: str, cycles: int) -> Value:
        """An operand in the format of sums, so many cycles later. It waits as it came, which takes
        fewer bits."""
        last = int(widens(self._part))
        word = later(m, name, getattr(self, f"i_{name}"), cycles - last)
        config = self._part.arithmetic
        return later(m, f"wide_{name}", widened(m, name, word, config, config.result), last)


def widened(m: Module, name: str, word: Value, config: LaneSum, wide: Format) -> Value:
    """Converts an operand's word to a format that has all its values."""
    element = config.element
    word = word[element.container_bits - element.bits :]
    if isinstance(element, IntFormat):
        extended = Signal(wide.bits, name=f"extended_{name}")
        m.d.comb += extended.eq(word.as_signed())
        return extended
    if element == wide:
        return word
    assert isinstance(element, FloatFormat)
    assert isinstance(wide, FloatFormat)
    m.submodules[f"widen_{name}"] = convert = FloatConvert(element, wide)
    m.d.comb += convert.i.eq(word)
    return convert.o


def operand_members(part: ElementPart) -> dict[str, wiring.Member]:
    """Ports of an element's arithmetic: operands, sums so far, sums."""
    config = part.arithmetic
    members = {
        f"i_{one.name}": In(one.lanes * config.element.container_bits)
        for one in part.operands
        if not one.starts
    }
    bits = part.vector * config.result.bits
    return {**members, "c": In(bits), "o": Out(bits)}


def _inner_unit(
    component: PlainSum | FactoredSum, m: Module, part: ElementPart, *, adds: bool
) -> LaneSumUnit:
    """Builds the unit of the products in lanes, with its operands."""
    config = part.arithmetic
    unit = LaneSumUnit(config, adds=adds)
    m.d.comb += unit.a.eq(_on_lanes(component, part, part.inner[0]))
    if len(part.inner) == 2:
        m.d.comb += unit.b.eq(_on_lanes(component, part, part.inner[1]))
    else:
        element = config.element
        neutral = element.constant(_NEUTRAL[config.semirings[0].times]) or 0
        one = Const(neutral << element.container_bits - element.bits, element.container_bits)
        m.d.comb += unit.b.eq(one.replicate(config.lanes))
    return unit


def _on_lanes(component: PlainSum | FactoredSum, part: ElementPart, name: str) -> Value:
    words: Value = getattr(component, f"i_{name}")
    return words.replicate(part.arithmetic.lanes // part.operand(name).lanes)


def later(m: Module, name: str, value: Value, cycles: int) -> Value:
    """Delays a value by a number of cycles."""
    for number in range(cycles):
        register = Signal(len(value), name=f"{name}_{number + 1}", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    return value
