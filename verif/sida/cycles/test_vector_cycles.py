"""The vector loader and the vector writer in the cycle model: every row in its cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.sida.elementwise.layouts import block_rows, request_layout, stored_layout
from tilewright.hw.sida.vectors.vector_loader import VectorLoader, whole_layout
from tilewright.hw.sida.vectors.vector_writer import VectorWriter
from tilewright.hw.spec.elementwise.instructions import SCALARS, VECTORS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles import load_state as state
from tilewright.sim.sida.cycles.compute import MACHINE, set_up_shared
from tilewright.sim.sida.cycles.vector_port import (
    stores_idle,
    stores_offer,
    stores_step,
    vectors_offer,
    vectors_step,
)
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.striped.bus import step
from tilewright.sim.timing.striped.memory import Bus
from tilewright.sim.timing.striped.reader import (
    accepts,
    ask,
    has_line,
    is_last,
    reader_idle,
    take_line,
)
from tilewright.verif.channels.striped.memory_bench import ChannelMemory, Manner
from tilewright.verif.channels.striped.written import written_channels
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.cycles.replay import job_registers
from tilewright.verif.sida.vectors.configs import CONFIGS
from tilewright.verif.stream.agents import Agent, run_agents
from tilewright.verif.timing.striped.pace import Offers, Pace, Watch, pattern

_SETTLES = 4
_READER = state.VECTORS

Patterns = npt.NDArray[np.uint8]


@dataclass
class Seen:
    """Cycles in which words were taken at the input, rows at the output; ``idle`` in every cycle;
    bytes that were sent."""

    asked: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    sent: int = 0


@dataclass
class Traffic:
    """Rows that are asked for, or stored: of vectors (vector, first row, rows), where all ``size``
    elements long vectors begin at ``bases``; or, if ``whole``, vectors (address, elements) that are
    read in whole, or the scalars, so often.

    ``offers``, ``takes``: [cycle] patterns.
    """

    config: SidaConfig
    size: int
    bases: Sequence[int]
    words: Sequence[tuple[int, ...]]
    whole: bool
    pace: Pace
    offers: Patterns
    takes: Patterns

    @property
    def rows(self) -> int:
        """Total number of rows."""
        pes = self.config.pes
        if self.whole:
            return sum(-(-count // pes) for _, count in self.words)
        return sum(rows for _, _, rows in self.words)

    def machine(self) -> Any:
        """Returns a machine of the model, set up for the job."""
        machines = np.zeros(1, MACHINE)
        bases = {f"VECTOR_{n}": base for n, base in enumerate(self.bases)}
        job = job_registers(ROWS=self.size, **bases)
        set_up_shared(machines[0], self.config, job)
        state.set_up_load(machines[0], self.config, job)
        return machines


class _Rows:
    """Takes rows where the pattern is 1."""

    def __init__(self, port: Any, gate: Patterns, seen: list[int]) -> None:
        self._port, self._gate, self._seen = port, gate, seen

    def drive(self, sim: Any, cycle: int) -> None:
        sim.set(self._port.ready, int(self._gate[cycle]))

    def observe(self, sim: Any, cycle: int) -> None:
        if self._gate[cycle] and sim.get(self._port.valid):
            self._seen.append(cycle)


def _run_rtl(
    job: Traffic, part: Any, agents: list[Agent], over: Callable[[], bool], idle: list[int]
) -> None:
    wires = [(part.columns, job.size), *((part.bases[n], base) for n, base in enumerate(job.bases))]

    def until(sim: Any, cycle: int) -> bool:
        return over() and all(idle[-_SETTLES:])

    run_agents(part, agents, until=until, most=len(job.offers), wires=wires)


def load_on_rtl(job: Traffic) -> Seen:
    """Loads in Amaranth's simulator until all rows have arrived."""
    config, part = job.config, VectorLoader(job.config)
    content = bytes(1 << 17)
    manner = Manner(latency=(job.pace.latency, job.pace.latency))
    memories = [
        ChannelMemory(ar, r, config.geometry, channel, content, manner)
        for channel, (ar, r) in enumerate(zip(part.ar, part.r, strict=True))
    ]
    if job.whole:
        port, out, layout = part.whole, part.rows, whole_layout(config)
        words = [layout.const({"address": a, "columns": n}).as_bits() for a, n in job.words]
    else:
        port, out, layout = part.requests, part.loaded, request_layout(config)
        words = [
            layout.const({"vector": v, "base": first * config.pes, "rows": n}).as_bits()
            for v, first, n in job.words
        ]
    idle, rows = Watch(part.idle), list[int]()
    asks = Offers(port, words, job.offers)
    agents: list[Agent] = [asks, _Rows(out, job.takes, rows), idle, *memories]
    _run_rtl(job, part, agents, lambda: len(rows) == job.rows, idle.values)
    return Seen(asks.cycles, rows, idle.values)


def store_on_rtl(job: Traffic) -> Seen:
    """The same, until all is written."""
    config, part = job.config, VectorWriter(job.config)
    layout, pes = stored_layout(config), config.pes
    if job.whole:
        words = [0] * job.rows
    else:
        words = [
            layout.const({"vector": v, "row": {"base": (first + n) * pes}}).as_bits()
            for v, first, rows in job.words
            for n in range(rows)
        ]
    idle, sent = Watch(part.idle), Watch(part.sent)
    gives = Offers(part.scalars if job.whole else part.stored, words, job.offers)
    memories = written_channels(config.geometry, part, latency=job.pace.latency, again=True)
    agents: list[Agent] = [gives, idle, sent, *memories]
    _run_rtl(job, part, agents, lambda: len(gives.cycles) == len(words), idle.values)
    return Seen(gives.cycles, [], idle.values, sum(sent.values))


@compiled
def _load(
    machines: Any, b: Bus, words: Any, whole: bool, offers: Any, takes: Any, seen: Any
) -> None:
    """``seen`` [cycle] -> (a word is taken, a row is, idle)."""
    m = machines[0]
    port = m.ports[_READER]
    given = 0
    offered = False
    for now in range(len(seen)):
        port.accepts = accepts(b, 0)
        port.line = has_line(b, 0)
        port.last = is_last(b, 0)
        port.asks = 0
        port.takes = 0
        seen[now, 2] = reader_idle(b, 0) and m.vectors_pending == 0
        vectors_offer(m)
        offered = offered or (given < len(words) and offers[now] != 0)
        if offered:
            m.whole.valid = whole
            m.requests.valid = not whole
            m.whole.address = words[given, 0]
            m.whole.columns = words[given, 1]
            m.requests.vector = words[given, 0]
            m.requests.base = words[given, 1] * m.pes
            m.requests.rows = words[given, 2]
            if m.requests.ready:
                given += 1
                seen[now, 0] = 1
                offered = False
        else:
            m.whole.valid = 0
            m.requests.valid = 0
        m.loaded.ready = takes[now] and not whole
        seen[now, 1] = m.row_valid and takes[now]
        vectors_step(m, takes[now] != 0 and whole)
        if port.asks:
            ask(b, 0, port.address, port.bytes)
        if port.takes:
            take_line(b, 0)
        step(b, now)


@compiled
def _store(machines: Any, b: Bus, words: Any, whole: bool, offers: Any, seen: Any) -> None:
    """``seen`` [cycle] -> (a row is taken, nothing, idle)."""
    m = machines[0]
    given = 0
    offered = False
    for now in range(len(seen)):
        seen[now, 2] = stores_idle(m, b)
        stores_offer(m, b)
        offered = offered or (given < len(words) and offers[now] != 0)
        m.stored.valid = offered and not whole
        m.scalars_given = offered and whole
        if offered:
            m.stored.vector = words[given, 0]
            m.stored.base = words[given, 1] * m.pes
            if m.stored.ready:
                given += 1
                seen[now, 0] = 1
                offered = False
        stores_step(m)
        step(b, now)


def _events(seen: Patterns, sent: int) -> Seen:
    asked, rows = (np.flatnonzero(seen[:, n]).tolist() for n in range(2))
    return Seen(asked, rows, seen[:, 2].tolist(), sent)


def load_on_model(job: Traffic, cycles: int) -> Seen:
    """Loads on the model for ``cycles`` cycles."""
    machine = state.memory_bus(job.config, memory=job.pace.memory)
    alone = machine._replace(
        c=machine.c._replace(readers=1, groups=1, shared=0),
        **{
            name: getattr(machine, name)[_READER : _READER + 1]
            for name in ("readers", "units", "located", "lines", "shares", "whole")
        },
    )
    seen = np.zeros((cycles, 3), np.uint8)
    words = np.array([[*word, 0][:3] for word in job.words])
    _load(job.machine(), alone, words, job.whole, job.offers, job.takes, seen)
    return _events(seen, 0)


def store_on_model(job: Traffic, cycles: int) -> Seen:
    """Stores on the model for ``cycles`` cycles."""
    machine = state.memory_bus(job.config, memory=job.pace.memory)
    seen = np.zeros((cycles, 3), np.uint8)
    rows = [(0, 0)] * job.rows
    if not job.whole:
        rows = [(v, first + n) for v, first, count in job.words for n in range(count)]
    words = np.array(rows)
    _store(job.machine(), machine, words, job.whole, job.offers, seen)
    return _events(seen, int(machine.writer["bytes"][0]))


pytestmark = pytest.mark.long

CYCLES = 30_000


def traffic(config: SidaConfig, seed: int, words: str) -> Traffic:
    """``words``: blocks that are loaded, whole vectors, rows that are stored, or scalars."""
    rng = np.random.default_rng([seed, *words.encode()])
    pace = Pace.random(rng)
    size = int(rng.integers(1, min(config.vector_words, 12 * config.pes) + 1))
    rows = -(-size // config.pes)
    line = config.line_bytes
    places = rng.choice((1 << 16) // line, VECTORS, replace=False) * line
    found: list[tuple[int, ...]] = []
    if words == "vectors":
        most = min(config.vector_words, 12 * config.pes)
        found = [(int(at), int(rng.integers(1, most + 1))) for at in places[:5]]
    elif words == "scalars":
        found = [(0, SCALARS)] * int(rng.integers(1, 4))
    elif words == "blocks":
        for _ in range(by_size(8, 12, 30)):
            first = int(rng.integers(rows))
            count = int(rng.integers(1, min(block_rows(config), rows - first) + 1))
            found.append((int(rng.integers(VECTORS)), first, count))
    else:
        # The element-wise core does the same: block by block, with some vectors of each.
        for first in range(0, rows, block_rows(config)):
            count = min(block_rows(config), rows - first)
            found += [(int(v), first, count) for v in rng.integers(0, VECTORS, 3)]
    return Traffic(
        config=config,
        size=size,
        bases=[int(at) for at in places],
        words=found,
        whole=words in ("vectors", "scalars"),
        pace=pace,
        offers=pattern(rng, CYCLES, pace.gap),
        takes=pattern(rng, CYCLES, pace.wait),
    )


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["16 rows a line"]))


@every_config
def test_every_row_comes_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 5)):
        for words in ("blocks", "vectors"):
            job = traffic(CONFIGS[name], seed, words)
            real = load_on_rtl(job)
            assert load_on_model(job, len(real.idle)) == real, (seed, words)


@every_config
def test_every_row_is_stored_in_its_cycle(name: str) -> None:
    for seed in range(by_size(1, 1, 5)):
        for words in ("rows", "scalars"):
            job = traffic(CONFIGS[name], seed, words)
            real = store_on_rtl(job)
            assert store_on_model(job, len(real.idle)) == real, (seed, words)
