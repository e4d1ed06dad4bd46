"""Memory that is read and written while it is, as late and as early as the bus allows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.striped.memories import ChannelMemory, Manner

__all__ = ["ReadChannel", "WritingChannel", "coherent"]


@dataclass
class ReadChannel(ChannelMemory):
    """Answers with what memory held when the address was taken."""

    _held: dict[int, bytes] = field(default_factory=dict)

    def _accept(self, sim: Any, cycle: int) -> None:
        super()._accept(sim, cycle)
        burst = self.bursts[-1]
        end = burst.address + burst.beats * self.geometry.beat_bytes
        self._held[burst.id] = bytes(self.content[burst.address : end])

    def _beat(self, burst: Any) -> int:
        width = self.geometry.beat_bytes
        first = width * burst.sent
        found = self._fields.const(
            {
                "data": int.from_bytes(self._held[burst.id][first : first + width], "little"),
                "response": 2 if burst.address + first in self.bad else 0,
                "last": burst.sent == burst.beats - 1,
                "id": burst.id,
            }
        )
        return int(found.as_bits())


@dataclass
class WritingChannel:
    """Writes a burst when it answers it, not before.

    Parameters
    ----------
    ports: with arrays ``aw``, ``w``, ``b``
    content: of flat memory
    manner: ``mixed`` counts for nothing: answers are in order
    bad: addresses of bursts that are answered with an error
    """

    ports: Any
    geometry: ChannelGeometry
    channel: int
    content: bytearray
    manner: Manner
    seed: Any = 0
    bad: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self._random = Random(f"writes {self.seed} {self.channel}")
        self._aw, self._w, self._b = (
            getattr(self.ports, name)[self.channel] for name in ("aw", "w", "b")
        )
        # Of each burst: where it begins, and its beats.
        self._bursts: deque[tuple[int, int]] = deque()
        self._beats: list[tuple[int, int]] = []
        self._answers: deque[tuple[int, int, list[tuple[int, int]]]] = deque()
        # Whether the burst at AW is among them already; addresses accepted and not yet answered.
        self._offered, self._accepted = False, 0
        self.written = 0

    @property
    def quiet(self) -> bool:
        """Nothing is owed."""
        return not self._bursts and not self._answers

    def drive(self, sim: Any, cycle: int) -> None:
        for port in (self._aw, self._w):
            sim.set(port.ready, int(self._random.random() >= self.manner.stall))
        due = bool(self._answers) and self._answers[0][0] <= cycle and self._accepted > 0
        sim.set(self._b.valid, int(due))
        if due:
            self._accepted -= 1
            _, address, beats = self._answers.popleft()
            sim.set(self._b.payload.response, 2 if address in self.bad else 0)
            self._commit(address, beats)

    def _commit(self, address: int, beats: list[tuple[int, int]]) -> None:
        width = self.geometry.beat_bytes
        for number, (word, strobe) in enumerate(beats):
            for lane in range(width):
                if strobe >> lane & 1:
                    self.content[address + number * width + lane] = word >> 8 * lane & 0xFF
                    self.written += 1

    def observe(self, sim: Any, cycle: int) -> None:
        if sim.get(self._aw.valid):
            burst, taken = self._aw.payload, sim.get(self._aw.ready)
            if not self._offered:
                address = sim.get(burst.address)
                block = address // self.geometry.interleave
                assert block % self.geometry.channels == self.channel
                self._bursts.append((address, sim.get(burst.length) + 1))
            self._offered = not taken
            self._accepted += taken
        if sim.get(self._w.valid) and sim.get(self._w.ready):
            beat = self._w.payload
            self._beats.append((sim.get(beat.data), sim.get(beat.strobe)))
            assert self._bursts, "data lead the AWVALID of their burst"
            address, beats = self._bursts[0]
            assert sim.get(beat.last) == (len(self._beats) == beats)
            if len(self._beats) == beats:
                self._bursts.popleft()
                due = cycle + self._random.randint(*self.manner.latency)
                before = self._answers[-1][0] if self._answers else 0
                self._answers.append((max(due, before), address, self._beats))
                self._beats = []


def coherent(
    dut: Any,
    geometry: ChannelGeometry,
    content: bytearray,
    manner: Manner,
    *,
    seed: Any = 0,
    bad_reads: frozenset[int] = frozenset(),
    bad_writes: frozenset[int] = frozenset(),
) -> list[ReadChannel | WritingChannel]:
    """All channels of a memory, both sides. What is read in a cycle is what was before it."""
    channels = range(geometry.channels)
    shared: Any = content
    return [
        *(
            ReadChannel(dut.ar[n], dut.r[n], geometry, n, shared, manner, seed=seed, bad=bad_reads)
            for n in channels
        ),
        *(
            WritingChannel(dut, geometry, n, content, manner, seed=seed, bad=bad_writes)
            for n in channels
        ),
    ]
