"""The element-wise core with streams alone, as the native simulation drives it."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.sida.elementwise.ewise_core import EwiseCore
from tilewright.hw.sida.elementwise.layouts import (
    request_layout,
    row_layout,
    stored_layout,
    values_layout,
)
from tilewright.hw.spec.sida import SidaConfig

__all__ = ["Command", "CoreUnit", "answer_layout", "command_layout"]


class Command(enum.Enum, shape=3):  # type: ignore[call-arg]
    """What the host does, one after the other."""

    PROGRAM = 0
    """Writes ``value`` to word ``place``, the program's last one until another comes. Rows are not
    dropped any more."""
    SCALAR = 1
    """Writes ``value`` to scalar ``place``."""
    READ = 2
    """Answers with scalar ``place``."""
    START = 3
    """Begins the part at word ``place`` of ``value`` elements."""
    AWAIT = 4
    """Answers, when the part is over or stands, with the place of its error."""
    CLEAR = 5
    """Clears, ``value`` cycles later."""
    IGNORE = 6
    """From here to ``CLEAR`` what the core gives is dropped."""


def command_layout(config: SidaConfig) -> data.StructLayout:
    return data.StructLayout({"command": 3, "place": 10, "value": max(32, config.format.bits)})


def answer_layout(config: SidaConfig) -> data.StructLayout:
    """``value``; of a part that is over, whether it has an ``error``, ``cycles`` since it began,
    and of these those in which something was ``executed``, and those in which it ``asked``."""
    return data.StructLayout(
        {
            "value": max(32, config.format.bits),
            "error": 1,
            "cycles": 32,
            "executed": 32,
            "asked": 32,
        }
    )


class CoreUnit(wiring.Component):
    """An ``EwiseCore`` whose host is a stream of commands.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    commands, answers: see :class:`Command`
    i, loaded, o, requests, stored: the core's; from a clear or an error to the next program, rows
        that come are dropped
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        rows = data.StructLayout({"values": values_layout(config)})
        stored = {"vector": stored_layout(config)["vector"].shape}
        stored |= {name: field.shape for name, field in row_layout(config)}
        super().__init__(
            {
                "commands": In(stream.Signature(command_layout(config))),
                "answers": Out(stream.Signature(answer_layout(config))),
                "i": In(stream.Signature(rows)),
                "loaded": In(stream.Signature(rows)),
                "o": Out(stream.Signature(row_layout(config))),
                "requests": Out(stream.Signature(request_layout(config))),
                "stored": Out(stream.Signature(data.StructLayout(stored))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = EwiseCore(self._config)
        drops = Signal()
        ignores = Signal()
        for name in ("i", "loaded"):
            outer, inner = getattr(self, name), getattr(core, name)
            m.d.comb += [
                inner.valid.eq(outer.valid & ~drops),
                inner.payload.eq(outer.payload["values"]),
                outer.ready.eq(inner.ready | drops),
            ]
        for name in ("o", "requests", "stored"):
            outer, inner = getattr(self, name), getattr(core, name)
            m.d.comb += [
                outer.valid.eq(inner.valid & ~ignores),
                outer.payload.as_value().eq(inner.payload.as_value()),
                inner.ready.eq(outer.ready | ignores),
            ]
        self._host(m, core, drops, ignores)
        return m

    def _host(self, m: Module, core: EwiseCore, drops: Signal, ignores: Signal) -> None:
        given, answer = self.commands.payload, self.answers.payload
        waited = Signal(32)
        read = Signal()
        over = Signal()
        cycles = Signal(32)
        executed = Signal(32)
        asked = Signal(32)
        words = Signal(range(self._config.program_words + 1))
        m.d.comb += [
            core.program_place.eq(given.place),
            core.scalar_place.eq(given.place),
            core.entry.eq(given.place),
            core.word.eq(given.value),
            core.scalar.eq(given.value),
            core.columns.eq(given.value),
            answer.value.eq(Mux(read, core.scalar_read, core.error_place)),
            answer.error.eq(core.error & ~read),
            answer.cycles.eq(cycles),
            answer.executed.eq(executed),
            answer.asked.eq(asked),
            core.words.eq(words),
        ]
        with m.If(core.busy & ~over):
            m.d.sync += [cycles.eq(cycles + 1), executed.eq(executed + core.executes)]
        with m.If(core.requests.valid & core.requests.ready):
            m.d.sync += asked.eq(asked + 1)
        with m.If(core.done | core.error):
            m.d.sync += [over.eq(1), drops.eq(core.error)]
        with m.If(self.commands.valid), m.Switch(given.command):
            with m.Case(Command.PROGRAM):
                m.d.comb += [core.program_write.eq(1), self.commands.ready.eq(1)]
                m.d.sync += [drops.eq(0), words.eq(given.place + 1)]
            with m.Case(Command.SCALAR):
                m.d.comb += [core.scalar_write.eq(1), self.commands.ready.eq(1)]
            with m.Case(Command.READ):
                m.d.comb += [
                    self.answers.valid.eq(read),
                    self.commands.ready.eq(read & self.answers.ready),
                ]
                m.d.sync += read.eq(~self.commands.ready)
            with m.Case(Command.START):
                m.d.comb += [core.start.eq(1), self.commands.ready.eq(1)]
                m.d.sync += [over.eq(0), cycles.eq(0), executed.eq(0), asked.eq(0)]
            with m.Case(Command.AWAIT):
                m.d.comb += [
                    self.answers.valid.eq(over),
                    self.commands.ready.eq(over & self.answers.ready),
                ]
            with m.Case(Command.CLEAR):
                m.d.sync += waited.eq(waited + 1)
                with m.If(waited == given.value):
                    m.d.comb += [core.clear.eq(1), self.commands.ready.eq(1)]
                    m.d.sync += [waited.eq(0), drops.eq(1), ignores.eq(0)]
            with m.Case(Command.IGNORE):
                m.d.comb += self.commands.ready.eq(1)
                m.d.sync += ignores.eq(1)
