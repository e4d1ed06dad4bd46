"""Units that add the products of an operation to a processing element's sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.convert import FloatConvert
from ..arith.semiring.integer import UnpackInteger
from ..arith.semiring.semiring_unit import SemiringUnit
from ..arith.unpack import Unpack
from ..spec.formats import FloatFormat, Format, IntFormat
from ..spec.simd2 import compares
from ..spec.t2s.arithmetic import LaneSum
from ..spec.t2s.parts import ElementPart
from ..spec.t2s.timing import holds_operands, lane_sum_latency, timing_of, widens


class LaneSumUnit(wiring.Component):
    """Computes ``o = c (+) (+) over lanes of a (x) b``, as :class:`LaneSum` defines it.

    Latency :func:`lane_sum_latency`; an operation a cycle. It never waits: what comes in a cycle
    leaves so many cycles later, and whoever sends it knows whether it means anything.

    Parameters
    ----------
    config: lanes, semiring and formats
    adds: whether there is a c; else sums start from the identity of (+)

    Members
    -------
    a, b: packed operands, in their containers
    c: (adds) the packed addend
    o: the packed sum
    """

    def __init__(self, config: LaneSum, *, adds: bool = True) -> None:
        if config.multi_step:
            raise ValueError("`multiplier_bits` must be that of a significand, not half of it")
        self.config: Final = config
        self._adds = adds
        words = data.ArrayLayout(config.element.container_bits, config.lanes)
        members = {"a": In(words), "b": In(words), "o": Out(config.result.bits)}
        if adds:
            members["c"] = In(config.result.bits)
        super().__init__(members)

    @property
    def latency(self) -> int:
        return lane_sum_latency(self.config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.unit = unit = SemiringUnit(config, config.semirings, stalls=False)
        m.d.comb += [
            unit.operator.eq(_always(unit.operator)),
            unit.c.eq(self._addend(m)),
            self.o.eq(unit.o),
        ]
        for name in ("a", "b"):
            m.d.comb += getattr(unit, name).eq(self._operands(m, name))
        cuts = config.lane_cuts
        for cut in (*cuts[:-1], "o")[: len(cuts)]:
            operator = getattr(unit, f"{cut}_operator")
            m.d.comb += operator.eq(_always(operator))
        if compares(config, config.semirings):
            m.d.comb += [unit.next_operator.eq(_always(unit.next_operator)), unit.load.eq(1)]
            for name in ("a", "b"):
                for lane, word in enumerate(self._words(name)):
                    m.d.comb += getattr(unit, f"next_{name}")[lane].eq(word)
        return m

    def _words(self, name: str) -> list[Value]:
        """Returns an operand's word of each lane, without the padding of its container."""
        fmt = self.config.element
        return [word[fmt.container_bits - fmt.bits :] for word in getattr(self, name)]

    def _operands(self, m: Module, name: str) -> Value:
        """Unpacks one operand of all lanes."""
        found = []
        for lane, word in enumerate(self._words(name)):
            m.submodules[f"unpack_{name}_{lane}"] = unpack = _unpacker(self.config.element)
            m.d.comb += unpack.i.eq(word)
            found.append(Value.cast(unpack.o))
        if not holds_operands(self.config):
            return Cat(found)
        held = Signal(len(Cat(found)), name=f"held_{name}", reset_less=True)
        m.d.sync += held.eq(Cat(found))
        return held

    def _addend(self, m: Module) -> Value:
        """Returns the addend in the format of the unit."""
        config = self.config
        if not self._adds:
            identity = Const(config.semirings[0].identity_in(config.result), config.result.bits)
            return self._unpacked(m, identity)
        unpacked = self._unpacked(m, later(m, "packed_c", self.c, len(config.lane_cuts)))
        if not holds_operands(config):
            return unpacked
        held = Signal(len(unpacked), name="held_c", reset_less=True)
        m.d.sync += held.eq(unpacked)
        return held

    def _unpacked(self, m: Module, word: Value) -> Value:
        if isinstance(self.config.result, IntFormat):
            return word
        m.submodules.unpack_c = unpack = Unpack(self.config.result)
        m.d.comb += unpack.i.eq(word)
        return Value.cast(unpack.o)


def _unpacker(fmt: Format) -> Unpack | UnpackInteger:
    return UnpackInteger(fmt) if isinstance(fmt, IntFormat) else Unpack(fmt)


def _always(operator: data.View) -> Const:
    """The decoded opcode where there is one semiring: all its bits are set."""
    bits = operator.shape().size
    return Const((1 << bits) - 1, bits)


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


class TripleSum(wiring.Component):
    """Computes ``o = c (+) (+) over lanes of the product of three operands``.

    The product of the first two is rounded to the format of sums; integers are exact. What it is
    multiplied by, and added, is rounded once with all lanes, see :meth:`LaneSum.of_products`. An
    operation a cycle; it never waits.

    Parameters
    ----------
    part: of the element; nothing is factored out

    Members
    -------
    i_<operand>: words of all its lanes, or of one that is for all of them
    c: the sum so far, when :func:`timing_of` says
    o: the sum, likewise
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        super().__init__(operand_members(part))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._part.arithmetic
        products, lead, last = config.of_products(), timing_of(part).lead, int(widens(part))
        first, second, third = part.inner
        m.submodules.total = total = LaneSumUnit(products)
        # It waits as it came, which takes fewer bits.
        waiting = later(m, third, getattr(self, f"i_{third}"), lead - last)
        wide = products.element
        for lane in range(config.lanes):
            m.submodules[f"pair_{lane}"] = pair = LaneSumUnit(replace(config, lanes=1), adds=False)
            word = widened(m, f"{third}_{lane}", self._word(third, waiting, lane), config, wide)
            m.d.comb += [
                pair.a[0].eq(self._word(first, getattr(self, f"i_{first}"), lane)),
                pair.b[0].eq(self._word(second, getattr(self, f"i_{second}"), lane)),
                total.a[lane].eq(pair.o[: wide.bits]),
                total.b[lane].eq(later(m, f"wide_{third}_{lane}", word, last)),
            ]
        m.d.comb += [total.c.eq(self.c), self.o.eq(total.o)]
        return m

    def _word(self, name: str, words: Value, lane: int) -> Value:
        """Returns a lane's word of an operand, which may be the same for all."""
        number = lane % self._part.operand(name).lanes
        return words.word_select(number, self._part.arithmetic.element.container_bits)


class VectorSum(wiring.Component):
    """Computes ``o = c (+) product of all operands`` in each lane: a vector of sums.

    An operation a cycle; it never waits.

    Parameters
    ----------
    part: of the element; nothing is factored out

    Members
    -------
    i_<operand>: words of all lanes, or one that is for all of them
    c: the sums so far, lane 0 in the low bits, when :func:`timing_of` says
    o: the sums, likewise
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        super().__init__(operand_members(part))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self._part
        bits, results = part.arithmetic.result.bits, list[Value]()
        for lane in range(part.vector):
            m.submodules[f"lane_{lane}"] = unit = sum_of_products(part.of_a_lane())
            for one in part.operands:
                if not one.starts:
                    words: Value = getattr(self, f"i_{one.name}")
                    port = getattr(unit, f"i_{one.name}")
                    m.d.comb += port.eq(words.word_select(lane % one.lanes, len(port)))
            m.d.comb += unit.c.eq(self.c.word_select(lane, bits))
            results.append(unit.o)
        m.d.comb += self.o.eq(Cat(results))
        return m


def sum_of_products(part: ElementPart) -> PlainSum | TripleSum:
    """Returns the unit that adds the product of all operands in each lane to a sum."""
    return TripleSum(part) if len(part.inner) == 3 else PlainSum(part)
