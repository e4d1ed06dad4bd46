"""A part that reads striped memory, and that memory, in Amaranth's simulator."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.channels.striped.memories import ChannelMemory, Manner
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents

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
    """Memory that is being filled, from address 0 on; what is not filled is random."""

    def __init__(self, config: Lined, seed: Any) -> None:
        self._config = config
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
        return at

    @property
    def bytes(self) -> bytes:
        """Content of the whole memory, with the bytes after it that reads of whole blocks
        return."""
        behind = 2 * self._config.geometry.stripe_bytes
        return bytes(self._content) + self._random.randbytes(
            behind - len(self._content) % self._config.geometry.interleave
        )


class MemoryBench:
    """Runs a part until the expected output has arrived.

    Parameters
    ----------
    part: has ``ar``, ``r``, ``stop``, ``idle``, ``error``
    agents: beside the memory
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
        wires: Sequence[tuple[Any, int]] = (),
        seed: Any = 0,
        bad: frozenset[int] = frozenset(),
        stop_at: int | None = None,
        again: Callable[[], None] = lambda: None,
        patience: int = 400,
        most: int = 20_000,
    ) -> None:
        self.part, self._agents, self._wires = part, agents, wires
        self.memories = [
            ChannelMemory(ar, r, config.geometry, channel, content, manner, seed=seed, bad=bad)
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
        """Runs until all is done and idle or, if an error is expected (``settles``), until nothing
        moves."""
        broken = self._stop_at is None
        moved, since = (0, 0), 0

        def until(sim: Any, cycle: int) -> bool:
            nonlocal broken, moved, since
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
                return complete and idle
            now = (self.beats, sum(len(s.cycles) for s in self._streams()))
            since = 0 if now != moved else since + 1
            moved = now
            return quiet and since > self._patience

        stop = Wire(self.part.stop, self._stops)
        agents = [*self._agents, *self.memories, stop]
        self.cycles = run_agents(self.part, agents, until=until, most=self._most, wires=self._wires)

    def _streams(self) -> list[Sink | Source]:
        return [agent for agent in self._agents if isinstance(agent, Sink | Source)]

    def _forget(self) -> None:
        for agent in self._agents:
            if hasattr(agent, "forget"):
                agent.forget()

    def _stops(self, cycle: int) -> int:
        at = self._stop_at
        return int(at is not None and at <= cycle < at + self._stop_for)
