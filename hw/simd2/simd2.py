"""The semiring matrix unit."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.pipeline import CUTS
from ..arith.semiring.layouts import operator_layout
from ..arith.semiring.semiring_unit import AddendRegister, OperandRegister, SemiringUnit
from ..spec.simd2 import OP_BITS, Simd2Config, compares
from ..stream.matrix_unit import matrix_unit_signature

__all__ = ["OperationControl", "Simd2"]


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


class Simd2(wiring.Component):
    """Computes ``d = c (+) (a (x) b)`` on square tiles, in any of the semirings it is built with.

    Initiation interval 1 (2 for products on half-width multipliers) and one latency, as the
    configuration says, whatever the mix of operations. While a result waits to be taken, the
    whole pipeline waits.

    Source: SIMD2, hardware architecture of its matrix unit.

    Parameters
    ----------
    config: see :class:`Simd2Config`

    Members
    -------
    i, o: see :func:`matrix_unit_signature`
    """

    def __init__(self, config: Simd2Config) -> None:
        self.config: Final = config
        super().__init__(matrix_unit_signature(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, operation = self.config, self.i.payload
        m.submodules.control = control = OperationControl(config)
        m.d.comb += [
            control.op.eq(operation.op),
            control.valid.eq(self.i.valid),
            self.i.ready.eq(control.ready),
            self.o.valid.eq(control.o_valid),
            control.o_ready.eq(self.o.ready),
            self.o.payload.error.eq(control.error),
        ]
        a, b = {}, {}
        for row in range(config.rows):
            a[row] = self._operands(m, f"operands_a_{row}", operation.a[row].as_value(), control)
        for col in range(config.cols):
            column = Cat(operation.b[k][col] for k in range(config.b_depth))
            b[col] = self._operands(m, f"operands_b_{col}", column, control)
        metadata = self._metadata(m, control)
        for row in range(config.rows):
            for col in range(config.cols):
                where = f"{row}_{col}"
                c = self._addend(m, where, operation.c[row][col], control)
                d = self._element(m, (row, col), (a[row], b[col], c), metadata.get(row), control)
                m.d.comb += self.o.payload.d[row][col].eq(d)
        return m

    def _operands(
        self, m: Module, name: str, words: Value, control: OperationControl
    ) -> OperandRegister:
        config = self.config
        m.submodules[name] = register = OperandRegister(
            config.element,
            len(words) // config.lane_bits,
            compared=compares(config, config.semirings),
        )
        m.d.comb += [
            register.i.eq(words),
            register.legal.eq(control.legal),
            register.load.eq(control.load),
        ]
        return register

    def _addend(self, m: Module, where: str, word: Value, control: OperationControl) -> Value:
        config = self.config
        m.submodules[f"addend_{where}"] = addend = AddendRegister(
            config.result, delays=len(config.lane_cuts)
        )
        m.d.comb += [
            addend.i.eq(word),
            addend.legal.eq(control.legal),
            addend.load.eq(control.load),
        ]
        if config.lane_cuts:
            m.d.comb += addend.advance.eq(control.advance)
        return addend.o

    def _metadata(self, m: Module, control: OperationControl) -> dict[int, Value]:
        """Registers the positions of the elements of a sparse a, row by row."""
        config = self.config
        if config.b_depth == config.depth:
            return {}
        held = {}
        for row in range(config.rows):
            positions = self.i.payload.metadata[row]
            held[row] = Signal(positions.shape(), name=f"metadata_{row}", reset_less=True)
            with m.If(control.load):
                m.d.sync += held[row].eq(positions)
        return held

    def _element(
        self,
        m: Module,
        place: tuple[int, int],
        operands: tuple[OperandRegister, OperandRegister, Value],
        metadata: Value | None,
        control: OperationControl,
    ) -> Value:
        """An element of d: of the one shared datapath, or of the right one of several."""
        config, row = self.config, place[0]
        where = f"{row}_{place[1]}"
        if config.shared:
            groups = {f"element_{where}": config.semirings}
        else:
            groups = {f"element_{where}_{s.name}": (s,) for s in config.semirings}
        a, b, c = operands
        results = []
        for index, (name, semirings) in enumerate(groups.items()):
            m.submodules[name] = unit = SemiringUnit(config, semirings)
            m.d.comb += [
                unit.a.eq(a.o),
                unit.b.eq(b.o),
                unit.c.eq(c),
                unit.advance.eq(control.advance),
            ]
            if compares(config, semirings):
                m.d.comb += [
                    unit.next_a.eq(a.next),
                    unit.next_b.eq(b.next),
                    unit.load.eq(control.load),
                ]
                self._decoded(m, unit.next_operator, control.next_operator)
                if metadata is not None:
                    m.d.comb += unit.next_positions.eq(self.i.payload.metadata[row])
            self._decoded(m, unit.operator, control.operator)
            for cut in config.lane_cuts:
                name = "o" if cut == config.lane_cuts[-1] else cut
                behind = getattr(control, f"{cut}_operator")
                self._decoded(m, getattr(unit, f"{name}_operator"), behind)
            if config.multi_step:
                m.d.comb += unit.accumulate.eq(control.accumulate)
            if metadata is not None:
                m.d.comb += unit.positions.eq(metadata)
            chosen = unit.o
            if not config.shared:
                chosen = unit.o & control.finished[index].replicate(len(unit.o))
            results.append(chosen)
        return reduce(or_, results)

    def _decoded(self, m: Module, operator: data.View, whole: data.View) -> None:
        """Connects the fields of the decoded opcode that a datapath needs."""
        m.d.comb += [operator[name].eq(whole[name]) for name in operator.shape().members]
