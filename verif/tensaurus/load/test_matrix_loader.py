"""The matrix loader: every operand where its token says, for as long as a row reads it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import pytest
from amaranth.hdl import Value
from tilewright.hw.spec.tensaurus import KERNELS, TensaurusConfig
from tilewright.hw.tensaurus.layouts import (
    scalar_write_layout,
    tile_token_layout,
    unit_write_layout,
)
from tilewright.hw.tensaurus.load.matrix_loader import MatrixLoader
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    PERFECT,
    Image,
    Manner,
    MemoryBench,
    high_base,
)
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Source
from tilewright.verif.tensaurus.load.lists import CONFIGS, job_bits, tile_bits, under_test


@dataclass(frozen=True)
class Operand:
    """Words that a tile's operand is of: where the first is, and their bits. The last may have
    fewer bits than there are written."""

    scalar: bool
    first: int
    words: tuple[int, ...]
    last_bits: int
    bits: int


class Scratchpads:
    """Stores the words written, accepts tokens, and works on each tile for some cycles in each row.

    From its token until the last row is done a tile's operands must be where the token says.

    Parameters
    ----------
    part: a ``MatrixLoader``
    tiles: of each the operands that it must find, by mode
    slow: cycles of a row with a tile, at random up to this
    stall: share of the cycles in which no token is taken
    """

    def __init__(
        self,
        part: Any,
        config: Any,
        tiles: Sequence[dict[int, Operand]],
        *,
        slow: int,
        stall: float,
        seed: Any,
    ) -> None:
        self._part, self._tiles, self._slow, self._stall = part, tiles, slow, stall
        self._random = random.Random(f"rows {seed}")
        self._rows = config.rows
        self._layouts = (unit_write_layout(config), scalar_write_layout(config))
        self._token = tile_token_layout(config)
        self._ready: bool | None = None
        self._pulses = 0
        self._shown: int | None = None
        self.cells: dict[tuple[bool, int, int], int] = {}
        self.writes: list[int] = []
        self.forget()

    def forget(self) -> None:
        """Resets all state to its start."""
        self.sides: list[int] = []
        self.told: list[int] = []
        self._due: list[deque[int]] = [deque() for _ in range(self._rows)]
        self._done = [0] * self._rows

    @property
    def done(self) -> bool:
        """True if all rows are done with all tiles."""
        return self._done == [len(self._tiles)] * self._rows

    def drive(self, sim: Any, cycle: int) -> None:
        ready = self._random.random() >= self._stall
        if ready != self._ready:
            sim.set(self._part.token.ready, int(ready))
            self._ready = ready
        self._pulses = 0
        for row, due in enumerate(self._due):
            if due and due[0] <= cycle:
                due.popleft()
                self._pulses |= 1 << row
        if self._pulses != self._shown:
            sim.set(self._part.row_done, self._pulses)
            self._shown = self._pulses

    def observe(self, sim: Any, cycle: int) -> None:
        for row in range(self._rows):
            if self._pulses >> row & 1:
                # It was all there until now.
                self._look(self._done[row])
                self._done[row] += 1
        self._write(sim, cycle)
        if self._ready and sim.get(self._part.token.valid):
            word = self._token.from_bits(sim.get(Value.cast(self._part.token.payload)))
            self.sides.append(word.sides)
            self.told.append(cycle)
            self._look(len(self.sides) - 1)
            for due in self._due:
                begin = max(cycle, due[-1] if due else 0)
                due.append(begin + self._random.randint(1, self._slow))

    def _write(self, sim: Any, cycle: int) -> None:
        for scalar, port in enumerate((self._part.unit_write, self._part.scalar_write)):
            if sim.get(port.enable):
                write = self._layouts[scalar].from_bits(sim.get(Value.cast(port)))
                self.cells[bool(scalar), write.side, write.address] = write.data
                self.writes.append(cycle)

    def _look(self, number: int) -> None:
        """Checks that a tile's operands are in the scratchpads."""
        sides = self.sides[number]
        for mode, operand in self._tiles[number].items():
            side = sides >> mode - 1 & 1
            for n, word in enumerate(operand.words):
                last = n == len(operand.words) - 1
                mask = (1 << (operand.last_bits if last else operand.bits)) - 1
                got = self.cells[operand.scalar, side, operand.first + n] & mask
                assert got == word, f"tile {number}, mode {mode}, word {n}"


SEEDS = by_size(1, 9, 12)
SETTLED = 5
"""Cycles from a job to its first tile, at least."""


class Job:
    """A kernel, regions that share the scratchpads, and tiles that load some of the operands.

    Parameters
    ----------
    load: share of the operands that a tile loads, behind the first
    full: operands fill their regions
    """

    def __init__(
        self,
        config: TensaurusConfig,
        kernel: str,
        seed: int,
        *,
        tiles: int = 8,
        load: float = 0.6,
        full: bool = False,
    ) -> None:
        self.config, self.kernel = config, kernel
        self.rng = rng = random.Random(f"{config} {kernel} {seed}")
        self.order = 2 if kernel in ("mm", "mv") else rng.randint(3, config.order)
        self.vectors = 1 if kernel == "mv" else rng.randint(1, min(3, config.tlen))
        self.scalars = {1: 1, 2: 1}
        if kernel == "ttmc":
            self.scalars = {m: rng.randint(1, 2) if m < self.order - 1 else 1 for m in (1, 2)}
        modes = range(1, self.order)
        room = config.spm_units // len(modes)
        self.regions = {mode: (mode - 1) * room for mode in modes}
        self.image = Image(config, seed, high_base(config, config.addr_bits, seed))
        self.words: list[int] = []
        self.tiles: list[dict[int, Operand]] = []
        held: dict[int, tuple[int, int, Operand]] = {}
        for number in range(tiles):
            bits = 0
            for mode in modes:
                if mode not in held or rng.random() < load:
                    held[mode] = self._operand(mode, room, full)
                    bits |= 1 << mode - 1
            fields = {f"size_{mode}": held[mode][0] for mode in modes}
            fields |= {f"operand_{mode}": held[mode][1] for mode in modes}
            extra = rng.getrandbits(3) << self.order - 1 & 7
            self.words.append(tile_bits(config, load=bits | extra, number=number, **fields))
            self.tiles.append({mode: held[mode][2] for mode in modes})

    def is_scalar(self, mode: int) -> bool:
        return self.kernel == "mv" or (self.kernel == "ttmc" and mode < self.order - 1)

    def _operand(self, mode: int, room: int, full: bool) -> tuple[int, int, Operand]:
        """Size, address, and what must be where."""
        config, rng = self.config, self.rng
        bits = config.format.bits
        if self.is_scalar(mode):
            parts, values = self.scalars[mode], room * config.vlen // self.scalars[mode]
            word = config.vlen * bits
        else:
            parts, values = self.vectors, room // self.vectors
            word = config.unit_values * bits
        most = min(values, 40)
        size = values if full else rng.choice([1, most, rng.randint(1, most)])
        total = size * parts * (bits if self.is_scalar(mode) else word)
        content = rng.randbytes(total // 8)
        number = int.from_bytes(content, "little")
        words = ceil(total / word)
        operand = Operand(
            scalar=self.is_scalar(mode),
            first=self.regions[mode],
            words=tuple(number >> n * word & (1 << word) - 1 for n in range(words)),
            last_bits=total - (words - 1) * word,
            bits=word,
        )
        return size, self.image.place(content), operand

    @property
    def bits(self) -> int:
        """The job's registers."""
        regions = {
            f"region_{mode}": first * (self.config.vlen if self.is_scalar(mode) else 1)
            for mode, first in self.regions.items()
        }
        return job_bits(
            self.config,
            kernel=KERNELS.index(self.kernel),
            order=self.order,
            vectors=self.vectors,
            scalars_1=self.scalars[1],
            scalars_2=self.scalars[2],
            **regions,
        )


class Run:
    """A job's tiles, and rows that work on them."""

    def __init__(
        self,
        job: Job,
        manner: Manner,
        *,
        slow: int = 1,
        stall: float = 0.0,
        seed: Any = 0,
        stop_at: int | None = None,
        bad: int | None = None,
    ) -> None:
        part, simulate = under_test(MatrixLoader, job.config)
        source = Source(part.tiles, job.words, gap=stall, begin=SETTLED, seed=seed)
        self.pads = Scratchpads(part, job.config, job.tiles, slow=slow, stall=stall, seed=seed)

        def again() -> None:
            source.words += job.words
            self.pads.forget()

        self.bench = MemoryBench(
            job.config, part, job.image.bytes, manner, [source, self.pads],
            wires=[(part.job, job.bits)], seed=seed, stop_at=stop_at, again=again,
            simulate=simulate, base=job.image.base,
            bad=frozenset() if bad is None else frozenset([bad]),
        )  # fmt: skip
        self.bench.run(lambda sim: self.pads.done, settles=bad is not None)


def _jobs(names: list[str]) -> list[str]:
    return [
        f"{name} {kernel}"
        for name in names
        for kernel in (KERNELS if CONFIGS[name].order > 2 else ("mm", "mv"))
    ]


every_job = pytest.mark.parametrize(
    "job",
    slow_but([], _jobs(list(CONFIGS)), _jobs(["small"])),
)


@every_job
def test_operands_stay_as_long_as_a_row_reads_them(job: str) -> None:
    name, kernel = job.split()
    for seed in range(SEEDS):
        manner = MANNERS["rough" if seed % 2 else "even"]
        slow = (1, 60, 300)[seed % 3]
        Run(Job(CONFIGS[name], kernel, seed), manner, slow=slow, stall=0.2, seed=seed)


@pytest.mark.long
def test_rows_that_lag_hold_up_what_would_overwrite_their_operands() -> None:
    """Every tile loads everything, and rows take long, each as it likes."""
    for seed in range(SEEDS):
        job = Job(CONFIGS["four"], "mttkrp", seed, load=1.0)
        run = Run(job, MANNERS["even"], slow=400, seed=seed)
        assert len(run.pads.told) == len(job.tiles)
        # A third tile is not told of before a row is done with the first.
        assert run.pads.told[-1] > 200


@pytest.mark.parametrize(
    "job", slow_but([], ["small mttkrp", "small ttmc", "one mv"], ["small mttkrp", "small ttmc"])
)
def test_stop_in_the_middle_of_anything(job: str) -> None:
    name, kernel = job.split()
    for seed in range(SEEDS):
        drawn = Job(CONFIGS[name], kernel, seed, tiles=4)
        stop_at = drawn.rng.randint(2, 200)
        Run(drawn, MANNERS["rough"], slow=60, stall=0.2, seed=seed, stop_at=stop_at)


@pytest.mark.slow
def test_an_error_of_the_bus() -> None:
    job = Job(CONFIGS["small"], "mttkrp", 1, load=1.0)
    bad = job.image.base + (len(job.image.bytes) // 2 & -8)
    run = Run(job, MANNERS["even"], slow=5, bad=bad)
    assert run.bench.error is not None
    assert 0 < len(run.pads.told) < len(job.tiles)


RATED = {
    "default": TensaurusConfig(addr_bits=32, spm_bytes=4096),
    "one channel": TensaurusConfig(addr_bits=32, channels=1, data_bits=256, spm_bytes=2048),
}


@pytest.mark.parametrize("name", slow_but([], RATED, []))
def test_all_of_the_ports(name: str) -> None:
    """This rate holds while operands follow one another and the rows do not stall."""
    job = Job(RATED[name], "mttkrp", 0, tiles=4, load=1.0, full=True)
    run = Run(job, PERFECT)
    assert run.bench.port_use() >= 0.98
