"""The gathered elements of both vectors: of every row, z in time, and a set a cycle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from amaranth.hdl import Value
from tilewright.hw.sida.elementwise.layouts import values_layout
from tilewright.hw.sida.layouts import gathered_layout, set_layout
from tilewright.hw.sida.vectors.gather import Gather
from tilewright.hw.sida.vectors.vector_banks import vector_write_layout
from tilewright.hw.sida.vectors.window_layouts import fetch_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents


def drawn(config: SidaConfig, rng: random.Random, count: int, size: int) -> list[int]:
    """Sets of ascending columns and of any rows, many of them again and again."""
    bases = sorted(rng.randrange(size) for _ in range(count))
    hubs = [rng.randrange(size) for _ in range(3)]
    many, full = rng.random(), rng.choice([0.3, 0.9, 1.0])
    words = []
    for base in bases:
        leaves = [
            {
                "valid": int(rng.random() < full),
                "row": rng.choice(hubs) if rng.random() < many else rng.randrange(size),
                "offset": rng.randrange(config.pes),
                "value": rng.getrandbits(config.format.bits),
            }
            for _ in range(config.pes)
        ]
        fields = {"base": base, "columns": rng.randrange(config.pes + 1), "leaves": leaves}
        words.append(int(set_layout(config).const(fields).as_bits()))
    return words


def steps_of(config: SidaConfig, words: Sequence[int]) -> list[int]:
    """Returns for each set the step of its columns."""
    return [set_layout(config).from_bits(word).base // config.subtensor for word in words]


def check_gathered(config: SidaConfig, found: Sequence[int], sent: Sequence[int],
                   x: Sequence[int], z: Sequence[int]) -> None:  # fmt: skip
    """Checks each set, its elements of x and those of z that must be available."""
    assert len(found) == len(sent)
    steps = steps_of(config, sent)
    for number, (word, set_sent) in enumerate(zip(found, sent, strict=True)):
        gathered = gathered_layout(config).from_bits(word)
        assert gathered.set.as_bits() == set_sent, number
        for n in range(config.pes):
            leaf = gathered.set.leaves[n]
            if leaf.valid:
                assert gathered.x[n] == x[leaf.row], (number, n)
                if leaf.row // config.subtensor + 2 <= steps[number]:
                    assert gathered.z[n] == z[leaf.row], (number, n)


pytestmark = pytest.mark.long

CONFIGS = {
    "small": SidaConfig(pes=4, subtensor=8, vector_words=64, window=4),
    "a row a step": SidaConfig(pes=4, subtensor=4, vector_words=64, window=2, value="fp16"),
    "default": SidaConfig(vector_words=512),
}


class Writer:
    """Writes a vector by rows of ``pes`` elements, in order, as many as ``limit`` allows.

    Members
    -------
    written: elements that are in memory
    """

    def __init__(self, config: SidaConfig, port: Any, values: list[int], rng: random.Random,
                 gap: float) -> None:  # fmt: skip
        self._layout, self._pes = vector_write_layout(config), config.pes
        self._port, self._values, self._random, self._gap = port, values, rng, gap
        self.limit = self.written = self._next = 0

    def forget(self) -> None:
        self.limit = self.written = self._next = 0

    def drive(self, sim: Any, cycle: int) -> None:
        """Drives a row; values that must not be written are wrong."""
        self.written = self._next
        pes = self._pes
        first = self._next // pes * pes
        end = min(first + pes, self.limit)
        goes = self._next < end and self._random.random() >= self._gap
        right = self._values[first:end]
        row = {
            "valid": int(goes),
            "base": first,
            "values": right + [0] * (pes - len(right)),
            "mask": self._random.getrandbits(pes) | (1 << len(right)) - 1,
        }
        sim.set(Value.cast(self._port), self._layout.const(row).as_bits())
        if goes:
            self._next = end

    def observe(self, sim: Any, cycle: int) -> None: ...


class Run:
    """Sends sets through the gather. z is written step by step, each step when all its sets have
    left; all repeats if there is a ``clear_at``."""

    def __init__(self, config: SidaConfig, seed: Any, *, sets: int = 60, stall: float = 0.0,
                 clear_at: int | None = None) -> None:  # fmt: skip
        self.config, rng = config, random.Random(f"gather {seed}")
        self.size = size = rng.choice([config.vector_words, config.pes + 1])
        bits = config.format.bits
        self.x, self.z = [[rng.randrange(1, 1 << bits) for _ in range(size)] for _ in range(2)]
        self.words = words = drawn(config, rng, sets, size)
        self.part = part = Gather(config)
        self.source = Source(part.i, [], gap=stall / 2, seed=seed)
        self.sink = Sink(part.o, stall=stall, seed=seed)
        self.writers = {
            name: Writer(config, getattr(part, f"{name}_write"), values, rng, stall)
            for name, values in (("x", self.x), ("z", self.z))
        }
        self._steps = steps_of(config, words)
        clears = Wire(part.clear, lambda cycle: int(cycle == clear_at))
        self._tokens = Wire(part.z_steps, lambda cycle: self._z_steps())
        self._clear_at = clear_at
        self.writers["x"].limit = size
        agents: list[Agent] = [self.source, self.sink, *self.writers.values(), self._tokens, clears]
        run_agents(part, agents, until=self._done, most=40 * sets + 4 * size + 400)
        check_gathered(config, self.sink.words, words, self.x, self.z)

    def _z_steps(self) -> int:
        written, step = self.writers["z"].written, self.config.subtensor
        return (written + (written == self.size) * (step - 1)) // step

    def _done(self, sim: Any, cycle: int) -> bool:
        if cycle == self._clear_at:
            self.source.forget()
            self.sink.forget()
            self.sink.words.clear()
            self.writers["z"].forget()
            self.source.words += self.words
        elif self.writers["x"].written >= self.size and not self.source.words:
            self.source.words += self.words
        left = len(self.sink.words)
        step, size = self.config.subtensor, self.size
        complete = self._steps[left] if left < len(self.words) else -(-size // step)
        self.writers["z"].limit = min(size, complete * step)
        return left == len(self.words) and bool(sim.get(self.part.idle))


@pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, ["a row a step"]))
def test_every_element_of_both_vectors(name: str) -> None:
    for seed in range(by_size(2, 4, 20)):
        Run(CONFIGS[name], f"{name} {seed}", stall=0.3 * (seed % 3))


@pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, []))
def test_clear_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(1, 2, 20)):
        clear_at = 150 + random.Random(seed).randrange(40)
        Run(CONFIGS[name], f"clear {name} {seed}", stall=0.2, clear_at=clear_at)


@pytest.mark.slow
def test_a_set_a_cycle() -> None:
    """Sets of random rows leave in each cycle after the first window, as long as others enter."""
    config, rng = CONFIGS["default"], random.Random(1)
    words = []
    for _ in range(by_size(150, 150, 2000)):
        leaves = [{"valid": 1, "row": rng.randrange(512)} for _ in range(config.pes)]
        words.append(int(set_layout(config).const({"leaves": leaves}).as_bits()))
    part = Gather(config)
    source, sink = Source(part.i, words), Sink(part.o)
    run_agents(
        part, [source, sink], until=lambda sim, cycle: len(sink.words) == len(words), most=4000
    )
    left = [cycle for cycle in sink.cycles[config.window :] if cycle <= source.cycles[-1]]
    assert len(left) >= 0.95 * (left[-1] - left[0] + 1)


# Gathered elements of vectors that are in memory: of every row, whatever is on chip.

SMALL: dict[str, Any] = {"pes": 4, "subtensor": 16, "channels": 2, "data_bits": 64, "window": 4}

CONFIGS_WINDOWED = {
    "a quarter": SidaConfig(**SMALL, vector_words=64, rows_limit=256),
    "two places": SidaConfig(**SMALL | {"window": 2, "subtensor": 32}, value="fp16",
                             vector_words=64, rows_limit=512),
    "one place": SidaConfig(**SMALL | {"pes": 16, "subtensor": 64, "channels": 4, "interleave": 128,
                                       "value": "fp16", "window": 8},
                            vector_words=64, rows_limit=1024),
    "lines below a row": SidaConfig(**SMALL | {"channels": 1}, value="fp64", vector_words=64,
                                    rows_limit=128),
    "all": SidaConfig(**SMALL, vector_words=256, rows_limit=256),
}  # fmt: skip


class Blocks:
    """Vectors in memory: rows in the order of requests, each some cycles later. Only those elements
    of z that are complete at the request are right.

    Members
    -------
    asked: of each request, whether it is z's, and its base
    """

    def __init__(self, config: SidaConfig, part: Gather, x: list[int], z: list[int],
                 rng: random.Random, *, latency: int, gap: float) -> None:  # fmt: skip
        self._config, self._random, self._gap = config, rng, gap
        self._vectors, self._latency = (x, z), latency
        self._rows: list[tuple[int, int]] = []
        self._now = self.complete = 0
        self.asked: list[tuple[bool, int]] = []
        self._sink = Sink(part.fetch, stall=gap, seed=rng.random(), accept=self._accept)
        self._port = part.fetched
        self._payload = Value.cast(part.fetched.payload)

    def forget(self) -> None:
        self._rows.clear()
        self.asked.clear()
        self._sink.forget()

    def _accept(self, word: int) -> None:
        config, request = self._config, fetch_layout(self._config).from_bits(word)
        values, is_z, pes = self._vectors[request.z], bool(request.z), config.pes
        end = request.base + request.rows * pes
        assert request.base % config.window_elements == 0
        assert 0 < request.rows <= config.window_elements // pes
        assert end == min(request.base + config.window_elements, -(-len(values) // pes) * pes)
        self.asked.append((is_z, request.base))
        due = self._now + 1 + self._random.randrange(self._latency)
        for first in range(request.base, end, pes):
            row = [
                values[n] if n < len(values) and not (is_z and n >= self.complete)
                else self._random.getrandbits(config.format.bits)
                for n in range(first, first + pes)
            ]  # fmt: skip
            self._rows.append((due, int(values_layout(config).const(row).as_bits())))

    def drive(self, sim: Any, cycle: int) -> None:
        self._now = cycle
        self._sink.drive(sim, cycle)
        goes = bool(self._rows) and self._rows[0][0] <= cycle and self._random.random() >= self._gap
        sim.set(self._port.valid, int(goes))
        sim.set(self._payload, self._rows.pop(0)[1] if goes else 0)

    def observe(self, sim: Any, cycle: int) -> None:
        self._sink.observe(sim, cycle)
        assert sim.get(self._port.ready)


class RunWindowed:
    """Sets through a Gather whose vectors are in memory, z step by step; once more if there is a
    ``clear_at``."""

    def __init__(self, config: SidaConfig, seed: Any, *, sets: int = 60, stall: float = 0.0,
                 latency: int = 1, wants_z: int = 1, clear_at: int | None = None,
                 size: int | None = None) -> None:  # fmt: skip
        rng = random.Random(f"windowed gather {seed}")
        most = config.rows_limit
        size = size or rng.choice([most, min(most, config.vector_words + 3), config.pes + 1])
        bits = config.format.bits
        x, z = [[rng.randrange(1, 1 << bits) for _ in range(size)] for _ in range(2)]
        self.words = words = drawn(config, rng, sets, size)
        self._config, self._clear_at, self._size = config, clear_at, size
        self._steps = steps_of(config, words)
        self.part = part = Gather(config)
        # Sets come behind the pulse with which the pass begins.
        self.source = Source(part.i, words, gap=stall / 2, seed=seed, begin=2)
        self.sink = Sink(part.o, stall=stall, seed=seed)
        self.memory = Blocks(config, part, x, z, rng, latency=latency, gap=stall)
        begins = {1} if clear_at is None else {1, clear_at + 1}
        agents: list[Agent] = [
            self.source, self.sink, self.memory,
            Wire(part.z_steps, lambda cycle: self._z_steps()),
            Wire(part.begins, lambda cycle: int(cycle in begins)),
            Wire(part.clear, lambda cycle: int(cycle == clear_at)),
        ]  # fmt: skip
        wires = [(part.columns, size), (part.wants_z, wants_z)]
        most = 400 + 2 * sets * config.pes * (latency + 20)
        run_agents(part, agents, until=self._done, most=most, wires=wires)
        check_gathered(config, self.sink.words, words, x, z if wants_z else Anything())

    def _z_steps(self) -> int:
        """Returns the number of z steps that the departed sets have made available."""
        left = len(self.sink.words)
        count = -(-self._size // self._config.subtensor)
        steps = self._steps[left] if left < len(self.words) else count
        self.memory.complete = steps * self._config.subtensor
        return min(steps, count)

    def _done(self, sim: Any, cycle: int) -> bool:
        if cycle == self._clear_at:
            self.source.forget()
            self.sink.forget()
            self.memory.forget()
            self.sink.words.clear()
            self.source.words += self.words
        return len(self.sink.words) == len(self.words) and bool(sim.get(self.part.idle))


class Anything(list[int]):
    """Values that are equal to all."""

    def __getitem__(self, index: Any) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("name", slow_but(["two places"], CONFIGS_WINDOWED, ["a quarter"]))
def test_every_element_whatever_is_on_chip(name: str) -> None:
    for seed in range(by_size(2, 4, 20)):
        RunWindowed(
            CONFIGS_WINDOWED[name],
            f"{name} {seed}",
            stall=0.3 * (seed % 3),
            latency=1 + 7 * (seed % 4),
        )


@pytest.mark.parametrize("name", slow_but(["two places"], CONFIGS_WINDOWED, []))
def test_windowed_clear_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(2, 4, 30)):
        clear_at = random.Random(seed).randrange(1, 200)
        RunWindowed(CONFIGS_WINDOWED[name], f"clear {name} {seed}", sets=40, stall=0.2, latency=10,
            clear_at=clear_at)  # fmt: skip


def test_with_room_for_all_each_block_comes_once() -> None:
    asked = RunWindowed(CONFIGS_WINDOWED["all"], 1, latency=10).memory.asked
    assert {is_z for is_z, _ in asked} == {False, True}
    assert len(set(asked)) == len(asked)


def test_z_is_not_fetched_where_nobody_wants_it() -> None:
    asked = RunWindowed(CONFIGS_WINDOWED["a quarter"], 2, latency=10, wants_z=0).memory.asked
    assert not any(is_z for is_z, _ in asked)


@pytest.mark.long
def test_each_block_serves_somebody() -> None:
    """There is one place, and nearly every element is of another block than the one before."""
    config, sets = CONFIGS_WINDOWED["one place"], 20
    asked = RunWindowed(config, 3, sets=sets, latency=20, size=1024).memory.asked
    assert 5 * sets < len(asked) <= 2 * sets * config.pes
