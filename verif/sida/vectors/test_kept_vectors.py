"""The vector writer with vectors in memory: which of them are kept, and when memory has them."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from tilewright.hw.sida.elementwise.layouts import row_layout, stored_layout
from tilewright.hw.sida.vectors.vector_writer import VectorWriter
from tilewright.hw.sida.vectors.window_layouts import OPERAND, SUMS, kept_sums_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.channels.striped.memory_bench import Image
from tilewright.verif.channels.striped.written import WrittenChannel, written, written_channels
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.vectors.configs import WINDOWED
from tilewright.verif.stream.agents import Agent, Source, Wire, run_agents

pytestmark = pytest.mark.long

Piece = tuple[int, int]
"""First byte of a piece, and the byte after its last one."""


class Announced:
    """Compares each piece that is announced as in memory with the answers of the channels.

    Members
    -------
    waiting: by kind, the pieces that were not announced, in the order in which they come
    """

    def __init__(self, config: SidaConfig, part: VectorWriter,
                 channels: list[WrittenChannel]) -> None:  # fmt: skip
        self._port, self._channels, self._geometry = part.complete, channels, config.geometry
        self.waiting: dict[int, deque[Piece]] = {OPERAND: deque(), SUMS: deque()}

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None:
        kinds = sim.get(self._port)
        for kind, pieces in self.waiting.items():
            if kinds >> kind & 1:
                self._check(*pieces.popleft())

    def _check(self, first: int, end: int) -> None:
        geometry = self._geometry
        there = written(self._channels).keys()
        assert there >= set(range(first, end))
        blocks = set(range(first, end, geometry.interleave))
        assert not any(blocks & channel.unanswered for channel in self._channels)


class Scene:
    """Vectors of a program, an operand and sums, all at once; once more if there is a ``stop_at``.

    Members
    -------
    expected, found: bytes by address; of sums' pieces only those of the row are expected
    sent, kept: bytes that left; those of them that are no program's
    """

    def __init__(self, config: SidaConfig, seed: Any, *, stop_at: int | None = None) -> None:
        self._config, rng = config, random.Random(f"kept {seed}")
        size = min(rng.choice([1, rng.randint(1, 40), config.rows_limit]), 16 * config.pes)
        self._width = width = config.format.bits // 8
        rows = -(-size // config.pes)
        image = Image(config, seed)
        operand, vector = image.place(bytes(size * width)), image.place(bytes(size * width))
        sums = image.place(bytes(rows * config.piece_bytes))
        part = VectorWriter(config)
        channels = written_channels(
            config.geometry, part, seed=seed, stall=rng.choice([0, 0.4]),
            latency=rng.choice([1, 30]), again=True,
        )  # fmt: skip
        self._announced = Announced(config, part, channels)
        self.expected: dict[int, int] = {}
        gaps = {name: rng.choice([0, 0.5]) for name in ("stored", "operands", "sums")}
        given = {
            "operands": [self._operand(rng, operand, size, row) for row in range(rows)],
            "stored": [self._stored(rng, vector, size, row) for row in range(rows)],
            "sums": [self._sum(rng, sums, row) for row in rng.sample(range(rows), rows)],
        }
        self.sources = {
            name: Source(getattr(part, name), words, gap=gaps[name], seed=f"{name} {seed}")
            for name, words in given.items()
        }
        self.sent = self.kept = 0
        self._again = stop_at is None
        settled = 0

        def until(sim: Any, cycle: int) -> bool:
            nonlocal settled
            self.sent += sim.get(part.sent)
            self.kept += sim.get(part.sent_windows)
            if cycle == stop_at:
                for source in self.sources.values():
                    source.forget()
                for pieces in self._announced.waiting.values():
                    pieces.clear()
            idle = bool(sim.get(part.idle))
            if stop_at is not None and cycle >= stop_at + 1 and idle and not self._again:
                self._again = True
                self.sent = self.kept = 0
                for name, source in self.sources.items():
                    source.words += given[name]
                self._note(size, operand, sums, given["sums"])
            done = idle and self._again and all(one.done for one in self.sources.values())
            settled = settled + 1 if done else 0
            return settled == 4

        self._note(size, operand, sums, given["sums"])
        wires = [(part.columns, size), (part.operand_base, operand), (part.sums_base, sums),
                 (part.bases[5], vector)]  # fmt: skip
        stops = Wire(part.stop, lambda cycle: int(stop_at is not None
                                                  and stop_at <= cycle < stop_at + 2))  # fmt: skip
        agents: list[Agent] = [stops, *self.sources.values(), *channels, self._announced]
        run_agents(part, agents, until=until, wires=wires, most=30_000)
        self.found = written(channels)
        assert not any(self._announced.waiting.values())

    def _note(self, size: int, operand: int, sums: int, words: list[int]) -> None:
        """Notes the pieces that the part must announce."""
        piece, end = self._config.piece_bytes, operand + size * self._width
        waiting = self._announced.waiting
        waiting[OPERAND].extend(
            (first, min(first + piece, end)) for first in range(operand, end, piece)
        )
        layout = kept_sums_layout(self._config)
        firsts = [sums + layout.from_bits(word).row * piece for word in words]
        waiting[SUMS].extend((first, first + piece) for first in firsts)

    def _drawn(self, rng: random.Random, at: int, count: int) -> list[int]:
        """Draws the values of a row, and expects a number of them from an address on."""
        content = rng.randbytes(self._config.pes * self._width)
        self.expected |= {at + n: content[n] for n in range(count * self._width)}
        return [
            int.from_bytes(content[n : n + self._width], "little")
            for n in range(0, len(content), self._width)
        ]

    def _row(self, rng: random.Random, origin: int, size: int, row: int) -> dict[str, Any]:
        pes = self._config.pes
        there = min(pes, size - row * pes)
        values = self._drawn(rng, origin + row * pes * self._width, there)
        return {"base": row * pes, "mask": (1 << there) - 1, "values": values}

    def _operand(self, rng: random.Random, origin: int, size: int, row: int) -> int:
        word = row_layout(self._config).const(self._row(rng, origin, size, row))
        return int(word.as_bits())

    def _stored(self, rng: random.Random, origin: int, size: int, row: int) -> int:
        given = {"vector": 5, "row": self._row(rng, origin, size, row)}
        return int(stored_layout(self._config).const(given).as_bits())

    def _sum(self, rng: random.Random, origin: int, row: int) -> int:
        config = self._config
        begin = origin + (row + 1) * config.piece_bytes - config.pes * self._width
        given = {"row": row, "values": self._drawn(rng, begin, config.pes)}
        return int(kept_sums_layout(config).const(given).as_bits())


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, ["two lines a row"]))
def test_what_is_kept_and_when_it_is_there(name: str) -> None:
    for seed in range(by_size(3, 4, 40)):
        scene = Scene(WINDOWED[name], f"{name} {seed}")
        assert scene.expected.items() <= scene.found.items(), seed
        # A vector that the program stores has as many bytes as the operand; sums are whole pieces.
        sums = len(scene.sources["sums"].words) * WINDOWED[name].piece_bytes
        assert scene.kept == scene.sent - scene.kept + sums


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, []))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    """Pieces in flight are not announced. Afterwards all pieces are written as usual."""
    for seed in range(by_size(2, 3, 30)):
        stop_at = random.Random(seed).randint(1, 90)
        scene = Scene(WINDOWED[name], f"stop {name} {seed}", stop_at=stop_at)
        assert scene.expected.items() <= scene.found.items(), seed
