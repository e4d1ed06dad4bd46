"""Sums of products over lanes, of packed words."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arith.semiring.integer import UnpackInteger
from ...arith.semiring.semiring_unit import SemiringUnit
from ...arith.unpack import Unpack
from ...spec.formats import Format, IntFormat
from ...spec.simd2 import compares
from ...spec.t2s.arithmetic import LaneSum
from ...spec.t2s.timing import holds_operands, lane_sum_latency

__all__ = ["LaneSumUnit"]


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
        self._config, self._adds = config, adds
        words = data.ArrayLayout(config.element.container_bits, config.lanes)
        members = {"a": In(words), "b": In(words), "o": Out(config.result.bits)}
        if adds:
            members["c"] = In(config.result.bits)
        super().__init__(members)

    @property
    def config(self) -> LaneSum:
        return self._config

    @property
    def latency(self) -> int:
        return lane_sum_latency(self._config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.unit = unit = SemiringUnit(config, config.semirings, stalls=False)
        m.d.comb += [
            unit.operator.eq(_always(unit.operator)),
            unit.c.eq(self._addend(m)),
            self.o.eq(unit.o),
        ]
        for name in ("a", "b"):
            m.d.comb += getattr(unit, name).eq(self._operands(m, name))
        if config.difference_stage:
            m.d.comb += unit.o_operator.eq(_always(unit.o_operator))
        if compares(config, config.semirings):
            m.d.comb += [unit.next_operator.eq(_always(unit.next_operator)), unit.load.eq(1)]
            for name in ("a", "b"):
                for lane, word in enumerate(self._words(name)):
                    m.d.comb += getattr(unit, f"next_{name}")[lane].eq(word)
        return m

    def _words(self, name: str) -> list[Value]:
        """Returns an operand's word of each lane, without the padding of its container."""
        fmt = self._config.element
        return [word[fmt.container_bits - fmt.bits :] for word in getattr(self, name)]

    def _operands(self, m: Module, name: str) -> Value:
        """Unpacks one operand of all lanes."""
        found = []
        for lane, word in enumerate(self._words(name)):
            m.submodules[f"unpack_{name}_{lane}"] = unpack = _unpacker(self._config.element)
            m.d.comb += unpack.i.eq(word)
            found.append(Value.cast(unpack.o))
        if not holds_operands(self._config):
            return Cat(found)
        held = Signal(len(Cat(found)), name=f"held_{name}", reset_less=True)
        m.d.sync += held.eq(Cat(found))
        return held

    def _addend(self, m: Module) -> Value:
        """Returns the addend in the format of the unit."""
        config = self._config
        if not self._adds:
            identity = Const(config.semirings[0].identity_in(config.result), config.result.bits)
            return self._unpacked(m, identity)
        word: Value = self.c
        if config.difference_stage:
            word = Signal(config.result.bits, name="packed_c", reset_less=True)
            m.d.sync += word.eq(self.c)
        unpacked = self._unpacked(m, word)
        if not holds_operands(config):
            return unpacked
        held = Signal(len(unpacked), name="held_c", reset_less=True)
        m.d.sync += held.eq(unpacked)
        return held

    def _unpacked(self, m: Module, word: Value) -> Value:
        if isinstance(self._config.result, IntFormat):
            return word
        m.submodules.unpack_c = unpack = Unpack(self._config.result)
        m.d.comb += unpack.i.eq(word)
        return Value.cast(unpack.o)


def _unpacker(fmt: Format) -> Unpack | UnpackInteger:
    return UnpackInteger(fmt) if isinstance(fmt, IntFormat) else Unpack(fmt)


def _always(operator: data.View) -> Const:
    """The decoded opcode where there is one semiring: all its bits are set."""
    bits = operator.shape().size
    return Const((1 << bits) - 1, bits)
