"""The store side with sums in memory: any behaviour of memory, and the same units again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.store.matrix_store import MatrixStore
from tilewright.sim.numbers.container_words import from_bytes, to_bytes
from tilewright.sim.numbers.semirings import combine
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.verif.channels.striped.memory_bench import ChannelMemory, Manner
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Source, Wire, run_agents
from tilewright.verif.tensaurus.model.cases import device, patterns
from tilewright.verif.tensaurus.store.rows import Given, Rows, job_word, tile_bits


@dataclass
class ReadChannel(ChannelMemory):
    """Answers with what memory held when the address was taken."""

    _held: dict[int, bytes] = field(default_factory=dict)

    def _accept(self, sim: Any, cycle: int) -> None:
        super()._accept(sim, cycle)
        burst = self.bursts[-1]
        end = burst.address + burst.beats * self.geometry.beat_bytes
        self._held[burst.id] = bytes(self.content[burst.address : end])

    def _data(self, burst: Any, address: int) -> bytes:
        first, width = address - burst.address, self.geometry.beat_bytes
        return self._held[burst.id][first : first + width]


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
        # First address and beats of each burst.
        self._bursts: deque[tuple[int, int]] = deque()
        self._beats: list[tuple[int, int]] = []
        self._answers: deque[tuple[int, int, list[tuple[int, int]]]] = deque()
        # True if the burst at AW is among them already; accepted addresses without an answer.
        self._offered, self._accepted = False, 0
        self.written = 0

    @property
    def quiet(self) -> bool:
        """True if no responses are outstanding."""
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
    """Connects all channels of a memory, both sides. A read in a cycle returns the content before
    that cycle."""
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


pytestmark = pytest.mark.long

SMALL: dict[str, Any] = {"out_bytes": 1024, "spm_bytes": 256, "data_bits": 64}
DEVICES = {
    "part of a line": device(**SMALL, value="int32", outstanding=16),
    "two lines": device(**SMALL, value="int32", cols=5, vlen=6, channels=3),
    "four channels": device(**SMALL, value="int8", cols=4, vlen=4, channels=4),
    "two slots": device(**{**SMALL, "out_bytes": 64}, cols=2, semiring="minplus", value="int32"),
    "one value": device(**SMALL, value="fp32", rows=1, cols=1, vlen=1, channels=1, outstanding=8),
}
EVERY = slow_but([], DEVICES, ["part of a line", "two slots"])
MANNERS = [Manner(latency=(1, 1)), Manner(latency=(1, 60), stall=0.3, mixed=True)]


def drawn(
    rng: np.random.Generator, config: TensaurusConfig, kernel: Kernel, *, slices: int, tiles: int
) -> list[Given]:
    """Tiles of two outputs, one behind the other, in turn."""
    found = []
    size = slices * kernel.units * config.memory_unit_bytes
    for number in range(tiles):
        rows: list[list[tuple[int, int, list[int]]]] = [[] for _ in range(config.rows)]
        for slice_ in np.flatnonzero(rng.random(slices) < 0.7).tolist():
            row = rows[int(rng.integers(config.rows))]
            for vector in range(kernel.units):
                unit = patterns(rng, (config.unit_values,), config.sum_format).tolist()
                row.append((slice_, vector, unit))
        output = number % 3 // 2 * size
        found.append(Given(slices, number % 2 == 1 or number == tiles - 1, output, rows))
    return found


def golden(
    config: TensaurusConfig, kernel: Kernel, tiles: list[Given], memory: bytearray
) -> bytearray:
    found = bytearray(memory)
    for tile in tiles:
        for slice_, vector, unit in (given for row in tile.rows for given in row):
            first = tile.output + (slice_ * kernel.units + vector) * config.memory_unit_bytes
            place = slice(first, first + config.result_unit_bytes)
            held = from_bytes(bytes(found[place]), config.sum_format)
            sums = combine(config.operators, held, np.array(unit, np.uint64), config.sum_format)
            found[place] = to_bytes(sums, config.sum_format)
    return found


def run(
    config: TensaurusConfig,
    kernel: Kernel,
    tiles: list[Given],
    memory: bytearray,
    manner: Manner,
    *,
    seed: int = 0,
    stall: float = 0.0,
    stop_at: int | None = None,
    **bad: frozenset[int],
) -> dict[str, Any]:
    """Returns the record of a job that changes a memory. With ``stop_at`` the job stops in that
    cycle and, when no responses are outstanding, runs again as a whole."""
    dut = MatrixStore(config)
    channels = coherent(dut, config.geometry, memory, manner, seed=seed, **bad)
    words = tile_bits(config, tiles)
    source = Source(dut.tiles, words, seed=seed)
    rows = Rows(dut, config, tiles, stall=stall, seed=seed)
    seen: dict[str, Any] = {"sent": 0, "rows": rows, "cycles": 0}
    before = bytes(memory)
    again: list[int] = []

    def stop(cycle: int) -> int:
        stops = stop_at is not None and cycle in range(stop_at, stop_at + 3)
        rows.stopped = stops or "error" in seen
        if stops and cycle == stop_at:
            source.forget()
        return int(stops)

    def start(cycle: int) -> int:
        starts = bool(again) and cycle == again[0]
        if starts:
            memory[:] = before
            source.words.extend(words)
            seen["sent"] = 0
        return int(starts or cycle == 0)

    def done(sim: Any, cycle: int) -> bool:
        quiet = all(channel.quiet for channel in channels)
        seen["sent"] += sim.get(dut.sent)
        for name in ("read_error", "error"):
            if sim.get(getattr(dut, name)):
                seen["error"] = name, sim.get(getattr(dut, f"{name}_address"))
                return True
        stopping = stop_at is not None and (not again or cycle <= again[0] + 1)
        if stopping and cycle > stop_at + 3 and not again and sim.get(dut.idle):  # type: ignore[operator]
            assert quiet
            again.append(cycle + 2)
        finished = source.done and not stopping and sim.get(dut.finished)
        if finished:
            assert sim.get(dut.idle)
            assert quiet
            seen["cycles"] = cycle
        return bool(finished)

    wires = [(dut.job, job_word(config, kernel, direct=True))]
    agents = [Wire(dut.stop, stop), Wire(dut.start, start), source, rows, *channels]
    run_agents(dut, agents, until=done, wires=wires, most=20_000)
    seen["written"] = sum(c.written for c in channels if isinstance(c, WritingChannel))
    return seen


def kernels_of(config: TensaurusConfig) -> list[Kernel]:
    """Slices of one unit and of several."""
    found = [Kernel(name="mm", order=2, vectors=config.olen)]
    if config.semiring == "mma":
        found.append(Kernel(name="ttmc", order=3, vectors=1, scalars=(3, 1)))
    return found


def memory_of(
    rng: np.random.Generator, config: TensaurusConfig, kernel: Kernel, slices: int
) -> Any:
    """Room for two outputs of any values."""
    count = 2 * slices * kernel.units * config.memory_unit_bytes
    return bytearray(rng.bytes(count + config.line_bytes))


@pytest.mark.parametrize("name", EVERY)
def test_memory_has_the_sums(name: str) -> None:
    """Jobs have many tiles. Few slices request a unit while it is in flight; many exceed the
    buffer."""
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 10)):
        for number, kernel in enumerate(kernels_of(config)):
            rng = np.random.default_rng(seed)
            slices = 2 if (seed + number) % 2 else 20
            tiles = drawn(rng, config, kernel, slices=slices, tiles=12 if slices == 2 else 3)
            memory = memory_of(rng, config, kernel, slices)
            expected = golden(config, kernel, tiles, memory)
            stall = 0.3 * float(rng.integers(2))
            manner = MANNERS[(seed + number) % 2]
            seen = run(config, kernel, tiles, memory, manner, seed=seed, stall=stall)
            assert memory == expected, (seed, kernel)
            units = sum(len(row) for tile in tiles for row in tile.rows)
            assert seen["sent"] == seen["written"] == units * config.result_unit_bytes


@pytest.mark.slow
def test_the_same_unit_again_and_again() -> None:
    """A tile a unit: each addition waits for the one before, and no other does."""
    config = DEVICES["part of a line"]
    kernel = Kernel(name="mm", order=2)
    rng = np.random.default_rng(2)
    took = {}
    for slices in (1, 8):
        tiles = []
        for number in range(24):
            unit = patterns(rng, (config.unit_values,), config.sum_format).tolist()
            rows: Any = [[] for _ in range(config.rows)]
            rows[number % config.rows].append((number % slices, 0, unit))
            tiles.append(Given(slices, number == 23, 0, rows))
        memory = memory_of(rng, config, kernel, slices)
        expected = golden(config, kernel, tiles, memory)
        took[slices] = run(config, kernel, tiles, memory, Manner(latency=(40, 40)))["cycles"]
        assert memory == expected
    assert took[1] > 24 * 80 > 3 * took[8]


@pytest.mark.slow
def test_a_unit_a_cycle() -> None:
    """This holds for a memory with one beat per block and little latency while slots are free."""
    config = device(**{**SMALL, "data_bits": 512, "out_bytes": 4096}, value="int32")
    kernel = Kernel(name="mm", order=2, vectors=4)
    rng = np.random.default_rng(1)
    rows: Any = [[] for _ in range(config.rows)]
    for number in range(120):
        unit = patterns(rng, (config.unit_values,), config.sum_format).tolist()
        rows[number % 2].append((number // 4, number % 4, unit))
    tiles = [Given(30, True, 0, rows)]
    memory = memory_of(rng, config, kernel, 30)
    expected = golden(config, kernel, tiles, memory)
    cycles = run(config, kernel, tiles, memory, Manner(latency=(4, 4)))["rows"].cycles
    assert memory == expected
    assert cycles == list(range(cycles[0], cycles[0] + 120))


@pytest.mark.parametrize("side", ["reads", "writes"])
def test_errors_of_memory(side: str) -> None:
    config = DEVICES["part of a line"]
    kernel = Kernel(name="mm", order=2, vectors=4)
    rng = np.random.default_rng(5)
    tiles = drawn(rng, config, kernel, slices=6, tiles=2)
    memory = memory_of(rng, config, kernel, 6)
    slice_, vector, _ = next(row[0] for row in tiles[0].rows if row)
    at = (slice_ * 4 + vector) * config.memory_unit_bytes
    bad: dict[str, Any] = {f"bad_{side}": frozenset([at])}
    seen = run(config, kernel, tiles, memory, MANNERS[1], **bad)
    assert seen["error"] == ({"reads": "read_error", "writes": "error"}[side], at)


@pytest.mark.slow
def test_a_stop_forgets_everything() -> None:
    """Whenever it comes: what follows is as if nothing had been before."""
    config = DEVICES["part of a line"]
    kernel = Kernel(name="mm", order=2, vectors=2)
    rng = np.random.default_rng(3)
    tiles = drawn(rng, config, kernel, slices=5, tiles=6)
    memory = memory_of(rng, config, kernel, 5)
    expected = golden(config, kernel, tiles, memory)
    for at in range(config.out_units + 2, config.out_units + 150, by_size(49, 49, 7)):
        changed = bytearray(memory)
        run(config, kernel, tiles, changed, MANNERS[at % 2], stop_at=at, seed=at)
        assert changed == expected, at
