"""Opcode decoder, handshake and the control bits that travel beside the data."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.pipeline import CUTS
from ..arith.semiring.layouts import operator_layout
from ..spec.simd2 import OP_BITS, Simd2Config

__all__ = ["OperationControl"]


def control_layout(config: Simd2Config) -> data.StructLayout:
    """Control bits that travel with a step: it is the operation's last one, the opcode was illegal,
    its products join those of the step before, and, with separate datapaths, the datapath that has
    its result."""
    members = {"last": 1, "error": 1}
    if config.multi_step:
        members["accumulate"] = 1
    if not config.shared:
        members["finished"] = len(config.semirings)
    return data.StructLayout(members)


class OperationControl(wiring.Component):
    """Accepts operations from the input stream and controls when their results leave.

    An operation stays in the operand registers for its initiation interval. While a result waits
    to be taken, the whole pipeline waits.

    Parameters
    ----------
    config: the unit's configuration

    Members
    -------
    op, valid, ready: opcode and handshake of the input stream
    o_valid, o_ready: handshake of the output stream
    error: of the result: its opcode was not one of the unit's
    advance: the pipeline moves
    load: an operation enters the operand registers; ``legal``: it is one of the unit's
    next_operator: decoded opcode of the operation on the input stream
    operator: of the operation in the operand registers
    aligned_operator, prepared_operator, rounded_operator: (such a register stage before the
        multipliers) of the operation behind it
    accumulate: (two-step products) the operation at the multipliers is in its second step
    finished: (separate datapaths) one bit for each semiring: the result is one of its
    """

    def __init__(self, config: Simd2Config) -> None:
        self.config: Final = config
        operator = operator_layout(config.semirings)
        members = {
            "op": In(OP_BITS),
            "valid": In(1),
            "ready": Out(1),
            "o_valid": Out(1),
            "o_ready": In(1),
            "error": Out(1),
            "advance": Out(1),
            "load": Out(1),
            "legal": Out(1),
            "next_operator": Out(operator),
            "operator": Out(operator),
        }
        members |= {f"{cut}_operator": Out(operator) for cut in config.lane_cuts}
        if config.multi_step:
            members["accumulate"] = Out(1)
        if not config.shared:
            members["finished"] = Out(len(config.semirings))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, rows = self.config, self.config.semirings
        select = Signal(len(rows))
        m.d.comb += [
            select.eq(Cat(self.op == row.opcode for row in rows)),
            self.legal.eq(select.any()),
            self.advance.eq(~self.o_valid | self.o_ready),
        ]
        # The operation in the operand registers.
        operator = Signal(operator_layout(rows))
        entering = Signal(control_layout(config))
        m.d.comb += [
            self.ready.eq(self._steps(m, select, entering)),
            self.load.eq(self.ready & self.valid),
            self.operator.eq(operator),
        ]
        for name in operator.shape().members:
            kind, _, word = name.partition("_")
            uses = [select[i] for i, row in enumerate(rows) if getattr(row, kind) == word]
            m.d.comb += self.next_operator[name].eq(Cat(*uses).any())
        with m.If(self.ready):
            m.d.sync += operator.eq(self.next_operator)
        control = entering
        for cut in config.lane_cuts:
            operator = self._register(m, f"{cut}_operator_register", operator)
            m.d.comb += getattr(self, f"{cut}_operator").eq(operator)
            control = self._register(m, f"{cut}_control", control)
        if config.multi_step:
            m.d.comb += self.accumulate.eq(control.accumulate)
        for cut in CUTS[config.pipeline]:
            if cut not in config.lane_cuts:
                control = self._register(m, f"{cut}_control", control)
        m.d.comb += [self.o_valid.eq(control.last), self.error.eq(control.error)]
        if not config.shared:
            m.d.comb += self.finished.eq(control.finished)
        return m

    def _register(self, m: Module, name: str, value: data.View) -> data.View:
        register = Signal(value.shape(), name=name)
        with m.If(self.advance):
            m.d.sync += register.eq(value)
        return register

    def _steps(self, m: Module, select: Value, entering: data.View) -> Value:
        """The control bits of the operation in the operand registers; whether it may leave them."""
        config, rows = self.config, self.config.semirings
        active = Signal()
        illegal = Signal()
        m.d.comb += [entering.error.eq(illegal), entering.last.eq(active)]
        leaves: Value = self.advance
        if config.multi_step:
            two_steps = Signal()
            second_step = Signal()
            last_step = Signal()
            twice = Cat(select[i] for i, row in enumerate(rows) if row.multiplies).any()
            m.d.comb += [
                last_step.eq(second_step | ~two_steps),
                entering.accumulate.eq(second_step),
                entering.last.eq(active & last_step),
            ]
            leaves = self.advance & (~active | last_step)
            with m.If(self.ready):
                m.d.sync += [two_steps.eq(twice), second_step.eq(0)]
            with m.Elif(self.advance):
                m.d.sync += second_step.eq(1)
        with m.If(self.ready):
            m.d.sync += [active.eq(self.valid), illegal.eq(~self.legal)]
        if not config.shared:
            chosen = Signal(len(rows))
            with m.If(self.ready):
                m.d.sync += chosen.eq(select)
            m.d.comb += entering.finished.eq(chosen)
        return leaves
