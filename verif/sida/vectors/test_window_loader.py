"""What is missing of vectors in memory: every row of every request, whatever the memory does."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tilewright.hw.sida.vectors.window_layouts import fetch_layout
from tilewright.hw.sida.vectors.window_loader import WindowLoader
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.channels.striped.memory_bench import MANNERS, PERFECT, Image, MemoryBench
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.vectors.configs import WINDOWED
from tilewright.verif.stream.agents import Sink, Source

pytestmark = pytest.mark.long


class Run:
    """Blocks of x and z, and rows of w, asked for at random.

    Members
    -------
    expected: by side, the bytes of each row that mean something
    found: by side, rows
    """

    def __init__(self, config: SidaConfig, seed: Any, *, stop_at: int | None = None,
                 bad: bool = False) -> None:  # fmt: skip
        rng = random.Random(f"windows {seed}")
        width, row_bytes = config.format.bits // 8, config.pes * config.format.bits // 8
        size = rng.choice([1, config.pes + 1, config.rows_limit - 3, rng.randint(1, 200)])
        rows = -(-size // config.pes)
        image = Image(config, seed)
        x, z = [rng.randbytes(size * width) for _ in range(2)]
        w = [rng.randbytes(row_bytes) for _ in range(rows)]
        bases = {"x_base": image.place(x), "z_base": image.place(z)}
        # A row is the last one of its piece.
        spare = config.piece_bytes - row_bytes
        bases["w_base"] = image.place(b"".join(rng.randbytes(spare) + row for row in w))
        self.part = part = WindowLoader(config)
        self.expected: dict[str, list[bytes]] = {"operand_rows": [], "sum_rows": []}
        words: dict[str, list[int]] = {"operands": [], "sums": []}
        for _ in range(rng.randrange(30) + 1):
            words["operands"].append(self._block(rng, config, size, (x, z)))
        for _ in range(rng.randrange(60) + 1):
            row = rng.randrange(rows)
            words["sums"].append(row)
            self.expected["sum_rows"].append(w[row])
        gap = rng.choice([0, 0.5])
        self.sources = [Source(getattr(part, name), given, gap=gap, seed=f"{name} {seed}")
                        for name, given in words.items()]  # fmt: skip
        stall = rng.choice([0, 0.5])
        self.sinks = {name: Sink(getattr(part, name), stall=stall, seed=f"{name} {seed}")
                      for name in self.expected}  # fmt: skip

        def again() -> None:
            for sink in self.sinks.values():
                sink.words.clear()
                sink.cycles.clear()
            for source, given in zip(self.sources, words.values(), strict=True):
                source.words += given

        spoilt = frozenset([bases["w_base"] + words["sums"][0] * config.piece_bytes + spare
                            if bad else -1])  # fmt: skip
        manner = rng.choice([PERFECT, *MANNERS.values()])
        wires = [(part.columns, size)] + [(getattr(part, name), at) for name, at in bases.items()]
        bench = MemoryBench(
            config, part, image.bytes, manner, [*self.sources, *self.sinks.values()], wires=wires,
            seed=seed, stop_at=stop_at, again=again, bad=spoilt, patience=80,
        )  # fmt: skip
        bench.run(self._done, settles=bad)
        self.error = bench.error
        beat = config.geometry.beat_bytes
        self.bad = next(iter(spoilt)) // beat * beat
        self.found = {
            name: [word.to_bytes(row_bytes, "little") for word in sink.words]
            for name, sink in self.sinks.items()
        }

    def _block(self, rng: random.Random, config: SidaConfig, size: int,
               vectors: tuple[bytes, bytes]) -> int:  # fmt: skip
        width, pes = config.format.bits // 8, config.pes
        base = rng.randrange(-(-size // config.window_elements)) * config.window_elements
        end = min(base + config.window_elements, size)
        is_z = rng.randrange(2)
        vector = vectors[is_z]
        for first in range(base, end, pes):
            row = vector[first * width : min(first + pes, size) * width]
            self.expected["operand_rows"].append(row)
        request = {"z": is_z, "base": base, "rows": -(-(end - base) // pes)}
        return int(fetch_layout(config).const(request).as_bits())

    def _done(self, sim: Any) -> bool:
        return all(len(self.sinks[name].words) >= len(rows) for name, rows in self.expected.items())

    def check(self) -> None:
        """That what was found are the first rows that were expected."""
        for name, rows in self.expected.items():
            found = self.found[name]
            assert len(found) <= len(rows)
            for one, wanted in zip(found, rows, strict=False):
                assert one[: len(wanted)] == wanted


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, ["two lines a row"]))
def test_every_row_of_every_request(name: str) -> None:
    for seed in range(by_size(3, 4, 40)):
        run = Run(WINDOWED[name], f"{name} {seed}")
        run.check()
        assert {name: len(rows) for name, rows in run.found.items()} == {
            name: len(rows) for name, rows in run.expected.items()
        }


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, []))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(2, 3, 30)):
        stop_at = random.Random(seed).randint(1, 90)
        run = Run(WINDOWED[name], f"stop {name} {seed}", stop_at=stop_at)
        run.check()
        assert all(run.found.values())


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, []))
def test_an_error_names_the_beat(name: str) -> None:
    for seed in range(by_size(1, 2, 20)):
        run = Run(WINDOWED[name], f"bad {name} {seed}", bad=True)
        run.check()
        assert run.error == run.bad
        assert len(run.found["sum_rows"]) < len(run.expected["sum_rows"])
