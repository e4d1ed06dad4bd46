"""One element of a result: n (x) ALUs and the (+) ALU that joins them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from amaranth.hdl import Array, Module, ShapeLike, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FloatFormat, Format, IntFormat
from ...spec.semirings import Semiring
from ...spec.simd2 import Simd2Config, compares
from ..unpack import Unpack, format_layout
from .integer import IntegerOplus, IntegerOtimes, UnpackInteger, integer_layout
from .layouts import operator_layout
from .oplus import Oplus
from .otimes import Otimes

_SHORT_FACTOR = 16
"""Bits of factors that one stage multiplies."""


def operand_layout(fmt: Format) -> data.StructLayout:
    """An unpacked element of a or b."""
    return integer_layout(fmt) if isinstance(fmt, IntFormat) else format_layout(fmt)


def addend_layout(fmt: Format) -> ShapeLike:
    """An unpacked element of c."""
    return signed(fmt.bits) if isinstance(fmt, IntFormat) else format_layout(fmt)


class OperandRegister(wiring.Component):
    """Unpacks a row of a, or a column of b, and holds it in registers.

    Latency: one register, which takes new operands while ``load`` is set.

    Parameters
    ----------
    format: format of an operand
    count: number of operands
    compared: whether packed operands are given out, too (floats)

    Members
    -------
    i: the packed operands, in their containers
    legal: without it all operands are positive zeros
    load: enables the registers
    o: see :func:`operand_layout`
    next: (compared) the packed operands at ``i``, which are taken up with ``load``
    """

    def __init__(self, format: Format, count: int, *, compared: bool = False) -> None:
        self._format = format
        self._count = count
        self._compared = compared
        members = {
            "i": In(data.ArrayLayout(format.container_bits, count)),
            "legal": In(1),
            "load": In(1),
            "o": Out(data.ArrayLayout(operand_layout(format), count)),
        }
        if compared:
            members["next"] = Out(data.ArrayLayout(format.bits, count))
        super().__init__(members)

    @property
    def format(self) -> Format:
        return self._format

    @property
    def count(self) -> int:
        return self._count

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self._format
        held = Signal(self.o.shape(), reset_less=True)
        m.d.comb += self.o.eq(held)
        for k in range(self._count):
            unpack = UnpackInteger(fmt) if isinstance(fmt, IntFormat) else Unpack(fmt)
            m.submodules[f"unpack_{k}"] = unpack
            word = self.i[k][fmt.container_bits - fmt.bits :]
            m.d.comb += unpack.i.eq(word & self.legal.replicate(fmt.bits))
            with m.If(self.load):
                m.d.sync += held[k].eq(unpack.o)
            if self._compared:
                m.d.comb += self.next[k].eq(unpack.i)
        return m


class AddendRegister(wiring.Component):
    """Unpacks an element of c and holds it until its products are complete.

    Latency: one register, which takes a new addend while ``load`` is set; with ``delays`` as many
    more, which move while ``advance`` is set; all then hold the packed word.

    Parameters
    ----------
    format: format of the addend
    delays: how many registers follow the first

    Members
    -------
    i: the packed addend
    legal: without it the addend is a positive zero
    load, advance: (advance: delays) enable the registers
    o: see :func:`addend_layout`
    """

    def __init__(self, format: Format, *, delays: int) -> None:
        self._format = format
        self._delays = delays
        members = {
            "i": In(format.bits),
            "legal": In(1),
            "load": In(1),
            "o": Out(addend_layout(format)),
        }
        if delays:
            members["advance"] = In(1)
        super().__init__(members)

    @property
    def format(self) -> Format:
        return self._format

    @property
    def delays(self) -> int:
        return self._delays

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i & self.legal.replicate(self._format.bits)
        if self._delays:
            # Unpacked behind the last register: a packed word takes fewer bits.
            last = Signal(self._format.bits, name="loaded", reset_less=True)
            with m.If(self.load):
                m.d.sync += last.eq(word)
            for number in range(self._delays):
                before, last = last, Signal.like(last, name=f"delayed_{number}", reset_less=True)
                with m.If(self.advance):
                    m.d.sync += last.eq(before)
            m.d.comb += self.o.eq(self._unpacked(m, last))
            return m
        held = Signal(self.o.shape(), reset_less=True)
        with m.If(self.load):
            m.d.sync += held.eq(self._unpacked(m, word))
        m.d.comb += self.o.eq(held)
        return m

    def _unpacked(self, m: Module, word: Value) -> Value:
        if isinstance(self._format, IntFormat):
            return word
        m.submodules.unpack = unpack = Unpack(self._format)
        m.d.comb += unpack.i.eq(word)
        return unpack.o


class SemiringUnit(wiring.Component):
    """Computes ``o = c (+) (+)_k (a[k] (x) b[k])`` in one of several semirings.

    Latency ``config.pipeline`` cycles, one more if squared differences are among the unit's
    operations, stages before the multipliers included; an operation a cycle. Registers move only
    while ``advance`` is set, or always.

    Source: SIMD2, hardware architecture: a unit with (x) and (+) ALUs.

    Parameters
    ----------
    config: the unit's configuration
    semirings: what this element computes
    stalls: whether there is ``advance``

    Members
    -------
    a, b: unpacked operands; a sparse unit has twice as many of b
    positions: (sparse) for each k, which of the four b of its group belongs to it
    operator: the decoded opcode of a and b, see :func:`operator_layout`
    next_a, next_b, next_operator, next_positions, load: (operands are compared) likewise, of the
        packed operands that come next, if ``load`` is set
    c: the unpacked addend; with register stages before the multipliers, as many cycles later
    aligned_operator, prepared_operator: (such a stage, and others behind it) the decoded opcode
        behind the stage
    o_operator: (such stages) the decoded opcode behind the last
    accumulate: (two-step products) the multipliers are in the second step
    advance: (stalls) enables all registers
    o: the result
    """

    def __init__(
        self, config: Simd2Config, semirings: Collection[Semiring], *, stalls: bool = True
    ) -> None:
        self.config: Final = config
        self._stalls = stalls
        self._semirings = tuple(semirings)
        operand = operand_layout(config.element)
        operator = operator_layout(semirings)
        members = {
            "a": In(data.ArrayLayout(operand, config.depth)),
            "b": In(data.ArrayLayout(operand, config.b_depth)),
            "c": In(addend_layout(config.result)),
            "operator": In(operator),
            "o": Out(config.result.bits),
        }
        if stalls:
            members["advance"] = In(1)
        if config.b_depth != config.depth:
            members["positions"] = In(data.ArrayLayout(2, config.depth))
        if compares(config, semirings):
            members["next_a"] = In(data.ArrayLayout(config.element.bits, config.depth))
            members["next_b"] = In(data.ArrayLayout(config.element.bits, config.b_depth))
            members |= {"next_operator": In(operator), "load": In(1)}
            if config.b_depth != config.depth:
                members["next_positions"] = In(data.ArrayLayout(2, config.depth))
        members |= {f"{cut}_operator": In(operator) for cut in config.lane_cuts[:-1]}
        if config.lane_cuts:
            members["o_operator"] = In(operator)
        if config.multi_step:
            members["accumulate"] = In(1)
        super().__init__(members)

    @property
    def semirings(self) -> tuple[Semiring, ...]:
        return self._semirings

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, cuts = self.config, self.config.lane_cuts
        m.submodules.oplus = oplus = self._oplus()
        m.d.comb += [
            oplus.c.eq(self.c),
            oplus.operator.eq(self.o_operator if cuts else self.operator),
            self.o.eq(oplus.o),
        ]
        if self._stalls:
            m.d.comb += oplus.advance.eq(self.advance)
        for k in range(config.depth):
            m.submodules[f"otimes_{k}"] = otimes = self._otimes()
            m.d.comb += [
                otimes.a.eq(self.a[k]),
                otimes.b.eq(self._partner(m, k, self.b, "positions")),
                otimes.operator.eq(self.operator),
                oplus.terms[k].eq(otimes.o),
            ]
            if compares(config, self._semirings):
                m.d.comb += [
                    otimes.next_a.eq(self.next_a[k]),
                    otimes.next_b.eq(self._partner(m, k, self.next_b, "next_positions")),
                    otimes.next_operator.eq(self.next_operator),
                    otimes.load.eq(self.load),
                ]
            for name in (*cuts[:-1], "o")[: len(cuts)]:
                operator = getattr(self, f"{name}_operator")
                m.d.comb += getattr(otimes, f"{name}_operator").eq(operator)
            if cuts and self._stalls:
                m.d.comb += otimes.advance.eq(self.advance)
            if config.multi_step:
                m.d.comb += [
                    otimes.accumulate.eq(self.accumulate),
                    otimes.partial.eq(oplus.partial[k]),
                ]
        return m

    @property
    def _split(self) -> bool:
        """True if long products are completed behind a register: nothing needs them before."""
        config, element = self.config, self.config.element
        return (
            isinstance(element, FloatFormat)
            and element.significand_bits > _SHORT_FACTOR
            and "rounded" in config.lane_cuts
            and not config.multi_step
            and all(row.plus == "add" and row.multiplies for row in self._semirings)
        )

    def _otimes(self) -> Otimes | IntegerOtimes:
        config = self.config
        if isinstance(config.element, IntFormat) and isinstance(config.result, IntFormat):
            return IntegerOtimes(config.element, config.result, self._semirings)
        assert isinstance(config.element, FloatFormat)
        assert isinstance(config.result, FloatFormat)
        return Otimes(
            config.element,
            config.result,
            self._semirings,
            cuts=config.lane_cuts,
            multiplier_bits=config.multiplier_bits,
            stalls=self._stalls,
            split=self._split,
        )

    def _oplus(self) -> Oplus | IntegerOplus:
        config = self.config
        terms, pipeline = config.depth, config.pipeline
        if isinstance(config.result, IntFormat):
            return IntegerOplus(
                config.result,
                self._semirings,
                terms=terms,
                pipeline=pipeline,
                stalls=self._stalls,
            )
        assert isinstance(config.element, FloatFormat)
        return Oplus(
            config.element,
            config.result,
            self._semirings,
            terms=terms,
            alignment_bits=config.window_bits,
            pipeline=pipeline,
            two_steps=config.multi_step,
            stalls=self._stalls,
            split=self._split,
        )

    def _partner(self, m: Module, k: int, operands: data.View, positions: str) -> Value:
        """The operand of b that meets a[k]."""
        if self.config.b_depth == self.config.depth:
            return Value.cast(operands[k])
        group = 4 * (k // 2)
        choices = [Value.cast(operands[group + i]) for i in range(4)]
        partner = Signal(len(choices[0]), name=f"partner_{k}_by_{positions}")
        m.d.comb += partner.eq(Array(choices)[getattr(self, positions)[k]])
        return partner
