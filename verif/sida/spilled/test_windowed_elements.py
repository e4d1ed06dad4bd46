"""The late part of the second product with w in memory, bit for bit, for any part of w on chip and
any latency of memory."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Value
from tilewright.hw.sida.spilled.cached_sums import row_values_layout
from tilewright.hw.sida.spilled.windowed_elements import WindowedElements
from tilewright.hw.spec.config import IntRange, like
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.held.matrices import SHAPES
from tilewright.verif.sida.held.pass_bench import Pass, RunningPass, Seen, drawn_passes, run_passes
from tilewright.verif.stream.agents import Sink


class RowMemory:
    """Answers in order, each request so many cycles later as it happens to take.

    A row must not be fetched before it was written, nor while it is on its way.

    Parameters
    ----------
    part: with ``fetch``, ``fetched``, ``spill``, ``spilled``
    stall: share of the cycles in which nothing is taken
    latency: cycles of an answer at most, at least 1

    Members
    -------
    fetched, spilled: numbers of the rows that were
    idle: whether nothing is under way
    """

    def __init__(self, part: Any, *, stall: float, latency: int, seed: Any) -> None:
        self._part, self._stall, self._latency = part, stall, latency
        self._random = random.Random(f"{seed} memory")
        self._payload = Value.cast(part.fetched.payload)
        self._rows: dict[int, int] = {}
        self._answers: deque[tuple[int, int]] = deque()
        self._writes: deque[tuple[int, int, int]] = deque()
        self._ready = {"fetch": False, "spill": False}
        self._offers = False
        self.fetched: list[int] = []
        self.spilled: list[int] = []

    @property
    def idle(self) -> bool:
        return not self._answers and not self._writes

    def drive(self, sim: Any, cycle: int) -> None:
        for name in self._ready:
            self._ready[name] = self._random.random() >= self._stall
            sim.set(getattr(self._part, name).ready, int(self._ready[name]))
        self._offers = bool(self._answers) and self._answers[0][0] <= cycle
        sim.set(self._part.fetched.valid, int(self._offers))
        if self._offers:
            sim.set(self._payload, self._answers[0][1])
        written = bool(self._writes) and self._writes[0][0] <= cycle
        sim.set(self._part.spilled, int(written))
        if written:
            _, place, values = self._writes.popleft()
            self._rows[place] = values

    def observe(self, sim: Any, cycle: int) -> None:
        if self._offers and sim.get(self._part.fetched.ready):
            self._answers.popleft()
        fetch, spill = self._part.fetch, self._part.spill
        if self._ready["spill"] and sim.get(spill.valid):
            word: Any = row_values_layout(self._part.config).from_bits(
                sim.get(Value.cast(spill.payload))
            )
            place = word.place
            values = sim.get(Value.cast(spill.payload["values"]))
            self._writes.append((self._when(cycle), place, values))
            self.spilled.append(place)
        if self._ready["fetch"] and sim.get(fetch.valid):
            place = sim.get(fetch.payload)
            assert place in self._rows, f"row {place} was never written, in cycle {cycle}"
            assert all(place != one for _, one, _ in self._writes), f"row {place} is on its way"
            self._answers.append((self._when(cycle), self._rows[place]))
            self.fetched.append(place)

    def _when(self, cycle: int) -> int:
        return cycle + self._random.randint(1, self._latency)


class _WindowedPass(RunningPass):
    """Surroundings of the part during a pass, with the memory."""

    def __init__(
        self,
        dut: Any,
        config: SidaConfig,
        given: Pass,
        gap: float,
        seed: str,
        *,
        stall: float,
        latency: int,
    ) -> None:
        super().__init__(dut, config, given, gap, seed)
        self.memory = RowMemory(dut, stall=stall, latency=latency, seed=seed)
        self.rows = Sink(dut.w, stall=stall, seed=f"{seed} w", accept=self.add_row)
        self.agents += [self.memory, self.rows]
        self.asks = False

    def drive(self, sim: Any, cycle: int) -> None:
        sim.set(self.dut.reads, int(self.asks and not self.reads))
        self.reads += self.asks
        super().drive(sim, cycle)

    def see(self, sim: Any) -> None:
        """Requests w, which then arrives by itself; by then it is in memory."""
        if not self.asks:
            assert self.memory.idle
            self.seen.counts["missed"] = sim.get(self.dut.missed)
            self.seen.counts["fetched"] = len(self.memory.fetched)
            self.seen.counts["spilled"] = len(self.memory.spilled)
            self.asks = True


def run_windowed(
    config: SidaConfig,
    passes: list[Pass],
    *,
    stall: float = 0.0,
    latency: int = 1,
    **others: Any,
) -> list[Seen]:
    """Runs passes as :func:`run_passes` does. The rows fetched are those counted, and each was
    written back; so were all first values."""
    surround = partial(_WindowedPass, stall=stall, latency=latency)
    seen = run_passes(config, passes, part=WindowedElements, surround=surround, **others)
    for given, found in zip(passes, seen, strict=True):
        counts = found.counts
        rows = -(-given.matrix.size // config.pes)
        assert counts["fetched"] == counts["missed"]
        assert counts["spilled"] == counts["missed"] + rows
    return seen


@dataclass(frozen=True, kw_only=True)
class FewRows(SidaConfig):
    """A SIDA with less on chip than is built: two rows of w are enough for its part of it."""

    vector_words: int = like(
        SidaConfig, "vector_words", allowed=IntRange(8, 1 << 20, power_of_two=True)
    )

    @property
    def window_elements(self) -> int:
        return self.pes


def few(**changes: Any) -> FewRows:
    given: dict[str, Any] = {
        "pes": 4,
        "subtensor": 4,
        "buffer_words": 64,
        "vector_words": 8,
        "rows_limit": 64,
        "value": "int32",
        "semirings": ("mma",),
    }
    return FewRows(**{**given, **changes})


DEVICES = {
    "two rows": few(value="fp16"),
    "floats": few(value="fp32", buffer_words=256, vector_words=16),
    "semirings": few(
        semirings=("mma", "minplus", "orand"), adder_stages=1, vector_words=32, buffer_words=128
    ),
    "all rows": few(vector_words=64, value="fp16", multiplier_stages=1),
    "two rows a step": few(subtensor=8, vector_words=16, adder_stages=2),
    "eight": few(pes=8, subtensor=16, vector_words=16, value="fp16", semirings=("mma", "orand")),
}
"""Devices, named by their special property."""


pytestmark = pytest.mark.long

EVERY = slow_but(["two rows"], DEVICES, ["two rows", "semirings"])
MEMORIES: list[dict[str, Any]] = [
    {"latency": 20, "stall": 0.2, "gap": 0.3},
    {"latency": 1},
    {"latency": 150, "stall": 0.8},
    {"latency": 4, "gap": 0.3},
]


@pytest.mark.parametrize("name", EVERY)
def test_the_sums_are_the_model_s(name: str) -> None:
    """Passes one after the other, and of the transpose between them."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 8)):
        rng = np.random.default_rng(seed)
        names = list(SHAPES) if by_size(0, 0, 1) else ["hubs", "band"]
        size = int(rng.integers(20, 40))
        given = drawn_passes(config, seed, names, size)
        given[1:1] = drawn_passes(config, seed + 1, ["power", "empty"], size // 2, transposed=True)
        run_windowed(config, given, seed=seed, **MEMORIES[seed % len(MEMORIES)])


@pytest.mark.long
def test_a_size_of_one_and_all_that_there_may_be() -> None:
    """The largest size has as many rows as the accelerator accepts, eight times the rows on
    chip."""
    config = DEVICES["two rows"]
    given = [one for size in (1, 4, 64) for one in drawn_passes(config, size, ["sparse"], size)]
    run_windowed(config, given, latency=10)


@pytest.mark.long
def test_where_there_is_room_each_row_comes_once() -> None:
    """Less capacity fetches some rows again, as rows of a slot alternate."""
    ample = few(vector_words=64)
    size = 37
    given = drawn_passes(ample, 3, ["lower"], size)
    (found,) = run_windowed(ample, given, latency=30)
    late = given[0].matrix.columns // 4
    assert found.counts["missed"] == len(np.unique(late))
    scarce = few(vector_words=8)
    (again,) = run_windowed(scarce, given, latency=30)
    assert again.counts["missed"] > found.counts["missed"]


@pytest.mark.slow
def test_a_clear_forgets_everything() -> None:
    """The clear may arrive in any cycle, in an exchange or while all rows are written to memory;
    afterwards the part works as from the start."""
    config = few(vector_words=16)
    for at in by_size([150], [150, 330], list(range(1, 700, 13))):
        given = drawn_passes(config, at, ["hubs"], 30, clear_at=at, transposed=at % 2 == 0)
        given += drawn_passes(config, at + 1, ["band"], 18)
        run_windowed(config, given, latency=12, stall=0.2, gap=0.1, seed=at)


def test_a_slot_without_a_row_is_not_read() -> None:
    """Elements on their way are, then."""
    config = DEVICES["two rows a step"]
    given = drawn_passes(config, 10, ["half"], 25)
    run_windowed(config, given, seed=1, latency=4, stall=0.8, gap=0.3)


@pytest.mark.slow
def test_a_memory_that_takes_little() -> None:
    """Columns advance only as far as their initial partial sums have space."""
    config = few(subtensor=16, vector_words=16)
    run_windowed(config, drawn_passes(config, 5, ["empty"], 64), stall=0.97)
