"""The matrix loader: every operand where its token says, for as long as a row reads it."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
from tilewright.hw.tensaurus.load.matrix_loader import MOST_TILES, MatrixLoader
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
        writes = (part.unit_write, part.scalar_write)
        self._ports = [(port.enable, Value.cast(port)) for port in writes]
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
            self._begin(cycle)

    def _begin(self, cycle: int) -> None:
        """Every row takes a further tile, and plans when it is done with it."""
        for due in self._due:
            begin = max(cycle, due[-1] if due else 0)
            due.append(begin + self._random.randint(1, self._slow))

    def _write(self, sim: Any, cycle: int) -> None:
        for scalar, (enable, port) in enumerate(self._ports):
            if sim.get(enable):
                write = self._layouts[scalar].from_bits(sim.get(port))
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


class LaggingRows(Scratchpads):
    """Rows that are done with a tile only when the loader waits for one of them. It may wait only
    for a row that has as many tiles as it may have, or a tile whose operands the next ones would
    overwrite. Rows without a tile pulse at random, which means nothing.

    Parameters
    ----------
    loads: of each tile, a bit for each operand that it loads
    """

    PATIENCE = 40
    """Cycles without a write or a token after which the loader waits for rows."""

    def __init__(self, *args: Any, loads: Sequence[int], **options: Any) -> None:
        self._loads, self._waits_from = loads, 0
        super().__init__(*args, **options)

    def drive(self, sim: Any, cycle: int) -> None:
        super().drive(sim, cycle)
        if self._done == [len(self.sides)] * self._rows and not sim.get(self._part.token.valid):
            self._shown = self._random.getrandbits(self._rows)
            sim.set(self._part.row_done, self._shown)

    def observe(self, sim: Any, cycle: int) -> None:
        super().observe(sim, cycle)
        moved = [*self.writes[-1:], *self.told[-1:], self._waits_from]
        if cycle - max(moved) > self.PATIENCE and not self.done:
            self._due[self._random.choice(self._waited_for())].append(cycle + 1)
            self._waits_from = cycle

    def _begin(self, cycle: int) -> None:
        pass

    def _waited_for(self) -> list[int]:
        """Rows that hold up the next tile; if all tiles were told of, rows that have some."""
        told = len(self.sides)
        if told < len(self._tiles):
            modes = [mode for mode in self._tiles[told] if self._loads[told] >> mode - 1 & 1]
            loaded = {m: [n for n in range(told) if self._loads[n] >> m - 1 & 1] for m in modes}
            wanted = [told - MOST_TILES, *(max([0, *loaded[m]]) - 1 for m in modes)]
        else:
            wanted = [told - 1]
        # A row holds up the loader if it is not done with one of these tiles.
        rows = [row for row, done in enumerate(self._done) if done <= max(wanted)]
        assert rows, f"the loader waits for no row before tile {told}"
        return rows


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
        self.vectors = 1 if kernel == "mv" else rng.randint(1, config.tlen)
        self.scalars = {1: 1, 2: 1}
        if kernel == "ttmc":
            self.scalars = {m: rng.randint(1, 2) if m < self.order - 1 else 1 for m in (1, 2)}
        modes = range(1, self.order)
        self.regions, self.room = self._regions(full)
        self.image = Image(config, seed, high_base(config, config.addr_bits, seed))
        self.words: list[int] = []
        self.tiles: list[dict[int, Operand]] = []
        self.loads: list[int] = []
        held: dict[int, tuple[int, int, Operand]] = {}
        for number in range(tiles):
            bits = 0
            for mode in modes:
                if mode not in held or rng.random() < load:
                    held[mode] = self._operand(mode, full)
                    bits |= 1 << mode - 1
            fields = {f"size_{mode}": held[mode][0] for mode in modes}
            fields |= {f"operand_{mode}": held[mode][1] for mode in modes}
            extra = rng.getrandbits(3) << self.order - 1 & 7
            self.words.append(tile_bits(config, load=bits | extra, number=number, **fields))
            self.loads.append(bits)
            self.tiles.append({mode: held[mode][2] for mode in modes})

    def is_scalar(self, mode: int) -> bool:
        return self.kernel == "mv" or (self.kernel == "ttmc" and mode < self.order - 1)

    def _regions(self, full: bool) -> tuple[dict[int, int], dict[int, int]]:
        """Returns the start and the units of each mode's region; there is space between regions."""
        units, rng = self.config.spm_units, self.rng
        if full:
            size = units // (self.order - 1)
            return {m: (m - 1) * size for m in range(1, self.order)}, dict.fromkeys((1, 2, 3), size)
        step = max(4, self.vectors)
        between = rng.sample(range(step, units - step + 1, step), self.order - 2)
        bounds = [0, *sorted(between), units]
        begins = {
            mode: rng.choice([low, rng.randint(low, high - step)])
            for mode, (low, high) in enumerate(itertools.pairwise(bounds), 1)
        }
        return begins, {mode: bounds[mode] - begin for mode, begin in begins.items()}

    def _operand(self, mode: int, full: bool) -> tuple[int, int, Operand]:
        """Size, address, and what must be where."""
        config, rng, room = self.config, self.rng, self.room[mode]
        bits = config.format.bits
        if self.is_scalar(mode):
            parts, values = self.scalars[mode], room * config.vlen // self.scalars[mode]
            word = config.vlen * bits
        else:
            parts, values = self.vectors, room // self.vectors
            word = config.unit_values * bits
        most = min(values, 40)
        size = rng.choice([1, most, values, *(rng.randint(1, most) for _ in range(5))])
        size = values if full else size
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
        lags: bool = False,
    ) -> None:
        part, simulate = under_test(MatrixLoader, job.config)
        source = Source(part.tiles, job.words, gap=stall, begin=SETTLED, seed=seed)
        kind = partial(LaggingRows, loads=job.loads) if lags else Scratchpads
        self.pads = kind(part, job.config, job.tiles, slow=slow, stall=stall, seed=seed)

        stopped = 0

        def again() -> None:
            nonlocal stopped
            stopped = len(source.cycles)
            source.words += job.words
            self.pads.forget()

        def done(sim: Any) -> bool:
            # Idle means that all tokens were taken.
            tokens = len(source.cycles) - stopped
            assert not sim.get(part.idle) or len(self.pads.told) == tokens
            return self.pads.done

        self.bench = MemoryBench(
            job.config, part, job.image.bytes, manner, [source, self.pads],
            wires=[(part.job, job.bits)], seed=seed, stop_at=stop_at, again=again,
            simulate=simulate, base=job.image.base,
            bad=frozenset() if bad is None else frozenset([bad]),
        )  # fmt: skip
        self.bench.run(done, settles=bad is not None)


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


@pytest.mark.slow
@pytest.mark.parametrize("load", [1.0, 0.6, 0.1])
def test_the_loader_waits_only_for_rows_that_hold_it_up(load: float) -> None:
    for kernel in by_size(["mttkrp"], ["mttkrp", "mv"], KERNELS):
        Run(Job(CONFIGS["small"], kernel, 3, tiles=24, load=load), PERFECT, lags=True)


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
