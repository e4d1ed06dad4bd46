"""Scalars in, out, and compared, in RTL."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const, Value
from amaranth.sim import Simulator
from tilewright.hw.sida.elementwise.layouts import row_layout, values_layout
from tilewright.hw.sida.elementwise.memory_ports import ScalarPort
from tilewright.hw.sida.elementwise.row_packer import RowPacker
from tilewright.hw.sida.layouts import results_layout
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.values import decode
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.elementwise.random_programs import random_values
from tilewright.verif.stream.agents import Sink, run_agents

pytestmark = pytest.mark.long

CONFIGS = {
    "fp32": SidaConfig(pes=4, subtensor=4, vector_words=64),
    "int32, a row of all": SidaConfig(pes=32, subtensor=32, vector_words=64, value="int32"),
    "fp16, rows of more": SidaConfig(pes=64, subtensor=64, vector_words=128, value="fp16"),
}

every_config = pytest.mark.parametrize("name", CONFIGS)


class Bench:
    """The port, beside the scalars of a core.

    Members
    -------
    scalars: the core's
    rows: that were taken at ``o``
    seen: by the names of pulses, how often they came; below: with the last one of ``checked``
    """

    def __init__(self, name: str, seed: int) -> None:
        self.config = CONFIGS[name]
        self.rng = np.random.default_rng(seed)
        self.scalars: list[int] = self.drawn()
        self.rows: list[list[int]] = []
        self.seen = dict.fromkeys(("loaded", "saved", "checked"), 0)
        self.below = -1
        self.part = ScalarPort(self.config)

    def drawn(self) -> list[int]:
        """Scalars, some of them alike."""
        found = random_values(self.rng, self.config.format, SCALARS).tolist()
        return [found[int(n)] for n in self.rng.integers(SCALARS, size=SCALARS)]

    def run(self, steps: Any) -> None:
        """``steps``: a coroutine that is given this bench and the simulator."""
        simulator = Simulator(self.part)
        simulator.add_clock(1e-6)

        async def bench(sim: Any) -> None:
            await steps(self, sim)

        simulator.add_testbench(bench)
        simulator.run()

    async def cycle(self, sim: Any, *pulses: str) -> None:
        """A cycle, with some inputs high."""
        part = self.part
        for name in pulses:
            sim.set(getattr(part, name), 1)
        for name in self.seen:
            self.seen[name] += sim.get(getattr(part, name))
        if sim.get(part.checked):
            self.below = sim.get(part.below)
        if sim.get(part.o.valid) and sim.get(part.o.ready):
            word, bits = sim.get(Value.cast(part.o.payload)), self.config.format.bits
            self.rows.append([word >> n * bits & (1 << bits) - 1 for n in range(self.config.pes)])
        place = sim.get(part.scalar_place)
        found = self.scalars[place]
        if sim.get(part.scalar_write):
            self.scalars[place] = sim.get(part.scalar)
        await sim.tick()
        sim.set(part.scalar_read, found)
        for name in pulses:
            sim.set(getattr(part, name), 0)

    async def load(self, sim: Any, scalars: list[int]) -> None:
        """Rows of scalars, at any time."""
        pes, bits, layout = self.config.pes, self.config.format.bits, row_layout(self.config)
        for base in range(0, SCALARS, pes):
            mine = scalars[base : base + pes]
            values = sum(number << n * bits for n, number in enumerate(mine))
            row = {"base": base, "mask": (1 << len(mine)) - 1}
            word = layout.const(row).as_value().value | values << layout["values"].offset
            sim.set(Value.cast(self.part.i.payload), word)
            while True:
                valid = int(self.rng.random() < 0.7)
                sim.set(self.part.i.valid, valid)
                taken = valid and sim.get(self.part.i.ready)
                await self.cycle(sim)
                if taken:
                    break
            sim.set(self.part.i.valid, 0)

    async def until(self, sim: Any, name: str, *pulses: str) -> None:
        """Runs until the pulse ``name`` appears once more."""
        before = self.seen[name]
        for number in range(40 * SCALARS):
            sim.set(self.part.o.ready, int(self.rng.random() < 0.6))
            await self.cycle(sim, *(pulses if not number else ()))
            if self.seen[name] != before:
                return
        raise AssertionError(f"no {name}")

    async def check(self, sim: Any) -> None:
        """Everything, once."""
        scalars = self.drawn()
        await self.load(sim, scalars)
        assert self.scalars == scalars
        numbers = [int(n) for n in self.rng.integers(SCALARS, size=3)]
        for port, number in zip(("stop_1", "stop_2", "limit"), numbers, strict=True):
            sim.set(getattr(self.part, port), number)
        await self.until(sim, "checked", "check")
        one, other, limit = decode(
            np.array([scalars[n] for n in numbers], np.uint64), self.config.format
        )
        assert self.below == int(one < limit) + 2 * int(other < limit)
        self.rows = []
        await self.until(sim, "saved", "save")
        assert [value for row in self.rows for value in row][:SCALARS] == scalars
        assert self.scalars == scalars


@every_config
def test_scalars_in_and_out_and_compared(name: str) -> None:
    async def steps(bench: Bench, sim: Any) -> None:
        for _ in range(by_size(4, 8, 60)):
            await bench.check(sim)
        assert bench.seen["loaded"] == bench.seen["saved"] == bench.seen["checked"]

    Bench(name, 1).run(steps)


@every_config
@pytest.mark.parametrize("what", ["save", "check"])
def test_a_clear_in_any_cycle_forgets(name: str, what: str) -> None:
    """The clear may arrive in any cycle from the command on. The command has no further effect, and
    later ones work."""

    async def steps(bench: Bench, sim: Any) -> None:
        sim.set(bench.part.o.ready, 1)
        for cycles in range(by_size(8, 8, 80)):
            for number in range(cycles):
                await bench.cycle(sim, *([what] if not number else []))
            await bench.cycle(sim, "clear", *([] if cycles else [what]))
            before, rows = dict(bench.seen), len(bench.rows)
            for _ in range(3 * SCALARS):
                await bench.cycle(sim)
            assert (bench.seen, len(bench.rows)) == (before, rows), cycles
            await bench.check(sim)

    Bench(name, 2).run(steps)


# Results of columns to rows, in RTL.

CONFIGS_ROW_PACKER = {
    "small": SidaConfig(pes=4, subtensor=8, vector_words=64, value="fp16"),
    "16 wide": SidaConfig(pes=16, subtensor=16, vector_words=64, value="fp16"),
}


class Columns:
    """Sends the results of all columns, some at a time, and never more rows ahead than may wait.
    Vectors follow one another, and some are cleared before their end.

    Members
    -------
    expected: the rows of vectors that are whole, without what is behind their last column
    """

    def __init__(self, part: RowPacker, config: SidaConfig, vectors: int) -> None:
        self._part, self._config, self._left = part, config, vectors
        self._random = random.Random(7)
        self._begin()
        self.rows: list[list[int]] = []
        self.taken = 0
        self.given_rows = 0

    def _begin(self) -> None:
        self._size = self._random.randrange(1, 40)
        self._values = [self._random.getrandbits(16) for _ in range(self._size)]
        self._base = 0
        self._left -= 1
        self._ended = True

    @property
    def done(self) -> bool:
        return self._left < 0

    def drive(self, sim: Any, cycle: int) -> None:
        part, pes = self._part, self._config.pes
        sim.set(part.columns, self._size)
        room = self.given_rows - self.taken <= part.depth - 2
        gives = not self.done and room and self._random.random() < 0.8 and not self._ended
        self._ended = False
        sim.set(part.valid, int(gives))
        if not gives:
            return
        count = min(self._random.randrange(pes + 1), self._size - self._base)
        values = self._values[self._base : self._base + count]
        filled = [*values, *(self._random.getrandbits(16) for _ in range(pes - count))]
        layout = results_layout(self._config)
        word = Const.cast(
            layout.const({"base": self._base, "columns": count, "values": filled})
        ).value
        sim.set(Value.cast(part.results), word)
        before = -(-self._base // pes) if self._base == self._size else self._base // pes
        self._base += count
        after = -(-self._size // pes) if self._base == self._size else self._base // pes
        self.given_rows += after - before
        if count and self._base == self._size:
            self.rows += [self._values[n : n + pes] for n in range(0, self._size, pes)]
            self._begin()

    def observe(self, sim: Any, cycle: int) -> None: ...


@pytest.mark.parametrize("name", slow_but(["small"], CONFIGS_ROW_PACKER, []))
def test_rows_of_results(name: str) -> None:
    """Sets of any number of columns, none too; many vectors, the last row of each in part; rows
    taken with stalls."""
    config = CONFIGS_ROW_PACKER[name]
    part = RowPacker(config)
    columns = Columns(part, config, by_size(10, 20, 300))
    found: list[list[int]] = []

    def accept(word: int) -> None:
        row = values_layout(config).from_bits(word)
        found.append([row[n] for n in range(config.pes)])
        columns.taken += 1

    sink = Sink(part.o, stall=0.4, seed=3, accept=accept)
    run_agents(
        part,
        [columns, sink],
        until=lambda sim, cycle: columns.done and len(found) == len(columns.rows),
    )
    assert [row[: len(right)] for row, right in zip(found, columns.rows, strict=True)] == (
        columns.rows
    )


def test_a_clear_forgets() -> None:
    """Half of a row that came before it is in no row afterwards."""
    config = CONFIGS_ROW_PACKER["small"]
    part = RowPacker(config)
    found: list[int] = []
    layout = results_layout(config)

    def word(base: int, values: list[int]) -> int:
        filled = [*values, *[0xFFFF] * (config.pes - len(values))]
        given = {"base": base, "columns": len(values), "values": filled}
        return Const.cast(layout.const(given)).value

    class Script:
        def drive(self, sim: Any, cycle: int) -> None:
            given = {0: word(0, [1, 2, 3, 4]), 1: word(4, [5]), 3: word(0, [6, 7, 8])}
            sim.set(part.columns, 3 if cycle >= 3 else 8)
            sim.set(part.valid, int(cycle in given))
            sim.set(Value.cast(part.results), given.get(cycle, 0))
            sim.set(part.clear, int(cycle == 2))

        def observe(self, sim: Any, cycle: int) -> None: ...

    sink = Sink(part.o, stall=0.0, accept=found.append)
    run_agents(part, [Script(), sink], until=lambda sim, cycle: cycle == 12)
    rows = [values_layout(config).from_bits(value) for value in found]
    assert [[row[n] for n in range(3)] for row in rows] == [[6, 7, 8]]
