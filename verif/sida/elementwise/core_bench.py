"""The element-wise core between a host and a memory, one part of a program after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.sida.elementwise.ewise_core import EwiseCore
from tilewright.hw.sida.elementwise.layouts import (
    block_rows,
    request_layout,
    row_layout,
    stored_layout,
    values_layout,
)
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.elementwise.program import Program, words_of
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.values import Patterns
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack


class Command(enum.Enum, shape=3):  # type: ignore[call-arg]
    """Command of the host; the host sends one after the other."""

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
    """Drops the core's outputs until ``CLEAR``."""


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


Fields = dict[str, npt.NDArray[Any]]
Commands = list[tuple[Any, int, int]]
"""Command, place, value."""
_UNPAUSED = Pauses()


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a program, with its operands.

    Parameters
    ----------
    program, name: the part is its ``e1`` or ``e2``
    y: (size,) patterns
    scalars: patterns by number
    vectors: (size,) patterns by number
    clear: the cycle, from the start, in which all is forgotten; None: none
    wrong: whether the program has a word that the core must refuse
    words: what is in the program's memory, if not the program; e2 begins where it would
    """

    program: Program
    name: str
    y: Patterns
    scalars: list[int]
    vectors: Mapping[int, Patterns]
    clear: int | None = None
    wrong: bool = False
    words: list[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """Results of a part; a part that is cleared or wrong has no rows.

    Members
    -------
    rows: fields of the results
    requests, stored: likewise of what is loaded, and of what went to memory
    scalars: afterwards
    error: the place of the word that is no instruction; None: there is none
    cycles, executed: from start to done, and those in which an instruction was done on a row
    asked: requests, counted until it was over
    """

    rows: Fields
    requests: Fields
    stored: Fields
    scalars: list[int]
    error: int | None
    cycles: int
    executed: int
    asked: int


@cache
def _simulation(config: SidaConfig) -> NativeSimulation:
    return NativeSimulation(emit_component(CoreUnit(config), name="ewise"))


def run_part(config: SidaConfig, part: Part, pauses: Pauses = _UNPAUSED) -> Found:
    """A part, on the core as the part before left it."""
    unit = _simulation(config)
    _run(unit, pauses, _commands(unit, _set_up(part)), {})
    rows = -(-len(part.y) // config.pes)
    given = {
        "i": _rows(unit, "i", config, part.y, slice(None)),
        "loaded": np.concatenate(
            [
                _rows(unit, "loaded", config, part.vectors[vector], slice(first, first + count))
                for vector, first, count in loads(config, part)
            ]
            or [_rows(unit, "loaded", config, part.y, slice(0))]
        ),
    }
    first = len(words_of(part.program.e1)) if part.name == "e2" else 0
    start = [(Command.START, first, len(part.y))]
    counts = {"answers": 1}
    if part.clear is not None:
        commands = [(Command.IGNORE, 0, 0), *start, (Command.CLEAR, 0, part.clear)]
        counts = {}
    elif part.wrong:
        commands = [(Command.IGNORE, 0, 0), *start, (Command.AWAIT, 0, 0), (Command.CLEAR, 0, 9)]
    else:
        commands = [*start, (Command.AWAIT, 0, 0)]
        names = [one.operation.name for one in part.program.part(part.name)]
        counts |= {
            "o": rows,
            "stored": rows * names.count("store"),
            "requests": len(list(loads(config, part))),
        }
    found = _run(unit, pauses, {"commands": _commands(unit, commands)["commands"], **given}, counts)
    reads = _commands(unit, [(Command.READ, number, 0) for number in range(SCALARS)])
    answer = {name: int(values[0]) for name, values in found["answers"].items() if len(values)}
    return Found(
        rows=found["o"],
        requests=found["requests"],
        stored=found["stored"],
        scalars=_run(unit, pauses, reads, {"answers": SCALARS})["answers"]["value"].tolist(),
        error=answer["value"] if answer.get("error") else None,
        cycles=answer.get("cycles", 0),
        executed=answer.get("executed", 0),
        asked=answer.get("asked", 0),
    )


def begin_again(config: SidaConfig, part: Part, y: Patterns, cycle: int) -> Fields:
    """Clears a part of one row, at least five cycles from its start, and begins it again with
    another y of a row at once. Returns the rows of its results."""
    unit = _simulation(config)
    setting = _set_up(part)
    start = (Command.START, 0, len(y))
    commands = [*setting, (Command.IGNORE, 0, 0), start, (Command.CLEAR, 0, cycle)]
    commands += [setting[-1], start, (Command.AWAIT, 0, 0)]
    # A row is dropped between the two.
    rows = [_rows(unit, "i", config, values, slice(None)) for values in (part.y, part.y, y)]
    given = {**_commands(unit, commands), "i": np.concatenate(rows)}
    return _run(unit, _UNPAUSED, given, {"answers": 1, "o": 1})["o"]


def loads(config: SidaConfig, part: Part) -> Iterator[tuple[int, int, int]]:
    """Yields the loads of the part in order: vector, first row, rows. The part does not load what
    it has stored."""
    rows = -(-len(part.y) // config.pes)
    for first in range(0, rows, block_rows(config)):
        stored: set[int] = set()
        for one in part.program.part(part.name):
            if one.operation.name == "store":
                stored |= set(one.of("v"))
            elif one.operation.name == "load" and one.of("v")[0] not in stored:
                yield one.of("v")[0], first, min(block_rows(config), rows - first)


def _set_up(part: Part) -> Commands:
    words = part.words
    if words is None:
        words = [*words_of(part.program.e1), *words_of(part.program.e2)]
    return [(Command.PROGRAM, place, word) for place, word in enumerate(words)] + [
        (Command.SCALAR, place, pattern) for place, pattern in enumerate(part.scalars)
    ]


def _commands(unit: NativeSimulation, commands: Commands) -> Fields:
    columns = zip(
        *((command.value, place, value) for command, place, value in commands), strict=True
    )
    names = ("command", "place", "value")
    fields = {n: np.array(c, np.uint64) for n, c in zip(names, columns, strict=True)}
    return {"commands": pack(fields, unit.stream("commands"))}


def _rows(
    unit: NativeSimulation, stream: str, config: SidaConfig, values: Patterns, which: slice
) -> npt.NDArray[Any]:
    """Returns payloads of some of a vector's rows, with ones after the last element."""
    more = np.full(-len(values) % config.pes, (1 << config.format.bits) - 1, np.uint64)
    rows = np.concatenate([values, more]).reshape(-1, config.pes)[which]
    return pack({"values": rows}, unit.stream(stream))


def _run(
    unit: NativeSimulation, pauses: Pauses, given: Fields, counts: dict[str, int]
) -> dict[str, Fields]:
    found, _ = unit.run_streams(given, counts, pauses=pauses)
    return {name: unpack(words, unit.stream(name)) for name, words in found.items()}
