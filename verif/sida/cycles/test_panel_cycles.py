"""The row loader in the cycle model: every part of a row in its cycle, with its contents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.sida.held.layouts import reload_layout, reload_request_layout
from tilewright.hw.sida.load.layouts import rows_job_layout
from tilewright.hw.sida.load.row_loader import RowLoader
from tilewright.sim.sida.cycles.compute import MACHINE, set_up_shared
from tilewright.sim.sida.cycles.load_state import AGAIN, memory_bus, set_up_load
from tilewright.sim.sida.cycles.panels import rows_offer, rows_step
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.striped.bus import step
from tilewright.sim.timing.striped.reader import (
    accepts,
    ask,
    has_line,
    is_last,
    reader_idle,
    take_line,
)
from tilewright.verif.channels.striped.memory_bench import ChannelMemory, Image, Manner
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import job_registers
from tilewright.verif.sida.load.matrices import CONFIGS, Asked, Matrix, asked_of, drawn
from tilewright.verif.stream.agents import Agent, run_agents
from tilewright.verif.timing.striped.pace import Offers, Pace, Watch, pattern

_SETTLES = 4
_READERS = 3


@dataclass
class Seen:
    """Cycles in which requests were taken; ``idle`` in every cycle; of each transfer the cycle, its
    row, whether it is the panel's last, and by leaf (present, column), zeros where there is
    none."""

    asked: list[int]
    idle: list[int]
    parts: list[tuple[int, int, int]]
    leaves: list[list[tuple[int, int]]]


@dataclass
class Reloading:
    """Panels that are requested, and accepted, where patterns [cycle] are 1; ``matrix`` calls its
    rows columns."""

    matrix: Matrix
    asked: Sequence[Asked]
    pace: Pace
    offers: npt.NDArray[np.uint8]
    takes: npt.NDArray[np.uint8]
    seed: int

    def image(self) -> tuple[bytes, list[int]]:
        """Memory, and where the arrays begin in it."""
        image = Image(self.matrix.config, self.seed)
        bases = [image.place(array) for array in self.matrix.arrays]
        return image.bytes, bases


class _Parts:
    """Takes transfers, and notes them."""

    def __init__(self, part: RowLoader, gate: npt.NDArray[np.uint8], seen: Seen) -> None:
        self._part, self._gate, self._seen = part, gate, seen

    def drive(self, sim: Any, cycle: int) -> None:
        sim.set(self._part.o.ready, int(self._gate[cycle]))

    def observe(self, sim: Any, cycle: int) -> None:
        if not (self._gate[cycle] and sim.get(self._part.o.valid)):
            return
        found = reload_layout(self._part.config).from_bits(sim.get(self._part.o.payload).as_bits())
        self._seen.parts.append((cycle, found.row, found.last))
        leaves = [found.elements[n] for n in range(self._part.config.pes)]
        self._seen.leaves.append([(1, x.column) if x.valid else (0, 0) for x in leaves])


def on_rtl(job: Reloading) -> Seen:
    """Runs in Amaranth's simulator until all panels have arrived."""
    config = job.matrix.config
    part = RowLoader(config)
    content, bases = job.image()
    names = ("pointers", "columns", "values")
    given = {**dict(zip(names, bases, strict=True)), "rows": job.matrix.size}
    manner = Manner(latency=(job.pace.latency, job.pace.latency))
    memories = [
        ChannelMemory(ar, r, config.geometry, channel, content, manner)
        for channel, (ar, r) in enumerate(zip(part.ar, part.r, strict=True))
    ]
    layout = reload_request_layout(config)
    words = [layout.const({"panel": p, "columns": c}).as_bits() for p, c in job.asked]
    asks, idle = Offers(part.request, words, job.offers), Watch(part.idle)
    seen = Seen(asks.cycles, idle.values, [], [])
    agents: list[Agent] = [asks, _Parts(part, job.takes, seen), idle, *memories]

    def until(sim: Any, cycle: int) -> bool:
        ended = sum(last for _, _, last in seen.parts)
        return ended == len(words) and all(idle.values[-_SETTLES:])

    wires = [(part.job, rows_job_layout(config).const(given).as_bits())]
    run_agents(part, agents, until=until, most=len(job.takes), wires=wires)
    return seen


@compiled
def _run(
    machines: Any, b: Any, pointers: Any, columns: Any, asked: Any, offers: Any, takes: Any,
    seen: Any, parts: Any, leaves: Any,
) -> int:  # fmt: skip
    """``seen`` [cycle] -> (a request is taken, idle); ``parts`` [number] -> (cycle, row, last);
    returns how many there are."""
    m = machines[0]
    found = given = 0
    offered = False
    for now in range(len(seen)):
        is_idle = m.panels_inside == 0
        for number in range(_READERS):
            port = m.ports[AGAIN + number]
            port.accepts = accepts(b, number)
            port.line = has_line(b, number)
            port.last = is_last(b, number)
            port.asks = 0
            port.takes = 0
            is_idle = is_idle and reader_idle(b, number)
        seen[now, 1] = is_idle
        rows_offer(m)
        offered = offered or (given < len(asked) and offers[now] != 0)
        m.again.valid = offered
        if offered:
            m.again.panel = asked[given, 0]
            m.again.columns = asked[given, 1]
            if m.again.ready:
                seen[now, 0] = 1
                given += 1
                offered = False
        m.reload.ready = takes[now]
        if m.reload.valid and takes[now]:
            parts[found, 0] = now
            parts[found, 1] = m.reload.row
            parts[found, 2] = m.reload.last
            for leaf in range(m.pes):
                if m.reload.present[leaf]:
                    leaves[found, leaf, 0] = 1
                    leaves[found, leaf, 1] = m.reload.column[leaf]
            found += 1
        rows_step(m, pointers, columns)
        for number in range(_READERS):
            port = m.ports[AGAIN + number]
            if port.asks:
                ask(b, number, port.address, port.bytes)
            if port.takes:
                take_line(b, number)
        step(b, now)
    return found


def on_model(job: Reloading, cycles: int) -> Seen:
    """Runs ``cycles`` cycles of the model."""
    matrix, config = job.matrix, job.matrix.config
    _, bases = job.image()
    machines = np.zeros(1, MACHINE)
    registers = job_registers(ROWS=matrix.size)
    registers |= dict(zip(("ROW_POINTERS", "COLUMN_NUMBERS", "ROW_VALUES"), bases, strict=True))
    set_up_shared(machines[0], config, registers)
    set_up_load(machines[0], config, registers)
    machine = memory_bus(config, memory=job.pace.memory)
    its: dict[str, Any] = {
        name: np.ascontiguousarray(getattr(machine, name)[AGAIN : AGAIN + _READERS])
        for name in ("readers", "units", "located", "lines", "shares", "whole")
    }
    alone = machine._replace(
        c=machine.c._replace(readers=_READERS, groups=_READERS),
        members=np.array([[n, 1] for n in range(_READERS)], np.int64),
        **its,
    )
    pointers, columns = np.array(matrix.pointers), np.array([*matrix.rows, 0], np.int32)
    seen = np.zeros((cycles, 2), np.uint8)
    parts = np.zeros((cycles, 3), np.int64)
    leaves = np.zeros((cycles, config.pes, 2), np.int64)
    asked = np.array(job.asked, np.int64)
    patterns = (job.offers, job.takes)
    count = _run(
        machines, alone, pointers, columns, asked, *patterns, seen, parts, leaves
    )  # fmt: skip
    return Seen(
        np.flatnonzero(seen[:, 0]).tolist(),
        seen[:, 1].tolist(),
        [(int(at), int(row), int(last)) for at, row, last in parts[:count]],
        [[(int(a), int(c)) for a, c in its] for its in leaves[:count]],
    )


pytestmark = pytest.mark.long

KINDS = {**CONFIGS, "one panel": replace(CONFIGS["a set a step"], subtensor=256)}


@pytest.mark.parametrize("name", slow_but([], KINDS, []))
def test_every_part_comes_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 6)):
        matrix = drawn(KINDS[name], f"panels {name} {seed}")
        asked = asked_of(matrix, random.Random(seed), by_size(4, 4, 8))
        rng = np.random.default_rng(seed)
        pace = Pace.random(rng)
        offers, takes = pattern(rng, 30_000, pace.gap), pattern(rng, 30_000, pace.wait)
        job = Reloading(matrix, asked, pace, offers, takes, seed)
        real = on_rtl(job)
        found = on_model(job, len(real.idle))
        assert found.asked == real.asked, seed
        assert found.parts == real.parts, seed
        assert found.leaves == real.leaves, seed
        assert found.idle == real.idle, seed
