"""The operand registers at the edges of a semiring matrix unit."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import Format, IntFormat
from ..unpack import Unpack
from ..unpacked import format_layout
from .integer import UnpackInteger, integer_layout

__all__ = ["AddendRegister", "OperandRegister", "addend_layout", "operand_layout"]


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

    Latency: one register, which takes a new addend while ``load`` is set; with ``delayed``
    another, which moves while ``advance`` is set; both then hold the packed word.

    Parameters
    ----------
    format: format of the addend
    delayed: whether there are two registers

    Members
    -------
    i: the packed addend
    legal: without it the addend is a positive zero
    load, advance: (advance: delayed) enable the registers
    o: see :func:`addend_layout`
    """

    def __init__(self, format: Format, *, delayed: bool) -> None:
        self._format = format
        self._delayed = delayed
        members = {
            "i": In(format.bits),
            "legal": In(1),
            "load": In(1),
            "o": Out(addend_layout(format)),
        }
        if delayed:
            members["advance"] = In(1)
        super().__init__(members)

    @property
    def format(self) -> Format:
        return self._format

    @property
    def delayed(self) -> bool:
        return self._delayed

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i & self.legal.replicate(self._format.bits)
        if self._delayed:
            # Unpacked behind the second register: a packed word takes fewer bits.
            loaded = Signal(self._format.bits, reset_less=True)
            delayed = Signal(self._format.bits, reset_less=True)
            with m.If(self.load):
                m.d.sync += loaded.eq(word)
            with m.If(self.advance):
                m.d.sync += delayed.eq(loaded)
            m.d.comb += self.o.eq(self._unpacked(m, delayed))
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
