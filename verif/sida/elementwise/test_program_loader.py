"""The program loader: every word in its place, once."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tilewright.hw.sida.elementwise.memory_ports import ProgramLoader
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    PERFECT,
    Image,
    Manner,
    MemoryBench,
)
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Pulse

pytestmark = pytest.mark.long

CONFIGS = {
    "one channel": SidaConfig(pes=4, addr_bits=32, channels=1, data_bits=64),
    "three channels": SidaConfig(addr_bits=32, channels=3, interleave=128, program_words=8),
    "default": SidaConfig(addr_bits=32),
    "lines of four blocks": SidaConfig(
        addr_bits=32, channels=4, data_bits=512, program_words=256, outstanding=2
    ),
}


class Words:
    """Records the words written, by place; no place may be written twice."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self.found: dict[int, int] = {}
        self.cycles: list[int] = []

    def forget(self) -> None:
        self.found, self.cycles = {}, []

    def drive(self, sim: Any, cycle: int) -> None: ...

    def observe(self, sim: Any, cycle: int) -> None:
        part = self._part
        if sim.get(part.program_write):
            place = sim.get(part.program_place)
            assert place == len(self.found)
            self.found[place] = sim.get(part.word)
            self.cycles.append(cycle)


class Run:
    """A program of so many words, perhaps read twice, with a stop between or a bad beat."""

    def __init__(
        self,
        config: SidaConfig,
        manner: Manner,
        count: int,
        *,
        seed: Any = 0,
        twice: bool = False,
        stop_at: int | None = None,
        bad: int | None = None,
    ) -> None:
        rng = random.Random(f"program {seed}")
        image = Image(config, seed)
        content = rng.randbytes(4 * count)
        base = image.place(content)
        self.wanted = {
            n: int.from_bytes(content[4 * n : 4 * n + 4], "little") for n in range(count)
        }
        self.part = part = ProgramLoader(config)
        self.words = words = Words(part)
        self._start = start = Pulse(part.start)
        self._again = twice

        def again() -> None:
            words.forget()
            start.due = True

        beat = config.geometry.beat_bytes
        spoilt = frozenset() if bad is None else frozenset([(base + bad) // beat * beat])
        self.bench = MemoryBench(
            config, part, image.bytes, manner, [start, words], seed=seed, stop_at=stop_at,
            wires=[(part.address, base), (part.words, count)], again=again, bad=spoilt,
            patience=80,
        )  # fmt: skip
        self.bench.run(self._done, settles=bad is not None)

    def _done(self, sim: Any) -> bool:
        if self._start.due or not sim.get(self.part.idle):
            return False
        assert self.words.found == self.wanted
        again, self._again = self._again, False
        if again:
            self.words.forget()
            self._start.due = True
        return not again


@pytest.mark.parametrize("name", slow_but(["one channel"], CONFIGS, ["three channels", "default"]))
def test_every_word_in_its_place(name: str) -> None:
    config = CONFIGS[name]
    for seed in range(by_size(1, 2, 20)):
        manner = MANNERS["rough" if seed % 2 else "even"]
        rng = random.Random(f"{name} {seed}")
        count = rng.choice([1, config.program_words, rng.randint(1, config.program_words)])
        Run(config, manner, count, seed=seed, twice=True)


@pytest.mark.parametrize("name", slow_but(["one channel"], CONFIGS, []))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(2, 2, 30)):
        stop_at = random.Random(seed).randint(0, 60)
        config = CONFIGS[name]
        Run(config, MANNERS["rough"], config.program_words, seed=seed, stop_at=stop_at)


def test_an_error_of_the_bus() -> None:
    config = CONFIGS["one channel"]
    for seed in range(by_size(1, 1, 10)):
        bad = random.Random(seed).randrange(4 * 60)
        run = Run(config, MANNERS["rough"], 60, seed=seed, bad=bad)
        assert run.bench.error is not None
        assert run.words.found.items() <= run.wanted.items()
        assert len(run.words.found) <= bad // 4


@pytest.mark.slow
def test_a_word_a_cycle() -> None:
    config = CONFIGS["lines of four blocks"]
    run = Run(config, PERFECT, 256)
    assert run.words.cycles[-1] - run.words.cycles[0] <= 1.05 * 256
