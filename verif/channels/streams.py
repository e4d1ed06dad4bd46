"""Runs a component's streams in Amaranth's simulator, with gaps and stalls."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.sim import Simulator

Word = Mapping[str, int]


class StreamRun:
    """Drives a component's input streams and records its outputs, in order.

    Parameters
    ----------
    part: the component
    given: by input stream, its payloads
    taken: output streams
    wires: other inputs, constant
    last: other inputs that are 1 as soon as all payloads are in
    gap, stall: shares of the cycles in which an input offers nothing new, an output takes nothing
    clear_at: a cycle in which ``clear`` is 1, if any; nothing is offered any more from then on
    cycles: length

    Members
    -------
    sent: by input stream, the cycles in which its payloads went in
    found: by output stream, (cycle, payload) of what came out
    ports: by name, values at the end of other outputs
    """

    def __init__(
        self,
        part: Any,
        given: Mapping[str, Sequence[Word]],
        taken: Sequence[str],
        *,
        cycles: int,
        wires: Mapping[str, int] | None = None,
        last: Sequence[str] = (),
        watched: Sequence[str] = (),
        gap: float = 0.0,
        stall: float = 0.0,
        clear_at: int | None = None,
        seed: int = 0,
    ) -> None:
        self._part, self._given, self._last, self._watched = part, given, last, watched
        self._wires = wires or {}
        self._gap, self._stall, self._clear_at, self._cycles = gap, stall, clear_at, cycles
        self._random = random.Random(seed)
        self.sent: dict[str, list[int]] = {name: [] for name in given}
        self.found: dict[str, list[tuple[int, dict[str, int]]]] = {name: [] for name in taken}
        self.ports: dict[str, int] = {}
        simulator = Simulator(part)
        simulator.add_clock(1e-6)
        simulator.add_testbench(self._bench)
        simulator.run()

    @property
    def cleared(self) -> bool:
        return self._clear_at is not None

    def payloads(self, name: str) -> list[dict[str, int]]:
        """Returns the payloads that a stream produced."""
        return [payload for _, payload in self.found[name]]

    async def _bench(self, sim: Any) -> None:
        held: dict[str, dict[str, int]] = {}
        for name, value in self._wires.items():
            sim.set(getattr(self._part, name), value)
        for cycle in range(self._cycles):
            clears = cycle == self._clear_at
            if self.cleared:
                sim.set(self._part.clear, int(clears))
            self._offer(sim, cycle)
            for name in self.found:
                takes = self._random.random() >= self._stall and not clears
                sim.set(getattr(self._part, name).ready, int(takes))
            for name in self.found:
                self._observe(sim, cycle, name, held)
            if clears:
                held.clear()
            for name in self.sent:
                port = getattr(self._part, name)
                if sim.get(port.valid) and sim.get(port.ready):
                    self.sent[name].append(cycle)
            await sim.tick()
        self.ports = {name: sim.get(getattr(self._part, name)) for name in self._watched}

    def _offer(self, sim: Any, cycle: int) -> None:
        ended = self._clear_at is not None and cycle >= self._clear_at
        for name, words in self._given.items():
            port, number = getattr(self._part, name), len(self.sent[name])
            moved = bool(self.sent[name]) and self.sent[name][-1] == cycle - 1
            waits = sim.get(port.valid) == 1 and not moved
            offers = number < len(words) and not ended
            offers = offers and (waits or self._random.random() >= self._gap)
            sim.set(port.valid, int(offers))
            sim.set(port.payload, words[number] if offers else self._nothing(port))
        done = all(len(self.sent[name]) == len(words) for name, words in self._given.items())
        for name in self._last:
            sim.set(getattr(self._part, name), int(done))

    def _nothing(self, port: Any) -> Word:
        """Draws the payload of an input that is not valid."""
        fields = port.payload.shape()
        return {name: self._random.getrandbits(field.width) for name, field in fields}

    def _observe(self, sim: Any, cycle: int, name: str, held: dict[str, dict[str, int]]) -> None:
        """Records a transfer; a payload that is not accepted must stay unchanged."""
        port = getattr(self._part, name)
        if not sim.get(port.valid):
            assert name not in held, f"`{name}` was valid and is not any more, in cycle {cycle}"
            return
        view = port.payload
        payload = {field: sim.get(view[field]) for field, _ in view.shape()}
        assert held.get(name, payload) == payload, f"`{name}` changed in cycle {cycle}"
        if sim.get(port.ready):
            self.found[name].append((cycle, payload))
            held.pop(name, None)
        else:
            held[name] = payload
