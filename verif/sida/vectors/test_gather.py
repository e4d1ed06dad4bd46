"""The gathered elements of both vectors: of every row, z in time, and a set a cycle."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Value
from tilewright.hw.sida.layouts import set_layout
from tilewright.hw.sida.vectors.gather import Gather
from tilewright.hw.sida.vectors.layouts import vector_write_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.vectors.gathered import check_gathered, drawn, steps_of
from tilewright.verif.stream.agents import Agent, Sink, Source, Wire, run_agents

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
        """What is not to be written has wrong values."""
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
    """Sets through vectors of which z is written step by step, each when all sets of the step
    have left; once more if there is a ``clear_at``."""

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
    """Of random rows, behind the first window of sets, as long as others enter."""
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
