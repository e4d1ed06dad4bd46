"""Sums of products over lanes, of packed words."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.semiring.integer import UnpackInteger
from ..arith.semiring.operands import AddendRegister, OperandRegister
from ..arith.semiring.semiring_unit import SemiringUnit, compares
from ..arith.unpack import Unpack
from ..spec.formats import Format, IntFormat
from ..spec.t2s.arithmetic import LaneSum

__all__ = ["LaneSumUnit", "lane_sum_latency"]


def _holds_operands(config: LaneSum) -> bool:
    """Whether operands are unpacked into registers: floats, whose subnormal values have to be
    normalised, but for those that are only asked whether they are zero."""
    return config.is_float and config.semiring != "orand"


def lane_sum_latency(config: LaneSum) -> int:
    """Cycles from operands to the sum."""
    return _holds_operands(config) + config.difference_stage + config.pipeline


class LaneSumUnit(wiring.Component):
    """``o = c (+) (+) over lanes of a (x) b``, as :class:`LaneSum` says.

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
        m.submodules.unit = unit = SemiringUnit(config, config.semirings)
        m.d.comb += [
            unit.operator.eq(_always(unit.operator)),
            unit.advance.eq(1),
            unit.c.eq(self._addend(m)),
            self.o.eq(unit.o),
        ]
        if config.difference_stage:
            m.d.comb += unit.o_operator.eq(_always(unit.o_operator))
        if compares(config, config.semirings):
            m.d.comb += [unit.next_operator.eq(_always(unit.next_operator)), unit.load.eq(1)]
        for name in ("a", "b"):
            self._operands(m, name, unit)
        return m

    def _operands(self, m: Module, name: str, unit: SemiringUnit) -> None:
        """Unpack one operand of all lanes."""
        config, words, unpacked = self._config, getattr(self, name), getattr(unit, name)
        if not _holds_operands(config):
            for lane in range(config.lanes):
                m.submodules[f"unpack_{name}_{lane}"] = unpack = _unpacker(config.element)
                m.d.comb += [unpack.i.eq(words[lane]), unpacked[lane].eq(unpack.o)]
            return
        compared = compares(config, config.semirings)
        m.submodules[f"operands_{name}"] = register = OperandRegister(
            config.element, config.lanes, compared=compared
        )
        m.d.comb += [
            register.i.eq(words),
            register.legal.eq(1),
            register.load.eq(1),
            unpacked.eq(register.o),
        ]
        if compared:
            m.d.comb += getattr(unit, f"next_{name}").eq(register.next)

    def _addend(self, m: Module) -> Value:
        """The addend as the unit takes it."""
        config = self._config
        if not self._adds:
            identity = Const(config.semirings[0].identity_in(config.result), config.result.bits)
            return self._unpacked(m, identity)
        if not _holds_operands(config):
            return self._unpacked(m, self.c)
        m.submodules.addend = addend = AddendRegister(
            config.result, delayed=config.difference_stage
        )
        m.d.comb += [addend.i.eq(self.c), addend.legal.eq(1), addend.load.eq(1)]
        if config.difference_stage:
            m.d.comb += addend.advance.eq(1)
        return addend.o

    def _unpacked(self, m: Module, word: Value) -> Value:
        if isinstance(self._config.result, IntFormat):
            return word
        m.submodules.unpack_c = unpack = Unpack(self._config.result)
        m.d.comb += unpack.i.eq(word)
        return unpack.o


def _unpacker(fmt: Format) -> Unpack | UnpackInteger:
    return UnpackInteger(fmt) if isinstance(fmt, IntFormat) else Unpack(fmt)


def _always(operator: data.View) -> Const:
    """The decoded opcode where there is one semiring: all its bits are set."""
    bits = operator.shape().size
    return Const((1 << bits) - 1, bits)
