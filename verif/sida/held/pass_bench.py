"""Passes through :class:`HeldElements`, between parts that wait for each other as those of the
accelerator do."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from amaranth.hdl import Value
from tilewright.hw.sida.held.held_elements import HeldElements
from tilewright.hw.sida.held.layouts import reload_layout, reload_request_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.result.products import (
    Columns,
    input_stationary,
    transposed_product,
)
from tilewright.verif.sida.held.matrices import (
    drawn,
    first_values,
    numbers,
    result_bits,
    rules_of,
    sets_of,
)
from tilewright.verif.stream.agents import Agent, Sink, Source, run_agents


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A matrix, z, the number of the semiring; the cycle of a clear, after which it begins anew;
    whether the product is with the transpose; another matrix whose rows are read again."""

    matrix: Columns
    vector: Any
    semiring: int = 0
    clear_at: int | None = None
    transposed: bool = False
    again: Columns | None = None


@dataclass
class Seen:
    """Record of a pass: w, its counts, the panels requested and the most of them before one was
    complete, cycles of sets and of the whole; the first row that disagrees, None if none does."""

    w: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    ahead: int = 0
    set_cycles: list[int] = field(default_factory=list)
    cycles: int = 0
    disagrees: int | None = None


class RunningPass:
    """Surroundings of the part during a pass."""

    def __init__(self, dut: Any, config: SidaConfig, given: Pass, gap: float, seed: str) -> None:
        self.dut, self.config, self.given, self.seen = dut, config, given, Seen()
        self.random = random.Random(seed)
        self.gap = gap
        matrix = given.matrix
        rng = np.random.default_rng(self.random.getrandbits(32))
        self.sets = list(sets_of(config, matrix, rng, partial_sets=gap))
        semiring = config.operators[given.semiring]
        self.first = first_values(config, semiring, matrix, given.vector)
        self.source = Source(dut.i, [], gap=gap, seed=seed)
        self.z = Source(dut.z, [], gap=gap, seed=f"{seed} z")
        self.reload = Source(dut.reload, [], gap=gap, seed=f"{seed} r")
        self.request = Sink(dut.request, stall=gap, seed=seed, accept=self.again)
        self.agents: list[Agent] = [self.source, self.z, self.reload, self.request]
        self.begun, self.firsts, self.columns, self.reads = -1, 0, 0, 0

    def again(self, word: int) -> None:
        """The rows of a panel."""
        asked: Any = reload_request_layout(self.config).from_bits(word)
        self.seen.asked.append(asked.panel)
        layout = reload_layout(self.config)
        came = self.reload.words[: len(self.reload.cycles)]
        panels = sum(int(layout.from_bits(word).last) for word in came)
        self.seen.ahead = max(self.seen.ahead, len(self.seen.asked) - panels)
        config, matrix = self.config, self.given.again or self.given.matrix
        rows, columns = matrix.rows, matrix.columns
        if self.given.transposed:
            rows, columns = columns, rows
        which = (rows // config.subtensor == asked.panel) & (columns < asked.columns)
        words: list[dict[str, Any]] = []
        pes = config.pes
        for window in np.unique(rows[which] // pes).tolist():
            mine = np.flatnonzero(which & (rows // pes == window))
            mine = mine[np.lexsort((columns[mine], rows[mine]))]
            while len(mine):
                count = self.random.randint(1, pes) if self.gap else pes
                elements = [
                    {
                        "valid": 1,
                        "offset": int(rows[n]) % pes,
                        "column": int(columns[n]),
                        "value": int(matrix.values[n]),
                    }
                    for n in mine[:count]
                ]
                words.append({"row": window * pes, "last": 0, "elements": elements})
                mine = mine[count:]
        if not words or self.random.random() < 0.5:
            words.append({"row": 0, "last": 0, "elements": []})
        words[-1]["last"] = 1
        self.reload.words += [layout.const(word).as_bits() for word in words]

    def drive(self, sim: Any, cycle: int) -> None:
        config, size = self.config, self.given.matrix.size
        if self.begun < 0:
            sim.set(self.dut.columns, size)
            sim.set(self.dut.semiring, self.given.semiring)
            sim.set(self.dut.transposed, int(self.given.transposed))
            self.begun = cycle
        sim.set(self.dut.start, int(cycle == self.begun))
        # z follows the columns of its step, and columns the z of two steps before.
        steps = -(-size // config.subtensor)
        passed = steps if self.columns == size else self.columns // config.subtensor
        width = config.pes
        lines = config.subtensor // width
        while len(self.z.words) < min(passed * lines, -(-size // width)):
            first = len(self.z.words) * width
            row = [int(x) for x in self.given.vector[first : first + width]]
            word = sum(x << (config.format.bits * n) for n, x in enumerate(row))
            self.z.words.append(word)
        z_steps = len(self.z.cycles) // lines
        while len(self.source.words) < len(self.sets):
            following = self.sets[len(self.source.words)]
            if following.step > max(1, z_steps + 1):
                break
            self.source.words.append(following.word)
        gives = self.firsts < len(self.source.cycles) and self.random.random() >= self.gap
        sim.set(self.dut.first_valid, int(gives))
        if gives:
            given = self.sets[self.firsts]
            sim.set(Value.cast(self.dut.first), result_bits(config, given, self.first))
            self.firsts += 1
            self.columns = given.base + given.columns
        for agent in self.agents:
            agent.drive(sim, cycle)

    def observe(self, sim: Any, cycle: int) -> bool:
        """Returns whether the pass is over and all of w has left."""
        for agent in self.agents:
            agent.observe(sim, cycle)
        if not sim.get(self.dut.done) or cycle == self.begun:
            return False
        if not self.seen.counts:
            self.seen.cycles = cycle - self.begun
            counts: Any = sim.get(self.dut.counts)
            for name in ("held", "most", "lost", "waited"):
                self.seen.counts[name] = getattr(counts, name)
        self.see(sim)
        size = self.given.matrix.size
        if len(self.seen.w) < size:
            return False
        del self.seen.w[size:]
        if sim.get(self.dut.disagrees):
            self.seen.disagrees = sim.get(self.dut.disagrees_row)
        self.seen.set_cycles = self.source.cycles
        return True

    def see(self, sim: Any) -> None:
        """Requests a row of w, and records the one requested before."""
        if self.reads:
            self.add_row(sim.get(Value.cast(self.dut.w)))
        more = self.reads * self.config.pes < self.given.matrix.size
        sim.set(self.dut.place, self.reads if more else 0)
        self.reads += 1

    def add_row(self, word: int) -> None:
        """A row of w, as bits."""
        bits = self.config.format.bits
        mask = (1 << bits) - 1
        self.seen.w += [word >> (bits * n) & mask for n in range(self.config.pes)]


class _Passes:
    """One pass after the other."""

    def __init__(
        self, dut: Any, config: SidaConfig, passes: list[Pass], gap: float, seed: Any, surround: Any
    ) -> None:
        self.dut, self.config, self.passes, self.gap, self.seed = dut, config, passes, gap, seed
        self.surround = surround
        self.seen: list[Seen] = []
        self.began = 0
        self.cleared = False
        self.now = self._next()

    def _next(self) -> Any:
        number = len(self.seen)
        seed = f"{self.seed} {number} {self.cleared}"
        return self.surround(self.dut, self.config, self.passes[number], self.gap, seed)

    @property
    def done(self) -> bool:
        return len(self.seen) == len(self.passes)

    def drive(self, sim: Any, cycle: int) -> None:
        self.now.drive(sim, cycle)
        clear_at = self.passes[len(self.seen)].clear_at
        self.clears = not self.cleared and clear_at == cycle - self.began
        sim.set(self.dut.clear, int(self.clears))

    def observe(self, sim: Any, cycle: int) -> None:
        over = self.now.observe(sim, cycle)
        if not over and not self.clears:
            return
        self.cleared = self.clears
        if over and not self.clears:
            self.seen.append(self.now.seen)
        self.began = cycle + 1
        if not self.done:
            self.now = self._next()


def drawn_passes(
    config: SidaConfig, seed: int, names: list[str], size: int, **others: Any
) -> list[Pass]:
    """One of each shape, semirings in turn."""
    rng = np.random.default_rng(seed)
    found = []
    for n, name in enumerate(names):
        matrix = drawn(rng, config, size, name)
        semiring = n % len(config.operators)
        vector = numbers(rng, config, size)
        found.append(Pass(matrix=matrix, vector=vector, semiring=semiring, **others))
    return found


def run_passes(
    config: SidaConfig,
    passes: list[Pass],
    *,
    gap: float = 0.0,
    seed: Any = 0,
    part: Any = HeldElements,
    surround: Any = RunningPass,
) -> list[Any]:
    """Passes one after the other on the same part, each compared with the model bit for bit, but
    for those with other rows.

    ``part``: the component, a :class:`HeldElements`; ``surround``: what is around it in a pass, a
    :class:`RunningPass`. Returns what was seen, a :class:`Seen` for each.
    """
    dut = part(config)
    agent = _Passes(dut, config, passes, gap, seed, surround)
    run_agents(dut, [agent], until=lambda sim, cycle: agent.done, most=60_000)
    for given, seen in zip(passes, agent.seen, strict=True):
        semiring = config.operators[given.semiring]
        product = transposed_product if given.transposed else input_stationary
        expected = product(rules_of(config), semiring, given.matrix, given.vector)
        if given.again is None:
            assert seen.w == expected.tolist()
            assert seen.disagrees is None
        assert seen.counts["held"] == 0
        assert len(seen.asked) == len(set(seen.asked)) == seen.counts["lost"]
    return agent.seen
