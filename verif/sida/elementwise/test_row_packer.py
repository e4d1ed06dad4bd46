"""Results of columns to rows, in RTL."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Const, Value
from tilewright.hw.sida.elementwise.layouts import values_layout
from tilewright.hw.sida.elementwise.row_packer import RowPacker
from tilewright.hw.sida.layouts import results_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Sink, run_agents

pytestmark = pytest.mark.long

CONFIGS = {
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


@pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, []))
def test_rows_of_results(name: str) -> None:
    """Sets of any number of columns, none too; many vectors, the last row of each in part; rows
    taken with stalls."""
    config = CONFIGS[name]
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
    config = CONFIGS["small"]
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
