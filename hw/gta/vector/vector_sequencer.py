"""Commands of vectors, one after the other."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import COLS, GtaConfig
from ..layouts import STEP_TO_WRITE, pgemm_layout, vector_step_layout
from .function_table import FunctionTable, properties_layout
from .vector_steps import VectorSteps

__all__ = ["VectorSequencer"]

_TAIL = COLS + STEP_TO_WRITE + 1
"""Cycles from a command's last one to the write of the last column, and one more; of floats there
are the adders' stages, and the second word of fp64."""

_KEPT = ("operation", "format", "function", "amount")


class VectorSequencer(wiring.Component):
    """Sequences the work of the lane's columns, see :class:`VectorSteps`.

    A command is taken when none waits, and not less than 8 cycles after the one before: ``current``
    stays that long. It begins two cycles later, or where the one before ends. One of another
    function, format or amount is taken when all is quiet; one that reads results begins at
    least 8 cycles after the one before, and if these are among that one's, when they are written.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    command, start: in; a command of SIMD, taken in the cycle of ``start``
    offered: in; the command that ``ready`` is about
    current: in; the lane's command, from the cycle after it was taken on
    ready: out; ``offered`` may be taken, as far as vectors go; depends on it
    quiet: out; everything is over, the last result is written
    properties: out; of the command's function and format
    step: out; of column 0
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "command": In(pgemm_layout(config)),
                "offered": In(pgemm_layout(config)),
                "start": In(1),
                "current": In(pgemm_layout(config)),
                "ready": Out(1),
                "quiet": Out(1),
                "properties": Out(properties_layout(config)),
                "step": Out(vector_step_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = FunctionTable(self.config)
        m.submodules.steps = steps = VectorSteps(self.config)
        waits = Signal()
        early = Signal(range(COLS), name="cycles_too_early")
        stages = self.config.adder_stages + 1
        behind = Mux(self.properties.floats, _TAIL + stages, _TAIL)
        tail = Signal(range(_TAIL + stages + 1))
        same = Signal()
        begins = Signal()
        reads = Signal()
        meets = Signal()
        later = Signal()
        busy = Signal()
        near = Signal(range(COLS), name="begun_just_now")
        before = Signal.like(self.current.result_base, name="results_before")
        results = Cat(Const(0, 2), self.current.result_base)
        known = self.properties
        m.d.comb += [
            table.function_number.eq(self.command.function),
            table.format.eq(self.command.format),
            reads.eq(Mux(known.chains, self.current.use_c, known.c_plane)),
            # Results that begin at the other's first one, or before, are written by the time that
            # they are read, as this command begins some cycles later.
            later.eq((self.current.result_base > before) & (results < steps.results_end)),
            meets.eq(reads & (later | near.any())),
            busy.eq(steps.works | tail.any()),
            begins.eq(waits & Mux(meets, ~busy, ~steps.works | steps.ends)),
            steps.start.eq(begins),
            steps.command.eq(self.current),
            steps.properties.eq(self.properties),
            self.step.eq(steps.step),
            same.eq(
                Cat(self.current[n] for n in _KEPT) == Cat(self.offered[n] for n in _KEPT),
            ),
            self.quiet.eq(~(waits | busy)),
            self.ready.eq(~waits & ~early.any() & (same | self.quiet)),
        ]
        with m.If(self.start):
            m.d.sync += [
                self.properties.eq(table.o),
                before.eq(self.current.result_base),
                waits.eq(1),
                early.eq(COLS - 1),
            ]
        with m.Else():
            with m.If(begins):
                m.d.sync += waits.eq(0)
            with m.If(early.any()):
                m.d.sync += early.eq(early - 1)
        with m.If(begins):
            m.d.sync += near.eq(COLS - 1)
        with m.Elif(near.any()):
            m.d.sync += near.eq(near - 1)
        with m.If(steps.works):
            m.d.sync += tail.eq(behind)
        with m.Elif(tail.any()):
            m.d.sync += tail.eq(tail - 1)
        return m
