"""Streams that are offered and taken by a pattern, the same for hardware and for a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Value
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.sim.timing.dram import MemoryModel


def _geometry(channels: int, data_bits: int, interleave: int = 64) -> ChannelGeometry:
    return ChannelGeometry(
        channels=channels, data_bits=data_bits, interleave=interleave, addr_bits=32
    )


GEOMETRIES: dict[str, tuple[ChannelGeometry, int]] = {
    "one": (_geometry(1, 64), 1),
    "two": (_geometry(2, 256, 128), 1),
    "four": (_geometry(4, 256), 2),
    "three": (_geometry(3, 512), 3),
    "three, lines of two": (_geometry(3, 512), 2),
    "six": (_geometry(6, 512, 128), 1),
    "eight": (_geometry(8, 128), 2),
}


def pattern(rng: np.random.Generator, cycles: int, pauses: float) -> npt.NDArray[np.uint8]:
    """(cycles,) 1 but for a share of them; now and then none for a while."""
    found = rng.random(cycles) >= pauses
    if pauses:
        for start in rng.integers(0, cycles, cycles // 150):
            found[start : start + rng.integers(1, 60)] = False
    return found.astype(np.uint8)


class Pace(NamedTuple):
    """Speeds of a memory without timing of its own and of the agents around it.

    latency: of the memory, cycles
    gap, wait: shares of the cycles in which nothing is asked for, and no line moves
    """

    latency: int
    gap: float
    wait: float

    @classmethod
    def random(cls, rng: np.random.Generator) -> Pace:
        """Draws any pace."""
        return cls(
            int(rng.choice([1, 2, 5, 20, 60])),
            float(rng.choice([0.0, 0.3, 0.9])),
            float(rng.choice([0.0, 0.3, 0.8])),
        )

    @property
    def memory(self) -> MemoryModel:
        """The memory of the cycle model."""
        return MemoryModel(name="flat", banks=0, latency=self.latency)


class Offers:
    """Offers words in order, a new one where the pattern is 1; one that is offered stays.

    Members: ``cycles``: in which words were taken.
    """

    def __init__(self, port: Any, words: Sequence[int], gate: npt.NDArray[np.uint8]) -> None:
        self._port, self._words, self._gate = port, words, gate
        self._payload = Value.cast(port.payload)
        self._offers = False
        self.cycles: list[int] = []

    def drive(self, sim: Any, cycle: int) -> None:
        if not self._offers and len(self.cycles) < len(self._words) and self._gate[cycle]:
            self._offers = True
            sim.set(self._payload, self._words[len(self.cycles)])
        sim.set(self._port.valid, int(self._offers))

    def observe(self, sim: Any, cycle: int) -> None:
        if self._offers and sim.get(self._port.ready):
            self.cycles.append(cycle)
            self._offers = False


class Takes:
    """Takes lines where the pattern is 1.

    Members: ``cycles``: when; ``lasts``: whether each was the last of its request.
    """

    def __init__(self, port: Any, gate: npt.NDArray[np.uint8]) -> None:
        self._port, self._gate = port, gate
        self.cycles: list[int] = []
        self.lasts: list[int] = []

    def drive(self, sim: Any, cycle: int) -> None:
        sim.set(self._port.ready, int(self._gate[cycle]))

    def observe(self, sim: Any, cycle: int) -> None:
        if self._gate[cycle] and sim.get(self._port.valid):
            self.cycles.append(cycle)
            self.lasts.append(sim.get(self._port.payload.last))


class Watch:
    """A signal's value in every cycle, in ``values``."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self.values: list[int] = []

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None:
        self.values.append(sim.get(self._port))
