"""The semiring matrix unit."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring

from ..arith.semiring.semiring_unit import AddendRegister, OperandRegister, SemiringUnit
from ..spec.simd2 import Simd2Config, compares
from ..stream.matrix_unit import matrix_unit_signature
from .control import OperationControl

__all__ = ["Simd2"]


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
