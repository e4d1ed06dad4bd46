"""The two ALUs of a semiring unit, each alone with a stream and its operand logic."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.arith.semiring.oplus import Oplus
from tilewright.hw.arith.semiring.otimes import Otimes
from tilewright.hw.arith.semiring.semiring_unit import OperandRegister
from tilewright.hw.arith.unpack import Unpack
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.semirings import Semiring


def _decode(m: Module, semirings: tuple[Semiring, ...], index: Value, operator: data.View) -> None:
    for name in operator.shape().members:
        kind, _, word = name.partition("_")
        uses = [index == i for i, row in enumerate(semirings) if getattr(row, kind) == word]
        m.d.comb += operator[name].eq(Cat(*uses).any())


def _valid(m: Module, start: Value, advance: Value, stages: int) -> Value:
    """The start bit, so many registers later."""
    for stage in range(stages):
        valid = Signal(name=f"valid_{stage}")
        with m.If(advance):
            m.d.sync += valid.eq(start)
        start = valid
    return start


class OtimesUnit(wiring.Component):
    """:class:`Otimes` with its operand registers.

    Parameters
    ----------
    element, result: formats of the operands, and of what their terms are joined to
    semirings: those the ALU is built with

    Members
    -------
    i: two packed operands and the index of their semiring
    o: the term
    """

    def __init__(
        self, element: FloatFormat, result: FloatFormat, semirings: tuple[Semiring, ...]
    ) -> None:
        self._element = element
        self._semirings = semirings
        self._otimes = Otimes(element, result, semirings, cuts=("prepared",))
        operands = {"a": element.bits, "b": element.bits, "index": 4}
        term = self._otimes.o.shape()
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(operands))),
                "o": Out(stream.Signature(term)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.otimes = otimes = self._otimes
        advance = Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.i.ready.eq(advance)]
        for name in "ab":
            m.submodules[f"register_{name}"] = register = OperandRegister(
                self._element, 1, compared=otimes.compares
            )
            m.d.comb += [
                register.i[0].eq(self.i.payload[name]),
                register.legal.eq(1),
                register.load.eq(advance & self.i.valid),
                getattr(otimes, name).eq(register.o[0]),
            ]
            if otimes.compares:
                m.d.comb += getattr(otimes, f"next_{name}").eq(register.next[0])
        operators = [Signal(otimes.operator.shape(), name=f"operator_{k}") for k in range(3)]
        _decode(m, self._semirings, self.i.payload.index, operators[0])
        term = Signal(otimes.o.shape(), name="term")
        with m.If(advance):
            m.d.sync += [operators[k + 1].eq(operators[k]) for k in range(2)]
            m.d.sync += term.eq(otimes.o)
        m.d.comb += [
            otimes.operator.eq(operators[1]),
            otimes.o_operator.eq(operators[2]),
            otimes.advance.eq(advance),
            self.o.payload.eq(term),
            self.o.valid.eq(_valid(m, self.i.valid, advance, 3)),
        ]
        if otimes.compares:
            m.d.comb += [
                otimes.next_operator.eq(operators[0]),
                otimes.load.eq(advance & self.i.valid),
            ]
        return m


class OplusUnit(wiring.Component):
    """:class:`Oplus` with an unpacked addend.

    Parameters
    ----------
    element, result: formats of the operands that terms are made of, and of the result
    semirings: those the ALU is built with
    terms, alignment_bits, pipeline: of the ALU

    Members
    -------
    i: the terms, the packed addend and the index of their semiring
    o: the result
    """

    def __init__(
        self,
        element: FloatFormat,
        result: FloatFormat,
        semirings: tuple[Semiring, ...],
        *,
        terms: int,
        alignment_bits: int,
        pipeline: int,
    ) -> None:
        self._result = result
        self._semirings = semirings
        self._oplus = Oplus(
            element,
            result,
            semirings,
            terms=terms,
            alignment_bits=alignment_bits,
            pipeline=pipeline,
        )
        operands: dict[str, object] = {"c": result.bits, "index": 4}
        operands |= {f"term_{k}": self._oplus.terms[k].shape().size for k in range(terms)}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(operands))),
                "o": Out(stream.Signature(data.StructLayout({"d": result.bits}))),
            }
        )

    @property
    def term(self) -> data.StructLayout:
        """Layout of a term."""
        return self._oplus.terms[0].shape()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.oplus = oplus = self._oplus
        m.submodules.unpack = unpack = Unpack(self._result)
        operand = self.i.payload
        _decode(m, self._semirings, operand.index, oplus.operator)
        m.d.comb += [
            unpack.i.eq(operand.c),
            oplus.c.eq(unpack.o),
            oplus.advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(oplus.advance),
            self.o.payload.d.eq(oplus.o),
            self.o.valid.eq(_valid(m, self.i.valid, oplus.advance, oplus.pipeline)),
        ]
        for k in range(len(oplus.terms)):
            m.d.comb += oplus.terms[k].as_value().eq(operand[f"term_{k}"])
        return m
