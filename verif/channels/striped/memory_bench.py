"""A part that reads striped memory, and that memory, in Amaranth's simulator or natively."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from amaranth.hdl import Value
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.bench.axi_storage import any_modes
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents


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
    content: of flat memory from ``base`` on; what is behind its end may not be read
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
    base: int = 0
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
        self._lows = {name: field.offset for name, field in self.r.payload.shape()}

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
        address = burst.address + self.geometry.beat_bytes * burst.sent
        fields = {
            "data": int.from_bytes(self._data(burst, address), "little"),
            "response": 2 * (address in self.bad),
            "last": burst.sent == burst.beats - 1,
            "id": burst.id,
        }
        return sum(value << self._lows[name] for name, value in fields.items())

    def _data(self, burst: _Burst, address: int) -> bytes:
        """The bytes of a beat of a burst."""
        return self.word(address)

    def word(self, address: int) -> bytes:
        """The bytes of a beat at an address."""
        at, width = address - self.base, self.geometry.beat_bytes
        assert 0 <= at <= len(self.content) - width, f"{address:#x} is no memory"
        return self.content[at : at + width]

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
        beats = self.check_request(asked)
        assert asked.id not in [burst.id for burst in self.bursts], f"ID {asked.id} twice"
        latency = self._random.randint(*self.manner.latency)
        self.bursts.append(_Burst(asked.id, asked.address, beats, cycle + latency))

    def check_request(self, asked: Any) -> int:
        """Checks a request and returns its beats."""
        geometry = self.geometry
        block, within = divmod(asked.address, geometry.interleave)
        assert within == 0, f"{asked.address:#x} is no block"
        assert block % geometry.channels == self.channel, f"{asked.address:#x} at {self.channel}"
        assert asked.length == geometry.block_beats - 1
        return geometry.block_beats


class ReaderMemory(ChannelMemory):
    """Memory of one reader of a component with ``array_readers.reader_members``: it may read
    bursts anywhere, of one block each.

    Parameters
    ----------
    part, reader: the component and the reader's name
    blocks: content by address; what is elsewhere is any

    Members
    -------
    addresses: of the beats that were requested
    """

    def __init__(
        self,
        part: Any,
        reader: str,
        geometry: ChannelGeometry,
        blocks: Mapping[int, bytes],
        manner: Manner,
        seed: Any,
        bad: frozenset[int] = frozenset(),
    ) -> None:
        ar, r = getattr(part, f"{reader}_ar"), getattr(part, f"{reader}_r")
        super().__init__(ar, r, geometry, 0, b"", manner, seed=f"{reader} {seed}", bad=bad)
        self._came = getattr(part, f"read_beats_{reader}")
        width = geometry.beat_bytes
        self._words = {
            address + at: content[at : at + width].ljust(width, b"\xa5")
            for address, content in blocks.items()
            for at in range(0, len(content), width)
        }
        self.addresses: list[int] = []

    def word(self, address: int) -> bytes:
        return self._words.get(address, b"\x5a" * self.geometry.beat_bytes)

    def observe(self, sim: Any, cycle: int) -> None:
        assert sim.get(self._came) == (self._chosen is not None)
        super().observe(sim, cycle)

    def check_request(self, asked: Any) -> int:
        geometry, width = self.geometry, self.geometry.beat_bytes
        beats = asked.length + 1
        block = asked.address // geometry.interleave
        assert asked.address % width == 0
        assert block == (asked.address + beats * width - 1) // geometry.interleave, "two blocks"
        if geometry.channels > 1:
            assert asked.channel == block % geometry.channels
        self.addresses += [asked.address + n * width for n in range(beats)]
        return int(beats)


MANNERS = {
    "rough": Manner(latency=(1, 60), stall=0.3, mixed=True),
    "even": Manner(latency=(3, 12)),
}
PERFECT = Manner(latency=(8, 8))


class Lined(Protocol):
    """A configuration of what reads lines."""

    @property
    def geometry(self) -> ChannelGeometry: ...

    @property
    def line_bytes(self) -> int: ...


class Image:
    """Memory that is being filled, from address ``base`` on, which is the beginning of a stripe and
    of a line; what is not filled is random."""

    def __init__(self, config: Lined, seed: Any, base: int = 0) -> None:
        self._config, self.base = config, base
        self._random = random.Random(f"image {seed}")
        self._content = bytearray()
        self.gap()

    def gap(self) -> None:
        """Leave something out, up to a line's boundary."""
        line = self._config.line_bytes
        count = -len(self._content) % line + line * self._random.randrange(3)
        self._content += self._random.randbytes(count)

    def place(self, content: bytes) -> int:
        """Put something at the beginning of a line. Returns where."""
        self.gap()
        at = len(self._content)
        self._content += content
        return self.base + at

    @property
    def bytes(self) -> bytes:
        """Content of the whole memory, with the bytes after it that reads of whole blocks
        return."""
        behind = 2 * self._config.geometry.stripe_bytes
        return bytes(self._content) + self._random.randbytes(
            behind - len(self._content) % self._config.geometry.interleave
        )


def high_base(config: Lined, addr_bits: int, seed: int) -> int:
    """Returns the beginning of an image that uses every bit of an address: two seeds that follow
    one another see both values of each bit but the lowest."""
    pattern = _PATTERN if seed % 2 else ~_PATTERN
    step = config.line_bytes * config.geometry.stripe_bytes
    return pattern % (1 << addr_bits) // step * step


_PATTERN = 0xB4D2_6A59_C5A3_96E4


_RESTS = 3
"""Cycles at the end of a run in which the part must be idle."""


class MemoryBench:
    """Runs a part until the expected output has arrived.

    Parameters
    ----------
    part: has ``ar``, ``r``, ``stop``, ``idle``, ``error``
    agents: beside the memory
    simulate: runs a bench on the part; None: Amaranth's simulator does
    base: address of the content
    done: whether all has come; asked every cycle, with the simulator
    stop_at: a cycle of ``stop``, which lasts a while; ``again`` is called when it is idle
    bad: addresses of bad beats; then it runs until nothing moves any more
    patience: cycles in which nothing moves before a run with something wrong ends
    most: cycles of a run

    Members
    -------
    error: address of the error
    cycles: of the run
    """

    def __init__(
        self,
        config: Lined,
        part: Any,
        content: bytes,
        manner: Manner,
        agents: Sequence[Agent],
        *,
        simulate: Callable[[Any], None] | None = None,
        base: int = 0,
        wires: Sequence[tuple[Any, int]] = (),
        seed: Any = 0,
        bad: frozenset[int] = frozenset(),
        stop_at: int | None = None,
        again: Callable[[], None] = lambda: None,
        patience: int = 400,
        most: int = 20_000,
    ) -> None:
        self.part, self._agents, self._wires = part, agents, wires
        self._simulated: Any = simulate or part
        self.memories = [
            ChannelMemory(
                ar, r, config.geometry, channel, content, manner, seed=seed, bad=bad, base=base
            )
            for channel, (ar, r) in enumerate(zip(part.ar, part.r, strict=True))
        ]
        self._stop_at, self._again = stop_at, again
        self._patience, self._most = patience, most
        self._stop_for = random.Random(f"stop {seed}").choice([1, 2, 30])
        self.error: int | None = None
        self.cycles = 0

    @property
    def beats(self) -> int:
        return sum(memory.beats for memory in self.memories)

    def port_use(self) -> float:
        """Beats a cycle of each port, from the first beat to the last."""
        first = min(memory.first for memory in self.memories if memory.beats)
        last = max(memory.last for memory in self.memories)
        return self.beats / (last - first + 1) / len(self.memories)

    def run(self, done: Callable[[Any], bool], *, settles: bool = False) -> None:
        """Runs until all is done and idle, and stays so, or, if an error is expected
        (``settles``), until nothing moves."""
        broken = self._stop_at is None
        moved, since, rests = (0, 0), 0, 0

        def until(sim: Any, cycle: int) -> bool:
            nonlocal broken, moved, since, rests
            quiet = all(memory.quiet for memory in self.memories)
            idle = bool(sim.get(self.part.idle))
            assert quiet or not idle, "idle though the bus owes something"
            if not broken:
                assert self._stop_at is not None
                if cycle == self._stop_at:
                    self._forget()
                if cycle >= self._stop_at + self._stop_for and idle:
                    broken = True
                    assert not sim.get(self.part.error)
                    self._again()
                return False
            if sim.get(self.part.error):
                self.error = sim.get(self.part.error_address)
            complete = done(sim)
            if not settles:
                assert self.error is None
                assert idle or not rests, "idle, and no more"
                rests += complete and idle
                return rests > _RESTS
            now = (self.beats, sum(len(s.cycles) for s in self._streams()))
            since = 0 if now != moved else since + 1
            moved = now
            return quiet and since > self._patience

        stop = Wire(self.part.stop, self._stops)
        agents = [*self._agents, *self.memories, stop]
        self.cycles = run_agents(
            self._simulated, agents, until=until, most=self._most, wires=self._wires
        )

    def _streams(self) -> list[Sink | Source]:
        return [agent for agent in self._agents if isinstance(agent, Sink | Source)]

    def _forget(self) -> None:
        for agent in self._agents:
            if hasattr(agent, "forget"):
                agent.forget()

    def _stops(self, cycle: int) -> int:
        at = self._stop_at
        return int(at is not None and at <= cycle < at + self._stop_for)
