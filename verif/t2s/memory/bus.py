"""Memory after a manager, in Amaranth's simulator: it answers in the order of the bursts."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Value
from tilewright.hw.axi.managers import ReadManager, WriteManager


@dataclass(frozen=True)
class Manner:
    """Timing of a memory.

    Parameters
    ----------
    latency: least and most cycles from a burst to its first beat, or to its response
    stall: share of the cycles in which nothing is taken, or nothing new is offered
    """

    latency: tuple[int, int] = (4, 4)
    stall: float = 0.0


class _Memory:
    """Base of both memories: content, timing, and addresses at which accesses fail."""

    def __init__(
        self, content: bytearray, beat_bytes: int, manner: Manner, bad: frozenset[int], seed: Any
    ) -> None:
        self.content, self._beat, self._manner, self.bad = content, beat_bytes, manner, bad
        self._random = random.Random(f"memory {seed}")
        self._due: deque[tuple[int, int, int, bool]] = deque()
        self._offers = False

    def _moves(self) -> int:
        return int(self._random.random() >= self._manner.stall)

    def _later(self, cycle: int) -> int:
        return cycle + self._random.randint(*self._manner.latency)

    def _offered(self, cycle: int) -> bool:
        """Returns whether the next answer is offered; once offered, it stays."""
        self._offers = self._offers or bool(
            self._due and self._due[0][0] <= cycle and self._moves()
        )
        return self._offers

    def _failed(self, address: int) -> bool:
        return address in self.bad or not 0 <= address < len(self.content)


class ReadMemory(_Memory):
    """Answers the requests of ``ar`` at ``r``.

    Parameters
    ----------
    manager: a reader's or several readers'
    content: the memory, from address 0 on
    bad: addresses of beats that fail; so do those behind the end

    Members
    -------
    beats: how many were sent
    """

    def __init__(
        self,
        manager: ReadManager,
        content: bytearray,
        beat_bytes: int,
        manner: Manner,
        *,
        bad: frozenset[int] = frozenset(),
        seed: Any = 0,
    ) -> None:
        super().__init__(content, beat_bytes, manner, bad, f"read {seed}")
        self._manager = manager
        self.beats = 0

    def drive(self, sim: Any, cycle: int) -> None:
        self._ready = self._moves()
        sim.set(self._manager.ar.ready, self._ready)
        offered = self._offered(cycle)
        sim.set(self._manager.r.valid, int(offered))
        if offered:
            _, address, burst, last = self._due[0]
            payload = self._manager.r.payload
            beat = self.content[address : address + self._beat]
            sim.set(payload.data, int.from_bytes(beat, "little"))
            sim.set(payload.response, 2 if self._failed(address) else 0)
            sim.set(payload.id, burst)
            sim.set(payload.last, int(last))

    def observe(self, sim: Any, cycle: int) -> None:
        if self._offers and sim.get(self._manager.r.ready):
            self._due.popleft()
            self._offers = False
            self.beats += 1
        if self._ready and sim.get(self._manager.ar.valid):
            payload = self._manager.ar.payload
            address, length = sim.get(payload.address), sim.get(payload.length)
            assert address % 4096 + (length + 1) * self._beat <= 4096, f"burst at {address:#x}"
            due, burst = self._later(cycle), sim.get(payload.id)
            self._due += [
                (due, address + n * self._beat, burst, n == length) for n in range(length + 1)
            ]


class WriteMemory(_Memory):
    """Takes bursts at ``aw`` and ``w``, and answers at ``b``.

    Parameters
    ----------
    manager: a writer's or several writers'
    content: the memory, from address 0 on
    bad: addresses of beats whose bursts fail; so do those behind the end

    Members
    -------
    written: bytes written, in all
    """

    def __init__(
        self,
        manager: WriteManager,
        content: bytearray,
        beat_bytes: int,
        manner: Manner,
        *,
        bad: frozenset[int] = frozenset(),
        seed: Any = 0,
    ) -> None:
        super().__init__(content, beat_bytes, manner, bad, f"write {seed}")
        self._manager = manager
        self._bursts: deque[tuple[int, int]] = deque()
        self._place = 0
        self._wrong = False
        # True if the burst at AW is known already; unanswered accepted addresses, and unanswered
        # bursts with all their data.
        self._known, self._accepted = False, 0
        self._whole: deque[tuple[int, int]] = deque()
        self.written = 0

    def drive(self, sim: Any, cycle: int) -> None:
        self._aw, self._w = self._moves(), self._moves()
        sim.set(self._manager.aw.ready, self._aw)
        sim.set(self._manager.w.ready, self._w)
        offered = self._offered(cycle)
        sim.set(self._manager.b.valid, int(offered))
        if offered:
            _, response, burst, _ = self._due[0]
            sim.set(self._manager.b.payload.response, response)
            sim.set(self._manager.b.payload.id, burst)

    def observe(self, sim: Any, cycle: int) -> None:
        if self._offers and sim.get(self._manager.b.ready):
            self._due.popleft()
            self._offers = False
        if sim.get(self._manager.aw.valid):
            payload = self._manager.aw.payload
            if not self._known:
                self._bursts.append((sim.get(payload.address), sim.get(payload.id)))
            self._known = not self._aw
            self._accepted += self._aw
        if self._w and sim.get(self._manager.w.valid):
            self._write(sim)
        while self._accepted and self._whole:
            self._accepted -= 1
            self._due.append((self._later(cycle), *self._whole.popleft(), True))

    def _write(self, sim: Any) -> None:
        assert self._bursts, "data lead the AWVALID of their burst"
        payload = self._manager.w.payload
        first, burst = self._bursts[0]
        address = first + self._place
        strobe = sim.get(Value.cast(payload.strobe))
        data = sim.get(Value.cast(payload.data)).to_bytes(self._beat, "little")
        self._wrong |= self._failed(address)
        for n in range(self._beat):
            if strobe >> n & 1 and address + n < len(self.content):
                self.content[address + n] = data[n]
        self.written += strobe.bit_count()
        self._place += self._beat
        if sim.get(payload.last):
            self._whole.append((2 if self._wrong else 0, burst))
            self._bursts.popleft()
            self._place, self._wrong = 0, False
