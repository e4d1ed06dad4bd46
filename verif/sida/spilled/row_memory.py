"""A memory for rows of w."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from amaranth.hdl import Value
from tilewright.hw.sida.spilled.layouts import row_values_layout

__all__ = ["RowMemory"]


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
