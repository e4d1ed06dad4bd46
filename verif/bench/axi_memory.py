"""A memory behind an AXI4 manager, for cocotb, that does what a real one may do to it.

Responses come after random latencies, out of order and interleaved between IDs, with pauses on all
channels and errors at chosen beats; READY may wait for VALID, of its own channel or of another, as
far as the standard allows; every rule that the manager has to keep is checked. Whole beats are
integers.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import ReadWrite, RisingEdge

from .axi_storage import Storage
from .streams import Pauser, cycle

OKAY, EXOKAY, SLVERR, DECERR = range(4)
PAGE_BYTES = 4096
_INCR = 1


def _nothing(address: int) -> int:
    return 0


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Timing and error responses of a memory.

    Parameters
    ----------
    latency: least and greatest number of cycles from an address (for writes: from the last beat)
        to its response, 1 being the next cycle
    stall: share of the cycles in which a channel pauses, for each channel by itself
    mixed: responses of different IDs overtake each other, and read beats interleave
    aw_after_w: AWREADY is high only in a cycle in which WVALID is high; the last beat of a burst
        whose address has not been accepted is taken together with its address
    w_after_aw: WREADY is high only while AWVALID is high or an accepted address waits for data
    ready_after_valid: ARREADY, AWREADY and WREADY rise only after VALID has been high for a cycle
    one_read: ARREADY is high only while no read is under way
    write_latency: as ``latency``, for writes, from the last beat and the address; None: the same
    read_error, write_error: response to the beat at an address, or to the burst that starts there
    """

    latency: tuple[int, int] = (1, 1)
    stall: float = 0.0
    mixed: bool = False
    aw_after_w: bool = False
    w_after_aw: bool = False
    ready_after_valid: bool = False
    one_read: bool = False
    write_latency: tuple[int, int] | None = None
    read_error: Callable[[int], int] = _nothing
    write_error: Callable[[int], int] = _nothing


@dataclass
class _Burst:
    """A burst in flight: its next beat's address, beats left, earliest response."""

    id: int
    start: int
    address: int
    left: int
    asked: int
    due: int


@dataclass
class Record:
    """Record of the transfers at the port.

    Parameters
    ----------
    ar, aw: (cycle, ID, address, beats) of every burst
    r, b: (cycle, ID) of every transfer
    w: cycle of every transfer
    errors: by side, "read" or "write", (ID, address) of the error responses in order
    overtakes: how often a response came before one of another ID that was asked for earlier
    most: by side, most bursts of an ID under way at a time
    """

    ar: list[tuple[int, int, int, int]] = field(default_factory=list)
    aw: list[tuple[int, int, int, int]] = field(default_factory=list)
    r: list[tuple[int, int]] = field(default_factory=list)
    w: list[int] = field(default_factory=list)
    b: list[tuple[int, int]] = field(default_factory=list)
    errors: dict[str, list[tuple[int, int]]] = field(
        default_factory=lambda: {"read": [], "write": []}
    )
    overtakes: int = 0
    most: dict[str, int] = field(default_factory=lambda: {"read": 0, "write": 0})


class AxiMemory:
    """The memory at one AXI4 manager.

    Parameters
    ----------
    dut, clock: the top and its clock
    prefix: of the port's signals
    storage: what it holds
    behaviour: how it answers
    seed: of everything random
    outstanding: bursts that each ID may have under way, in each direction
    may_wait: whether the manager may keep responses waiting

    Members
    -------
    faults: broken rules, one line each: a payload or valid that changes before ready, a burst
        that is not INCR of whole aligned beats within 4 KiB, a wrong WLAST; and what our own
        managers promise beyond AXI: no WVALID of a burst before its AWVALID, no pause of WVALID
        within a burst, no more bursts under way than ``outstanding``, no RREADY or BREADY low
        when a response comes
    record: what happened
    bytes: by side, of the beats read, and of those written that a strobe named
    """

    def __init__(
        self,
        dut: Any,
        clock: Any,
        prefix: str,
        storage: Storage,
        behaviour: Behaviour,
        *,
        seed: str = "",
        outstanding: int = 1 << 30,
        may_wait: bool = False,
    ) -> None:
        self._dut, self._prefix, self._clock = dut, prefix, clock
        self._storage, self._behaviour = storage, behaviour
        self._outstanding, self._may_wait = outstanding, may_wait
        self._random = random.Random(f"{seed} {prefix}")
        self._pause = {
            name: Pauser(f"{seed} {prefix} {name}", behaviour.stall)
            for name in ("aw", "w", "b", "ar", "r")
        }
        self._now = 0
        self._moved = {"read": 0, "write": 0}
        self._reads: dict[int, deque[_Burst]] = {}
        self._writes: dict[int, deque[_Burst]] = {}
        # Addresses that wait for data, and beats that wait for their address: one is empty.
        self._waiting: deque[_Burst] = deque()
        self._early: deque[tuple[int, int, int]] = deque()
        # Bursts whose AWVALID has been high, and those of which a beat was offered.
        self._shown = self._begun = 0
        self._accepting: dict[str, bool] = {"ar": False, "aw": False, "w": False}
        self._held: dict[str, tuple[int, ...] | None] = {"ar": None, "aw": None, "w": None}
        self._sending = False
        self._reading: _Burst | None = None
        self._answering: _Burst | None = None
        self.faults: list[str] = []
        self.record = Record()
        self.bytes = {"read": 0, "write": 0}
        names = {
            "ar": ("addr", "len", "id", "size", "burst"),
            "aw": ("addr", "len", "id", "size", "burst"),
            "w": ("data", "strb", "last"),
        }
        self._valid = {c: self._signal(f"{c}valid") for c in ("ar", "aw", "w", "r", "b")}
        self._ready = {c: self._signal(f"{c}ready") for c in ("ar", "aw", "w", "r", "b")}
        self._payload = {c: [self._signal(c + n) for n in names[c]] for c in names}
        self._r = [self._signal(f"r{n}") for n in ("id", "data", "resp", "last")]
        self._b = [self._signal(f"b{n}") for n in ("id", "resp")]
        for handle in (*(self._ready[c] for c in names), self._valid["r"], self._valid["b"]):
            handle.value = 0

    def _signal(self, name: str) -> Any:
        return getattr(self._dut, f"{self._prefix}_{name}")

    def owed(self, side: str) -> int:
        """Bursts, of side "read" or "write", whose last response has not been taken."""
        queues = self._reads if side == "read" else self._writes
        out = self._reading if side == "read" else self._answering
        return sum(map(len, queues.values())) + (out is not None and out.left == 0)

    def quiet_for(self, side: str) -> int:
        """Returns the cycles since the last transfer on a side's channels; 0 while a response is
        outstanding."""
        return 0 if self.owed(side) else self._now - self._moved[side]

    def start(self) -> Any:
        """Run until cancelled; returns the task."""
        return cocotb.start_soon(self._run())

    def _fault(self, text: str) -> None:
        self.faults.append(f"`{self._prefix}`: {text}, cycle {cycle()}")

    async def _run(self) -> None:
        edge, settled = RisingEdge(self._clock), ReadWrite()
        follows = self._behaviour.aw_after_w or self._behaviour.w_after_aw
        while True:
            await edge
            ready = self.sample()
            if follows:
                await settled
            self.answer(ready)

    def sample(self) -> dict[str, bool]:
        """The end of a cycle: what moved in it, and responses for the next one. Returns the READYs
        of the next one as far as they are known."""
        self._now += 1
        for channel, queues in (("ar", self._reads), ("aw", self._writes)):
            burst = self._take(channel)
            if burst is not None:
                self._accept(channel, queues, *burst)
        self._take_beat()
        self._place()
        self._send_beat()
        self._send_answer()
        return self._willing()

    def answer(self, ready: dict[str, bool]) -> None:
        """Sets the READYs of a cycle that depend on VALIDs, once these are known."""
        if self._behaviour.aw_after_w or self._behaviour.w_after_aw:
            self._follow(ready)
        for channel, value in ready.items():
            if value != self._accepting[channel]:
                self._accepting[channel] = value
                self._ready[channel].value = int(value)

    def _willing(self) -> dict[str, bool]:
        """Returns for each channel whether its READY may be high in the next cycle, given what has
        happened so far."""
        how = self._behaviour
        ready = {channel: not self._pause[channel]() for channel in ("ar", "aw", "w")}
        if how.ready_after_valid:
            ready = {c: ready[c] and self._held[c] is not None for c in ready}
        if how.one_read and self.owed("read"):
            ready["ar"] = False
        return ready

    def _follow(self, ready: dict[str, bool]) -> None:
        """Take back what the VALIDs of this cycle do not allow, of AW and W."""
        how = self._behaviour
        address, beat = (self._valid[channel].value == 1 for channel in ("aw", "w"))
        if how.aw_after_w and not beat:
            ready["aw"] = False
        if self._waiting:
            return
        if how.w_after_aw and not address:
            ready["w"] = False
        # Once its last beat is gone, no WVALID would come for the address to follow.
        if how.aw_after_w and beat and self._payload["w"][2].value == 1:
            ready["w"] = ready["w"] and address and ready["aw"]

    def _take(self, channel: str) -> tuple[int, ...] | None:
        """The payload that moved over a channel, checking its rules."""
        moved = None
        if self._valid[channel].value == 1:
            if channel == "aw" and self._held["aw"] is None:
                self._shown += 1
            payload = tuple(int(handle.value) for handle in self._payload[channel])
            held = self._held[channel]
            if held is not None and held != payload:
                self._fault(f"{channel} changed before ready")
            if self._accepting[channel]:
                moved, self._held[channel] = payload, None
            else:
                self._held[channel] = payload
        elif self._held[channel] is not None:
            self._fault(f"{channel} took back its valid")
            self._held[channel] = None
        return moved

    def _due(self, side: str) -> int:
        latency = self._behaviour.latency
        if side == "write":
            latency = self._behaviour.write_latency or latency
        return self._now + self._random.randint(*latency) - 1

    def _accept(
        self,
        channel: str,
        queues: dict[int, deque[_Burst]],
        address: int,
        length: int,
        id: int,
        size: int,
        kind: int,
    ) -> None:
        beats, width = length + 1, self._storage.bytes
        if kind != _INCR or 1 << size != width or address % width:
            self._fault(f"{channel} {address:#x} is no INCR burst of whole aligned beats")
        if address % PAGE_BYTES + beats * width > PAGE_BYTES:
            self._fault(f"{channel} {address:#x}, {beats} beats, crosses 4 KiB")
        queue = queues.setdefault(id, deque())
        side = "read" if channel == "ar" else "write"
        burst = _Burst(id, address, address, beats, self._now, self._due(side))
        record = self.record.ar if channel == "ar" else self.record.aw
        record.append((cycle(), id, address, beats))
        queue.append(burst)
        if channel == "aw":
            self._waiting.append(burst)
        self._moved[side] = self._now
        self.record.most[side] = max(self.record.most[side], len(queue))
        if len(queue) > self._outstanding:
            self._fault(f"ID {id} has {len(queue)} bursts under way on {channel}")

    def _take_beat(self) -> None:
        """Accepts a beat on W and checks its order."""
        offered = self._valid["w"].value == 1
        if offered and not self._sending and self._held["w"] is None:
            self._begun += 1
            if self._begun > self._shown:
                self._fault("w is offered before its aw")
        beat = self._take("w")
        if beat is None:
            if self._sending and not offered:
                self._fault("w pauses within a burst")
            return
        value, strobe, last = beat
        self._sending = not last
        self._moved["write"] = self._now
        self.bytes["write"] += strobe.bit_count()
        self.record.w.append(cycle())
        self._early.append((value, strobe, last))

    def _place(self) -> None:
        """Stores the beats whose address has arrived."""
        while self._early and self._waiting:
            value, strobe, last = self._early.popleft()
            burst = self._waiting[0]
            if not self._behaviour.write_error(burst.start):
                self._storage.put(burst.address, value, strobe)
            burst.address += self._storage.bytes
            burst.left -= 1
            if last != (burst.left == 0):
                self._fault(f"wlast is {last} with {burst.left} beats of {burst.start:#x} left")
            if burst.left == 0:
                self._waiting.popleft()
                burst.due = self._due("write")

    def _choose(self, queues: dict[int, deque[_Burst]]) -> _Burst | None:
        """The burst that answers next: of the ready ones any, or the oldest."""
        heads = [queue[0] for queue in queues.values() if queue]
        if self._behaviour.mixed:
            ready = [head for head in heads if head.due <= self._now]
            chosen = self._random.choice(ready) if ready else None
            if chosen is not None and chosen.asked > min(head.asked for head in heads):
                self.record.overtakes += 1
            return chosen
        head = min(heads, key=lambda head: head.due, default=None)
        return head if head is not None and head.due <= self._now else None

    def _answered(self, channel: str) -> bool:
        """Returns whether the pending response was accepted."""
        if self._ready[channel].value == 1:
            return True
        if not self._may_wait:
            self._fault(f"{channel}ready is low when a response comes")
        return False

    def _send_beat(self) -> None:
        if self._reading is not None:
            if not self._answered("r"):
                return
            self._moved["read"] = self._now
            self.bytes["read"] += self._storage.bytes
            self.record.r.append((cycle(), self._reading.id))
        burst = None if self._pause["r"]() else self._choose(self._reads)
        if burst is None:
            if self._reading is not None:
                self._valid["r"].value = 0
            self._reading = None
            return
        response = self._behaviour.read_error(burst.address)
        value = self._storage.get(burst.address)
        if response >= SLVERR:
            value = self._random.getrandbits(8 * self._storage.bytes)
            self.record.errors["read"].append((burst.id, burst.address))
        burst.address += self._storage.bytes
        burst.left -= 1
        fields = (burst.id, value, response, int(burst.left == 0))
        for handle, number in zip(self._r, fields, strict=True):
            handle.value = number
        if self._reading is None:
            self._valid["r"].value = 1
        self._reading = burst
        if burst.left == 0:
            self._reads[burst.id].popleft()

    def _send_answer(self) -> None:
        if self._answering is not None:
            if not self._answered("b"):
                return
            self._moved["write"] = self._now
            self.record.b.append((cycle(), self._answering.id))
        finished = {id: queue for id, queue in self._writes.items() if queue and queue[0].left == 0}
        burst = None if self._pause["b"]() else self._choose(finished)
        if burst is None:
            if self._answering is not None:
                self._valid["b"].value = 0
            self._answering = None
            return
        response = self._behaviour.write_error(burst.start)
        if response >= SLVERR:
            self.record.errors["write"].append((burst.id, burst.start))
        for handle, number in zip(self._b, (burst.id, response), strict=True):
            handle.value = number
        if self._answering is None:
            self._valid["b"].value = 1
        self._answering = burst
        self._writes[burst.id].popleft()
