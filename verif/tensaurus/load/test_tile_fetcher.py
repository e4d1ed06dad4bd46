"""The list of tiles: each to all its users, under memories of every kind."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from tilewright.hw.spec.tensaurus_tiles import TILE_BYTES, tile_words
from tilewright.hw.tensaurus.layouts import tile_layout
from tilewright.hw.tensaurus.load.tile_fetcher import USERS, TileFetcher
from tilewright.verif.channels.striped.memory_bench import MANNERS, Image, MemoryBench
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Agent, Sink, Wire
from tilewright.verif.tensaurus.load.configs import CONFIGS
from tilewright.verif.tensaurus.load.lists import List

pytestmark = pytest.mark.long

SEEDS = by_size(1, 2, 12)


class Run:
    """The tiles that the users get."""

    def __init__(
        self,
        tiles: List,
        manner: str = "even",
        *,
        stall: float = 0.3,
        stop_at: int | None = None,
        bad: int | None = None,
        wrong: bool = False,
    ) -> None:
        self.list, config = tiles, tiles.config
        image = Image(config, tiles.seed)
        self.base = image.place(b"".join(map(tile_words, tiles.fields)))
        self.part = part = TileFetcher(config)
        self.starts = {2}
        stalls = [stall, stall / 2, 0.9 if stall else 0.0]
        self.sinks = [
            Sink(tiles_o, stall=stalls[n], seed=f"{tiles.seed} {n}")
            for n, tiles_o in enumerate(part.tiles)
        ]
        agents: list[Agent] = [*self.sinks, Wire(part.start, self._starts)]
        self.cycle = 0
        self.bench = MemoryBench(
            config, part, image.bytes, MANNERS[manner], agents,
            wires=[(part.job, tiles.job(self.base))], seed=tiles.seed, stop_at=stop_at,
            again=self._again, bad=frozenset() if bad is None else frozenset([self.base + bad]),
        )  # fmt: skip
        self.wrong: int | None = None
        self._goes_wrong = wrong
        self.bench.run(self._done, settles=wrong or bad is not None)

    def _starts(self, cycle: int) -> int:
        self.cycle = cycle
        return int(cycle in self.starts)

    def _again(self) -> None:
        self.starts.add(self.cycle + 1)
        for sink in self.sinks:
            sink.words.clear()

    def _done(self, sim: Any) -> bool:
        if sim.get(self.part.wrong):
            assert self._goes_wrong
            self.wrong = sim.get(self.part.number)
        return all(len(sink.words) == self.list.tiles for sink in self.sinks)

    def check(self, count: int) -> None:
        """Everyone has the first ``count`` tiles, and no others."""
        tiles, config = self.list, self.list.config
        layout = tile_layout(config)
        for user, sink in zip(USERS, self.sinks, strict=True):
            assert len(sink.words) == count, user
            for number, word in enumerate(sink.words):
                found, fields = layout.from_bits(word), dict(tiles.fields[number])
                used = [f"size_{mode}" for mode in range(1, tiles.order)]
                used += [
                    f"operand_{m}" for m in range(1, tiles.order) if fields["load"] >> m - 1 & 1
                ]
                for name in ("slices", "entries", "tensor", "output", "pitch", *used):
                    assert found[name] == fields[name], (user, number, name)
                assert found.load == fields["load"] & 7
                assert found.last == fields["last"] & 1
                assert found.number == number
                assert found.final == (number == tiles.tiles - 1)
                if tiles.dense:
                    sizes = [fields[f"size_{mode}"] for mode in range(1, tiles.order)]
                    assert found.elements == prod(sizes)


every_config = pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, ["odd", "one"]))


@every_config
def test_every_tile_reaches_everyone(name: str) -> None:
    for seed in range(SEEDS):
        tiles = List(name, seed)
        Run(tiles, "rough" if seed % 2 else "even").check(tiles.tiles)


@pytest.mark.slow
def test_nothing_goes_on_behind_a_wrong_tile() -> None:
    tiles = List("small", 5, tiles=4)
    tiles.fields[2]["slices"] = 0
    run = Run(tiles, stall=0.1, wrong=True)
    run.check(2)
    assert run.wrong == 2


@pytest.mark.slow
@every_config
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(SEEDS):
        tiles = List(name, seed, tiles=6)
        stop_at = tiles.random.randint(2, 150)
        Run(tiles, "rough", stop_at=stop_at).check(tiles.tiles)


@pytest.mark.slow
def test_an_error_of_the_bus() -> None:
    tiles = List("small", 3)
    bad = 5 * TILE_BYTES + 64
    run = Run(tiles, bad=bad)
    assert run.bench.error == run.base + bad
    run.check(5)
