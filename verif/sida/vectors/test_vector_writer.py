"""The vector writer: every byte of every vector, and no other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tilewright.hw.sida.elementwise.layouts import block_rows, stored_layout
from tilewright.hw.sida.vectors.vector_writer import VectorWriter
from tilewright.hw.spec.elementwise.instructions import SCALARS, VECTORS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.channels.striped.memory_bench import Image
from tilewright.verif.channels.striped.written import WrittenChannel, written, written_channels
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.vectors.configs import CONFIGS
from tilewright.verif.stream.agents import Agent, Source, Wire, run_agents

pytestmark = pytest.mark.long

SETTLES = 4
"""Cycles in which all is idle, at the end."""

EVERY = slow_but(
    ["four rows a line"], CONFIGS, ["16 rows a line", "two lines a row", "eight lines a row"]
)


class Sum:
    """Sums a port over all cycles."""

    def __init__(self, port: Any) -> None:
        self._port, self.total = port, 0

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None:
        self.total += sim.get(self._port)


@dataclass(kw_only=True)
class Scene:
    """A part that stores vectors, then perhaps the scalars.

    Parameters
    ----------
    size: elements of the vectors
    stores: vectors that each block stores, one after the other
    scalars: whether they are written, too
    stall, gap, latency: of the memory, and of rows
    stop_at: a cycle in which all is stopped, for two cycles; then it begins again
    bad: byte of the first vector whose burst is answered with an error; that ends it

    Members
    -------
    expected: bytes by address
    found: what was written
    cycles: in which rows were taken
    """

    config: SidaConfig
    size: int
    stores: Sequence[int]
    scalars: bool = False
    seed: Any = 0
    stall: float = 0.0
    gap: float = 0.0
    latency: int = 3
    stop_at: int | None = None
    bad: int | None = None
    expected: dict[int, int] = field(default_factory=dict)
    found: dict[int, int] = field(default_factory=dict)
    cycles: list[int] = field(default_factory=list)
    error: int | None = None
    sent: int = 0

    def run(self) -> Scene:
        config = self.config
        rng = random.Random(f"written {self.seed}")
        image = Image(config, self.seed)
        width = config.format.bits // 8
        bases = [image.place(bytes(self.size * width)) for _ in range(VECTORS)]
        scalars_base = image.place(bytes(SCALARS * width))
        part = VectorWriter(config)
        rows = Source(part.stored, self._rows(rng, bases), gap=self.gap, seed=self.seed)
        scalars = Source(part.scalars, [], gap=self.gap, seed=f"scalars {self.seed}")
        scalar_words = self._scalars(rng, scalars_base) if self.scalars else []
        given = list(rows.words)
        bad = None if self.bad is None else bases[self.stores[0]] + self.bad
        channels = written_channels(
            config.geometry, part, seed=self.seed, stall=self.stall, latency=self.latency, bad=bad,
            again=len(set(self.stores)) < len(self.stores) or self.stop_at is not None,
        )  # fmt: skip
        sent = Sum(part.sent)
        settled = 0
        stops = 2

        def stop(cycle: int) -> int:
            at = self.stop_at
            return int(at is not None and at <= cycle < at + stops)

        def until(sim: Any, cycle: int) -> bool:
            nonlocal settled
            idle = bool(sim.get(part.idle))
            assert not (idle and any(channel.owed for channel in channels))
            if sim.get(part.error):
                self.error = sim.get(part.error_address)
                settled = 0 if any(channel.owed for channel in channels) else settled + 1
                return settled > 40
            if self.stop_at is not None:
                if cycle == self.stop_at:
                    rows.forget()
                    scalars.forget()
                if cycle >= self.stop_at + stops and idle:
                    self._leave_nothing(channels)
                    self.stop_at = None
                    rows.words += given
                return False
            if rows.done and not scalars.words[len(scalars.cycles) :] and scalar_words:
                scalars.words += scalar_words
                scalar_words.clear()
            settled = settled + 1 if idle and rows.done and scalars.done else 0
            return settled == SETTLES

        wires = [(part.columns, self.size), (part.scalars_base, scalars_base)]
        wires += [(part.bases[n], base) for n, base in enumerate(bases)]
        agents: list[Agent] = [Wire(part.stop, stop), rows, scalars, *channels, sent]
        run_agents(part, agents, until=until, wires=wires, most=30_000)
        self.found, self.cycles, self.sent = written(channels), rows.cycles, sent.total
        return self

    def _leave_nothing(self, channels: list[WrittenChannel]) -> None:
        """Checks that the bytes written before a stop belong to the vectors."""
        for channel in channels:
            assert channel.bytes.keys() <= self.expected.keys()

    def _rows(self, rng: random.Random, bases: list[int]) -> list[int]:
        """Rows block by block, as the core stores them; fills ``expected``."""
        config, layout = self.config, stored_layout(self.config)
        pes, width = config.pes, config.format.bits // 8
        rows = -(-self.size // pes)
        most = block_rows(config)
        words = []
        for block in range(0, rows, most):
            for vector in self.stores:
                for row in range(block, min(rows, block + most)):
                    content = rng.randbytes(pes * width)
                    there = min(pes, self.size - row * pes)
                    at = bases[vector] + row * pes * width
                    self.expected |= {at + n: content[n] for n in range(there * width)}
                    words.append(
                        layout.const(
                            {
                                "vector": vector,
                                "row": {
                                    "base": row * pes,
                                    "mask": (1 << there) - 1,
                                    "values": self._values(content),
                                },
                            }
                        ).as_bits()
                    )
        return words

    def _scalars(self, rng: random.Random, base: int) -> list[int]:
        pes, width = self.config.pes, self.config.format.bits // 8
        words = []
        for first in range(0, SCALARS, pes):
            content = rng.randbytes(pes * width)
            there = min(pes, SCALARS - first)
            at = base + first * width
            self.expected |= {at + n: content[n] for n in range(there * width)}
            words.append(int.from_bytes(content, "little"))
        return words

    def _values(self, content: bytes) -> list[int]:
        width = self.config.format.bits // 8
        return [
            int.from_bytes(content[at : at + width], "little")
            for at in range(0, len(content), width)
        ]


def drawn(config: SidaConfig, seed: Any, **others: Any) -> Scene:
    rng = random.Random(f"stores {seed}")
    size = rng.choice([1, config.pes, rng.randint(1, 40), rng.randint(1, config.vector_words)])
    stores = [rng.randrange(VECTORS) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.3:
        stores.append(stores[0])
    size = min(size, 24 * config.pes)
    given = {"stall": rng.choice([0, 0.4]), "gap": rng.choice([0, 0.3])}
    given |= {"latency": rng.choice([1, 30]), "scalars": rng.random() < 0.5}
    return Scene(config=config, size=size, stores=stores, seed=seed, **{**given, **others})


@pytest.mark.parametrize("name", EVERY)
def test_memory_has_the_vectors_and_nothing_else(name: str) -> None:
    """Even if one is stored twice in a part."""
    for seed in range(by_size(3, 4, 40)):
        scene = drawn(CONFIGS[name], f"{name} {seed}").run()
        assert scene.found == scene.expected, seed
        assert scene.error is None
        if len(set(scene.stores)) == len(scene.stores):
            assert scene.sent == len(scene.expected)


@pytest.mark.parametrize("name", slow_but(["four rows a line"], CONFIGS, ["two lines a row"]))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    """No writes from before the stop remain. Afterwards all vectors are written as usual."""
    for seed in range(by_size(2, 3, 30)):
        stop_at = random.Random(seed).randint(1, 90)
        scene = drawn(CONFIGS[name], f"stop {name} {seed}", scalars=False, stop_at=stop_at)
        scene.run()
        assert scene.found == scene.expected, seed


@pytest.mark.parametrize("name", slow_but(["four rows a line"], CONFIGS, ["two lines a row"]))
def test_an_error_names_the_block(name: str) -> None:
    config = CONFIGS[name]
    block = 2 * config.geometry.interleave
    scene = Scene(config=config, size=config.vector_words, stores=[5], bad=block, latency=5)
    scene.run()
    first = min(scene.expected)
    assert scene.error == first + block
    assert scene.found.items() <= scene.expected.items()


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["16 rows a line", "default"]))
def test_a_row_a_cycle(name: str) -> None:
    """Or as many as the channels' ports take, if they are fewer."""
    config = CONFIGS[name]
    rows = min(128, config.vector_words // config.pes)
    vectors = min(VECTORS, 128 // rows)
    scene = Scene(config=config, size=rows * config.pes, stores=range(vectors)).run()
    assert scene.found == scene.expected
    geometry = config.geometry
    row_bytes = config.pes * config.format.bits // 8
    most = min(1.0, geometry.channels * geometry.beat_bytes / row_bytes)
    # Some rows are on their way.
    steady = scene.cycles[8:]
    assert (len(steady) - 1) / (steady[-1] - steady[0]) >= 0.9 * most
