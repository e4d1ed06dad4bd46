"""AXI subordinates, one a channel, that keep what is written to them; agents of a simulation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Any

from tilewright.hw.spec.channels import ChannelGeometry

__all__ = ["WrittenChannel", "written", "written_channels"]


class WrittenChannel:
    """A channel's memory. Raises AssertionError if a burst leaves its block or the channel, if data
    lead their address, or if a byte is written twice, unless it may be (``again``).

    Parameters
    ----------
    geometry: of the memory's channels
    number: of this one
    ports: with arrays ``aw``, ``w``, ``b``
    stall: share of the cycles in which an address, or a beat, is not taken
    latency: cycles from a burst's last beat to its answer
    bad: address of the burst that is answered with an error
    again: whether bytes may be written more than once; the last time counts

    Members
    -------
    bytes: what was written, by address
    beats: how many were taken
    owed: whether the channel still has to answer
    unanswered: where the bursts began that it still has to answer
    """

    def __init__(
        self,
        geometry: ChannelGeometry,
        number: int,
        ports: Any,
        *,
        seed: int = 0,
        stall: float = 0.0,
        latency: int = 3,
        bad: int | None = None,
        again: bool = False,
    ) -> None:
        self._geometry, self._number = geometry, number
        self._aw, self._w, self._b = (getattr(ports, name)[number] for name in ("aw", "w", "b"))
        self._random, self._stall = Random(f"{seed} {number}"), stall
        self._latency, self._bad, self._again = latency, bad, again
        # Of each burst: where it goes on, beats left, where it began.
        self._bursts: deque[list[int]] = deque()
        self._answers: deque[tuple[int, int]] = deque()
        # Whether the burst at AW is among them already; addresses accepted and not yet answered.
        self._offered, self._accepted = False, 0
        self.bytes: dict[int, int] = {}
        self.beats = 0

    @property
    def owed(self) -> bool:
        return bool(self._bursts or self._answers)

    @property
    def unanswered(self) -> set[int]:
        return {burst[2] for burst in self._bursts} | {at for _, at in self._answers}

    def drive(self, sim: Any, cycle: int) -> None:
        for port in (self._aw, self._w):
            sim.set(port.ready, int(self._random.random() >= self._stall))
        due = bool(self._answers) and self._answers[0][0] + self._latency <= cycle
        due = due and self._accepted > 0
        sim.set(self._b.valid, int(due))
        bad = due and self._answers[0][1] == self._bad
        sim.set(self._b.payload.response, 2 if bad else 0)
        if due:
            self._answers.popleft()
            self._accepted -= 1

    def observe(self, sim: Any, cycle: int) -> None:
        if sim.get(self._aw.valid):
            burst, taken = self._aw.payload, sim.get(self._aw.ready)
            if not self._offered:
                self._address(sim.get(burst.address), sim.get(burst.length))
            self._offered = not taken
            self._accepted += taken
        if sim.get(self._w.valid) and sim.get(self._w.ready):
            beat = self._w.payload
            self._beat(sim.get(beat.data), sim.get(beat.strobe), sim.get(beat.last), cycle)

    def _address(self, address: int, length: int) -> None:
        geometry = self._geometry
        block = address // geometry.interleave
        assert block % geometry.channels == self._number
        assert address % geometry.beat_bytes == 0
        assert (address + length * geometry.beat_bytes) // geometry.interleave == block
        self._bursts.append([address, length + 1, address])

    def _beat(self, word: int, strobe: int, last: int, cycle: int) -> None:
        assert self._bursts, "data lead the AWVALID of their burst"
        burst, size = self._bursts[0], self._geometry.beat_bytes
        for lane in range(size):
            if strobe >> lane & 1:
                assert self._again or burst[0] + lane not in self.bytes
                self.bytes[burst[0] + lane] = word >> 8 * lane & 0xFF
        burst[0] += size
        burst[1] -= 1
        self.beats += 1
        assert last == (burst[1] == 0)
        if last:
            self._answers.append((cycle, burst[2]))
            self._bursts.popleft()


def written_channels(geometry: ChannelGeometry, ports: Any, **how: Any) -> list[WrittenChannel]:
    """All channels of a memory."""
    return [WrittenChannel(geometry, n, ports, **how) for n in range(geometry.channels)]


def written(channels: Iterable[WrittenChannel]) -> dict[int, int]:
    """What was written to a memory, by address."""
    return {at: byte for channel in channels for at, byte in channel.bytes.items()}
