"""Memory at the channels of a simulated part: latency, order, stalls, bad responses."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Value
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.bench.axi_modes import any_modes


@dataclass(frozen=True)
class Manner:
    """Behaviour of a memory. ``latency``: least and greatest number of cycles, drawn at random.
    ``stall``: share of the cycles without a beat, and of those without an address; if it is not 0,
    ARREADY of some channels rises only after ARVALID has been high for a cycle. ``mixed``: beats of
    different IDs arrive in any order. ``one_read``: ARREADY is high only while no read is in
    flight."""

    latency: tuple[int, int] = (1, 1)
    stall: float = 0.0
    mixed: bool = False
    one_read: bool = False


@dataclass
class _Burst:
    id: int
    address: int
    beats: int
    due: int
    sent: int = 0


@dataclass
class ChannelMemory:
    """The blocks of one channel, which are read whole.

    Parameters
    ----------
    ar, r: the reader's streams
    channel: which one
    content: of flat memory; what is behind its end may not be read
    bad: addresses of beats whose responses are bad

    Members
    -------
    beats: how many came, first: in which cycle the first, last: the last
    """

    ar: Any
    r: Any
    geometry: ChannelGeometry
    channel: int
    content: bytes
    manner: Manner
    seed: Any = 0
    bad: frozenset[int] = frozenset()
    beats: int = 0
    first: int = -1
    last: int = -1
    overtakes: int = 0
    bursts: list[_Burst] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.seed} {self.channel}")
        self._takes: bool | None = None
        self._asked = False
        modes = any_modes(f"{self.seed} {self.channel}")
        self._waits = self.manner.stall > 0 and modes["ready_after_valid"]
        self._chosen: _Burst | None = None
        self._shown: tuple[int, int] | None = None
        self._payload = Value.cast(self.r.payload)
        self._fields = self.r.payload.shape()

    @property
    def quiet(self) -> bool:
        """True if no response is outstanding."""
        return not self.bursts

    def drive(self, sim: Any, cycle: int) -> None:
        takes = self._random.random() >= self.manner.stall
        takes &= self._asked or not self._waits
        takes &= not (self.manner.one_read and self.bursts)
        if takes != self._takes:
            sim.set(self.ar.ready, int(takes))
            self._takes = takes
        if self._chosen is None:
            self._chosen = self._choose(cycle)
        burst = self._chosen
        shown = (id(burst), burst.sent) if burst else None
        if shown != self._shown:
            sim.set(self.r.valid, int(burst is not None))
            if burst is not None:
                sim.set(self._payload, self._beat(burst))
            self._shown = shown

    def _choose(self, cycle: int) -> _Burst | None:
        if self._random.random() < self.manner.stall:
            return None
        due = [burst for burst in self.bursts if burst.due <= cycle]
        if not due or (not self.manner.mixed and due[0] is not self.bursts[0]):
            return None
        return self._random.choice(due) if self.manner.mixed else due[0]

    def _beat(self, burst: _Burst) -> int:
        width = self.geometry.beat_bytes
        address = burst.address + width * burst.sent
        assert address + width <= len(self.content), f"{address:#x} is no memory"
        number = int.from_bytes(self.content[address : address + width], "little")
        found = self._fields.const(
            {
                "data": number,
                "response": 2 if address in self.bad else 0,
                "last": burst.sent == burst.beats - 1,
                "id": burst.id,
            }
        )
        return int(found.as_bits())

    def observe(self, sim: Any, cycle: int) -> None:
        burst = self._chosen
        if burst is not None:
            assert sim.get(self.r.ready), "a reader always takes beats"
            self._chosen = None
            self.overtakes += burst is not self.bursts[0]
            burst.sent += 1
            self.beats += 1
            self.first = cycle if self.first < 0 else self.first
            self.last = cycle
            if burst.sent == burst.beats:
                self.bursts.remove(burst)
        asks = bool(sim.get(self.ar.valid))
        self._asked = asks and not self._takes
        if self._takes and asks:
            self._accept(sim, cycle)

    def _accept(self, sim: Any, cycle: int) -> None:
        asked = sim.get(self.ar.payload)
        geometry = self.geometry
        block, within = divmod(asked.address, geometry.interleave)
        assert within == 0, f"{asked.address:#x} is no block"
        assert block % geometry.channels == self.channel, f"{asked.address:#x} at {self.channel}"
        assert asked.length == geometry.block_beats - 1
        assert asked.id not in [burst.id for burst in self.bursts], f"ID {asked.id} twice"
        latency = self._random.randint(*self.manner.latency)
        self.bursts.append(_Burst(asked.id, asked.address, geometry.block_beats, cycle + latency))
