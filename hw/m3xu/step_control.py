"""The sequence of steps of the matrix unit's operations."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.data import View
from amaranth.lib.wiring import In, Out

from ..spec.m3xu import MODES, OP_BITS, GridUnitConfig
from .operand_decoder import select_layout

__all__ = ["StepControl", "control_layout"]


def control_layout() -> data.StructLayout:
    """Control bits that travel with a step through the pipeline.

    ``accumulate``: the products join those of the step before; ``imaginary``: they belong to
    an imaginary part; ``last``: the operation is complete; ``error``: its opcode was illegal.
    """
    return data.StructLayout({"accumulate": 1, "imaginary": 1, "last": 1, "error": 1})


class StepControl(wiring.Component):
    """Accepts operations from the input stream and controls their steps.

    One operation after the other, without a gap: the next one is loaded while the last step of
    the one before is in flight. Everything moves only while ``advance`` is set.

    Source: M3XU, microarchitecture: steps of FP32 and FP32C.

    Parameters
    ----------
    config: the unit's configuration
    pipelined: operations wait one cycle in a register before they are loaded

    Members
    -------
    op, valid, ready: the input stream's handshake and opcode
    advance: the pipeline moves
    select: the mode of the operation on the input stream
    take: (pipelined) the operation enters the waiting register
    load: an operation enters the operand registers; ``complex``: it is fp32c
    swap_halves, swap_words: how the operand registers change for the next step
    control: of the step in the operand registers; without an operation, ``last`` is clear
    """

    def __init__(self, config: GridUnitConfig, *, pipelined: bool = False) -> None:
        self.config: Final = config
        self._pipelined = pipelined
        super().__init__(
            {
                "op": In(OP_BITS),
                "valid": In(1),
                "ready": Out(1),
                "advance": In(1),
                "select": Out(select_layout(config.modes)),
                "take": Out(1),
                "load": Out(1),
                "complex": Out(1),
                "swap_halves": Out(1),
                "swap_words": Out(1),
                "control": Out(control_layout()),
            }
        )

    @property
    def pipelined(self) -> bool:
        return self._pipelined

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for mode in self.config.modes:
            m.d.comb += self.select[mode].eq(self.op == MODES[mode].opcode)
        step = Signal(2)
        last_step = Signal(2)
        active = Signal()
        error = Signal()
        done = Signal()
        loading = Signal()
        m.d.comb += [done.eq(step == last_step), loading.eq(~active | done)]
        offered, select, illegal = self._offer(m, loading)
        steps = {
            n: Cat(
                select[mode]
                for mode in self.config.modes
                if self.config.initiation_interval[mode] == n
            ).any()
            for n in (2, 4)
        }
        m.d.comb += [
            self.load.eq(loading & offered),
            self.complex.eq(steps[4]),
            self.swap_halves.eq(~step[0]),
            self.swap_words.eq(step == 1),
            self.control.accumulate.eq(step[0]),
            self.control.imaginary.eq(step[1]),
            self.control.last.eq(active & done),
            self.control.error.eq(error),
        ]
        with m.If(self.advance):
            with m.If(loading):
                m.d.sync += [
                    active.eq(offered),
                    step.eq(0),
                    last_step.eq(Cat(steps[2] | steps[4], steps[4])),
                    error.eq(illegal),
                ]
            with m.Else():
                m.d.sync += step.eq(step + 1)
        return m

    def _offer(self, m: Module, loading: Value) -> tuple[Value, View, Value]:
        """The operation that is loaded next: whether there is one, its mode, and illegality."""
        illegal = Signal()
        m.d.comb += illegal.eq(~self.select.as_value().any())
        if not self._pipelined:
            m.d.comb += self.ready.eq(self.advance & loading)
            return self.valid, self.select, illegal
        waiting = Signal()
        waiting_select = Signal(select_layout(self.config.modes))
        waiting_illegal = Signal()
        free = Signal()
        m.d.comb += [
            free.eq(~waiting | loading),
            self.ready.eq(self.advance & free),
            self.take.eq(free & self.valid),
        ]
        with m.If(self.advance & free):
            m.d.sync += [
                waiting.eq(self.valid),
                waiting_select.eq(self.select),
                waiting_illegal.eq(illegal),
            ]
        return waiting, waiting_select, waiting_illegal
