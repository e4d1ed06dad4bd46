"""AXI subordinates, one a channel, that keep what is written to them; agents of a simulation."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Any

from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.bench.axi_storage import FLAGS, any_modes


class WrittenChannel:
    """A channel's memory. Raises AssertionError if a burst leaves its block or the channel, if the
    data of a burst are offered before its address has been, or if a byte is written twice, unless
    it may be (``again``).

    Parameters
    ----------
    geometry: of the memory's channels
    number: of this one
    ports: with arrays ``aw``, ``w``, ``b``
    stall: share of the cycles in which an address, or a beat, is not taken; with any, READY may
        also wait for VALID, in one of the ways of ``axi_modes``, at random
    latency: cycles from a burst's last beat, or its address if that is later, to its answer
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
        modes = any_modes(f"{seed} {number}") if stall else dict.fromkeys(FLAGS, False)
        self._aw_after_w, self._w_after_aw = modes["aw_after_w"], modes["w_after_aw"]
        self._ready_after_valid = modes["ready_after_valid"]
        # For AW and W: VALID was high and READY low.
        self._held = [False, False]
        # Bursts whose AWVALID has been high, and bursts with a beat offered.
        self._shown = self._begun = 0
        self._sending = False
        # Beats that arrived before their address.
        self._early: deque[tuple[int, int, int]] = deque()
        # For each burst: next address, beats left, first address.
        self._bursts: deque[list[int]] = deque()
        self._answers: deque[tuple[int, int]] = deque()
        self.bytes: dict[int, int] = {}
        self.beats = 0

    @property
    def owed(self) -> bool:
        return bool(self._bursts or self._answers or self._early)

    @property
    def unanswered(self) -> set[int]:
        return {burst[2] for burst in self._bursts} | {at for _, at in self._answers}

    def drive(self, sim: Any, cycle: int) -> None:
        for port, ready in zip((self._aw, self._w), self._ready(sim), strict=True):
            sim.set(port.ready, int(ready))
        due = bool(self._answers) and self._answers[0][0] + self._latency <= cycle
        sim.set(self._b.valid, int(due))
        bad = due and self._answers[0][1] == self._bad
        sim.set(self._b.payload.response, 2 if bad else 0)
        if due:
            self._answers.popleft()

    def _ready(self, sim: Any) -> tuple[bool, bool]:
        """READY of AW and of W in this cycle."""
        aw, w = (self._random.random() >= self._stall for _ in range(2))
        if self._ready_after_valid:
            aw, w = aw and self._held[0], w and self._held[1]
        address, beat = bool(sim.get(self._aw.valid)), bool(sim.get(self._w.valid))
        if self._aw_after_w:
            aw = aw and beat
        if not self._bursts:
            if self._w_after_aw:
                w = w and address
            # Once its last beat is gone, no WVALID would come for the address to follow.
            if self._aw_after_w and beat and sim.get(self._w.payload.last):
                w = w and address and aw
        return aw, w

    def observe(self, sim: Any, cycle: int) -> None:
        offered = [bool(sim.get(port.valid)) for port in (self._aw, self._w)]
        moves = [
            valid and bool(sim.get(port.ready))
            for port, valid in zip((self._aw, self._w), offered, strict=True)
        ]
        self._shown += offered[0] and not self._held[0]
        self._begun += offered[1] and not self._held[1] and not self._sending
        assert self._begun <= self._shown, "data are offered before their address"
        self._held = [valid and not moved for valid, moved in zip(offered, moves, strict=True)]
        if moves[0]:
            burst = self._aw.payload
            self._address(sim.get(burst.address), sim.get(burst.length))
        if moves[1]:
            beat = self._w.payload
            last = sim.get(beat.last)
            self._early.append((sim.get(beat.data), sim.get(beat.strobe), last))
            self._sending = not last
        while self._early and self._bursts:
            self._beat(*self._early.popleft(), cycle)

    def _address(self, address: int, length: int) -> None:
        geometry = self._geometry
        block = address // geometry.interleave
        assert block % geometry.channels == self._number
        assert address % geometry.beat_bytes == 0
        assert (address + length * geometry.beat_bytes) // geometry.interleave == block
        self._bursts.append([address, length + 1, address])

    def _beat(self, word: int, strobe: int, last: int, cycle: int) -> None:
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
    """Collects the bytes written to a memory, by address."""
    return {at: byte for channel in channels for at, byte in channel.bytes.items()}
