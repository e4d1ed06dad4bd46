"""The column loader: every element in its place, and every wrong matrix."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tilewright.hw.sida.load.column_loader import ColumnLoader
from tilewright.hw.sida.load.layouts import job_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    PERFECT,
    Image,
    Manner,
    MemoryBench,
    high_base,
)
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.load.matrices import (
    CONFIGS,
    Element,
    Matrix,
    drawn,
    far_outside,
    large_size,
    lengths_of_wrong,
    read_sets,
    too_long,
    under_test,
)
from tilewright.verif.stream.agents import Pulse, Sink, Wire, run_agents

ERRORS = ("pointer", "row", "order")


_SETTLES = 8
"""Cycles after the last set in which no other set may arrive."""


class Run:
    """Passes over a matrix.

    Parameters
    ----------
    passes: how often it is read
    wrong, bad: something is; ``bad``: an array, and the byte of it that is in a bad beat
    """

    def __init__(
        self,
        matrix: Matrix,
        manner: Manner,
        *,
        passes: int = 1,
        stall: float = 0.0,
        seed: Any = 0,
        stop_at: int | None = None,
        wrong: bool = False,
        bad: tuple[int, int] | None = None,
    ) -> None:
        self.matrix, self.config = matrix, matrix.config
        image = Image(self.config, seed, high_base(self.config, self.config.addr_bits, matrix.size))
        bases = [image.place(array) for array in matrix.arrays]
        names = ("pointers", "rows", "values")
        job = job_layout(self.config).const(
            {**dict(zip(names, bases, strict=True)), "columns": matrix.size}
        )
        self.part, simulate = under_test(ColumnLoader, self.config)
        part = self.part
        start = Pulse(part.start)
        self.sink = Sink(part.o, stall=stall, seed=seed, accept=self._accept)
        self.passes: list[list[int]] = [[]]
        self._left = passes
        self._waits = _SETTLES
        self._start = start
        self.errors: list[str] = []
        self.column = -1

        def again() -> None:
            self.passes = [[]]
            start.due = True

        self.bad = None if bad is None else self._beat(bases[bad[0]] + bad[1])
        spoilt = frozenset() if self.bad is None else frozenset([self.bad])
        self.bench = MemoryBench(
            self.config, part, image.bytes, manner, [start, self.sink],
            wires=[(part.job, job.as_bits())], seed=seed, stop_at=stop_at, again=again, bad=spoilt,
            patience=80, simulate=simulate, base=image.base,
        )  # fmt: skip
        settles = wrong or bad is not None
        self.bench.run(self._done, settles=settles)
        if not settles:
            assert not self.errors
            for words in self.passes:
                assert read_sets(self.config, words, matrix.size) == matrix.elements

    def _beat(self, address: int) -> int:
        width = self.config.geometry.beat_bytes
        return address // width * width

    def _accept(self, word: int) -> None:
        self.passes[-1].append(word)

    def _done(self, sim: Any) -> bool:
        self.errors = [name for name in ERRORS if sim.get(getattr(self.part, f"{name}_error"))]
        if self.errors:
            self.column = sim.get(self.part.error_column)
        if self._start.due or not sim.get(self.part.idle) or not self.passes[-1]:
            return False
        if self._left > 1:
            self._left -= 1
            self.passes.append([])
            self._start.due = True
            return False
        self._waits -= 1
        return self._waits <= 0

    @property
    def rate(self) -> float:
        """Elements per cycle and place of a set, in the first pass from its first set on."""
        cycles = self.sink.cycles[-1] - self.sink.cycles[0] + 1
        return len(self.matrix.rows) / cycles / self.config.pes


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))


@every_config
def test_every_element_is_in_its_place(name: str) -> None:
    for seed in range(by_size(1, 12, 40)):
        manner = MANNERS["rough" if seed % 2 else "even"]
        config = CONFIGS[name]
        matrix = drawn(config, f"{name} {seed}", large_size(config, seed))
        Run(matrix, manner, stall=0.4 * (seed % 3), seed=seed, passes=1 + seed % 2)


@pytest.mark.slow
def test_many_columns_of_a_block() -> None:
    """More than a set may have: of two windows, the second one in parts."""
    for seed in range(by_size(1, 4, 20)):
        rng = random.Random(f"short {seed}")
        lengths = [rng.choice([0, 1, 1, 2]) for _ in range(90)]
        Run(Matrix(CONFIGS["small"], lengths, rng), PERFECT, seed=seed)


@pytest.mark.slow
def test_long_last_columns() -> None:
    """The last window has any number of columns."""
    for columns in by_size([3], range(1, 5), range(1, 9)):
        rng = random.Random(columns)
        lengths = [rng.randrange(3) for _ in range(112)]
        lengths += [rng.randint(60, 110) for _ in range(columns)]
        Run(Matrix(CONFIGS["small"], lengths, rng), MANNERS["even"], stall=0.3, seed=columns)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(1, 30, 40)):
        matrix = drawn(CONFIGS[name], f"stop {name} {seed}", 25)
        stop_at = random.Random(seed).randint(1, 120)
        Run(matrix, MANNERS["rough"], stall=0.2, seed=seed, stop_at=stop_at)


@pytest.mark.slow
def test_a_stop_that_comes_with_the_start() -> None:
    """The loader does not start."""
    part, simulate = under_test(ColumnLoader, CONFIGS["small"])
    job = job_layout(CONFIGS["small"]).const({"columns": 9})
    stop = Wire(part.stop, lambda cycle: int(cycle == 0))

    def until(sim: Any, cycle: int) -> bool:
        assert sim.get(part.idle)
        assert not any(sim.get(ar.valid) for ar in part.ar)
        return cycle == 40

    run_agents(simulate, [Pulse(part.start), stop], until=until, wires=[(part.job, job.as_bits())])


@pytest.mark.parametrize("array", slow_but([], range(3), range(3)))
def test_an_error_of_the_bus(array: int) -> None:
    """The loader sends only what it read before the error."""
    for seed in range(by_size(1, 2, 6)):
        size = 40 + seed % 2
        matrix = Matrix(CONFIGS["small"], [30] * size, random.Random(seed))
        at = random.Random(f"{array} {seed}").randrange(len(matrix.arrays[array]) - 64)
        run = Run(matrix, MANNERS["rough"], seed=seed, bad=(array, at))
        assert run.bench.error == run.bad
        found = read_sets(matrix.config, run.passes[0], matrix.size)
        assert found == matrix.elements[: len(found)]
        assert len(found) < len(matrix.rows)


def first_not_zero(matrix: Matrix, rng: random.Random) -> int:
    matrix.pointers[0] = 1 << rng.randrange(32)
    return 0


def descends(matrix: Matrix, rng: random.Random) -> int:
    column = rng.choice([j for j in range(1, matrix.size - 1) if matrix.pointers[j]])
    matrix.pointers[column + 1] = matrix.pointers[column] - 1
    return column


def too_far(matrix: Matrix, rng: random.Random) -> int:
    column = rng.randrange(matrix.size - 1)
    above = len(matrix.rows) + (1 << rng.randrange(32))
    matrix.pointers[column + 1] = rng.choice([len(matrix.rows) + 1, above % (1 << 32)])
    return column


def row_outside(matrix: Matrix, rng: random.Random) -> int:
    place = rng.randrange(len(matrix.rows))
    matrix.rows[place] = rng.choice([matrix.size, far_outside(rng)])
    return matrix.elements[place][0]


def row_twice(matrix: Matrix, rng: random.Random) -> int:
    columns = [element[0] for element in matrix.elements]
    place = rng.choice([n for n in range(1, len(columns)) if columns[n] == columns[n - 1]])
    matrix.rows[place] = rng.randint(0, matrix.rows[place - 1])
    return columns[place]


Spoil = Callable[[Matrix, random.Random], int]
FAULTS: list[tuple[str, Spoil]] = [
    ("pointer", first_not_zero),
    ("pointer", descends),
    ("pointer", too_far),
    ("row", row_outside),
    ("row", too_long),
    ("order", row_twice),
]


@pytest.mark.parametrize("number", slow_but([], range(len(FAULTS)), range(len(FAULTS))))
def test_every_wrong_matrix(number: int) -> None:
    """The loader reports the first wrong column, and sends only elements that are right."""
    fault, spoil = FAULTS[number]
    for seed in range(by_size(1, 12, 30)):
        rng = random.Random(f"{seed} {number}")
        config = CONFIGS[
            rng.choice([*by_size([], [], ["a set a step", "three channels"]), "small"])
        ]
        matrix = Matrix(config, lengths_of_wrong(config, rng), rng)
        right = matrix.elements
        column = spoil(matrix, rng)
        assert_wrong(matrix, right, fault, column, seed)


def assert_wrong(
    matrix: Matrix, right: Sequence[Element], fault: str, column: int, seed: int
) -> None:
    """The loader reports this error of the column, and sends only elements that are right."""
    run = Run(matrix, PERFECT, stall=0.2, seed=seed, wrong=True)
    assert (run.errors, run.column) == ([fault], column), seed
    found = read_sets(matrix.config, run.passes[0], matrix.size)
    assert found == right[: len(found)]
    assert all(element[0] <= column for element in found)


def ends_by_a_bit_before(matrix: Matrix, rng: random.Random, bit: int) -> int:
    """All elements but three are of column 0; the end of column 1 lacks a bit of that of column 0.
    Only the first of the elements are in memory."""
    end = rng.randint(1, 3)
    matrix.pointers[1:] = [end | 1 << bit, end, *((1 << bit) + 3 for _ in matrix.pointers[3:])]
    matrix.rows[:] = sorted(far_outside(rng) for _ in range(400))
    matrix.values[:] = [rng.getrandbits(matrix.config.format.bits) for _ in range(400)]
    return 1


def ends_by_a_bit_behind(matrix: Matrix, rng: random.Random, bit: int) -> int:
    """The end of column 1 has a bit more than the number of elements."""
    matrix.pointers[2] = len(matrix.rows) ^ 1 << bit
    if matrix.pointers[2] < len(matrix.rows):
        matrix.pointers[2] += 2 << bit
    return 1


def begins_by_a_bit_behind(matrix: Matrix, rng: random.Random, bit: int) -> int:
    matrix.pointers[0] = 1 << bit
    return 0


BITS: list[tuple[str, Callable[[Matrix, random.Random, int], int], int, int]] = [
    ("pointer", begins_by_a_bit_behind, 0, 32),
    ("pointer", ends_by_a_bit_before, 2, 32),
    ("pointer", ends_by_a_bit_behind, 0, 32),
    ("row", too_long, 7, 31),
]
"""Errors of a single bit of a pointer, how they are made, and the bits."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BITS)))
def test_every_bit_of_a_pointer(number: int) -> None:
    fault, spoil, least, most = BITS[number]
    for bit in range(least, by_size(least + 1, most, most)):
        rng = random.Random(f"{bit} {number}")
        matrix = Matrix(CONFIGS["small"], [2] * 5, rng)
        right = matrix.elements
        column = spoil(matrix, rng, bit)
        assert_wrong(matrix, right, fault, column, bit)


@pytest.mark.slow
@pytest.mark.parametrize("column", range(4, 7))
def test_every_bit_of_an_end_in_the_second_window(column: int) -> None:
    """Columns of the first window end in the same block."""
    for bit in range(7, by_size(8, 31, 31)):
        rng = random.Random(f"{bit} {column}")
        matrix = Matrix(CONFIGS["small"], [0, 0, 0, 1, 1, 1, 1, 2], rng)
        right = matrix.elements
        assert_wrong(matrix, right, "row", too_long(matrix, rng, bit, column), bit)


@pytest.mark.slow
def test_many_elements() -> None:
    """Their number has 13 bits."""
    lengths = [0, 1, 255, *([240] * 17), *([0] * 236)]
    matrix = Matrix(CONFIGS["small"], lengths, random.Random(1))
    Run(matrix, PERFECT)


@pytest.mark.slow
def test_a_wrong_end_goes_before_wrong_rows() -> None:
    """Rows that seem not to ascend since the first end is wrong are no error of another column."""
    matrix = Matrix(CONFIGS["small"], [0, 1, 0, 1, 0, 1, 1, 0, 1], random.Random(1))
    matrix.pointers[1] = 9
    matrix.rows[:] = [0, 1, 3, 2, 1]
    run = Run(matrix, PERFECT, wrong=True)
    assert (run.errors, run.column) == (["pointer"], 0)


RATED = SidaConfig(channels=16, data_bits=128, addr_bits=32, vector_words=1024)
"""Channels that deliver more than a set a cycle."""


@pytest.mark.parametrize("lengths", slow_but([], [(8, 8), (8, 24), (100, 300)], []))
def test_a_set_a_cycle(lengths: tuple[int, int]) -> None:
    rng = random.Random(f"{lengths}")
    matrix = Matrix(RATED, [rng.randint(*lengths) for _ in range(by_size(160, 160, 960))], rng)
    assert Run(matrix, PERFECT).rate >= 0.95


@pytest.mark.long
def test_all_of_the_ports() -> None:
    """Columns of one set each use all ports, from the first set on."""
    config = CONFIGS["default"]
    matrix = Matrix(config, [config.pes] * by_size(160, 160, 320), random.Random(1))
    set_bytes = config.pes * (4 + config.format.bits // 8) + 4
    assert Run(matrix, PERFECT).rate >= 0.95 * config.line_bytes / set_bytes


@pytest.mark.long
def test_empty_columns_go_by_together() -> None:
    """Each cycle passes as many empty columns as a set has elements, if the channels deliver the
    pointers."""
    config = replace(CONFIGS["small"], channels=4, data_bits=128)
    lengths = [0] * 200
    lengths[0] = lengths[-1] = 9
    run = Run(Matrix(config, lengths, random.Random(1)), PERFECT)
    cycles = run.sink.cycles[-1] - run.sink.cycles[0]
    assert cycles <= 1.2 * len(lengths) / config.pes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(by_size(2, 6, 60)))
def test_a_set_of_two_windows_that_ends_within_a_block(seed: int) -> None:
    """Columns 3 to 6 are a set of the second block, and its last element is of column 7."""
    rng = random.Random(seed)
    lengths = [4, 0, 0, 1, 1, 1, 0, 3, *(rng.choice([0, 0, 1, 1, 2, 5]) for _ in range(40))]
    run = Run(Matrix(CONFIGS["small"], lengths, rng), PERFECT, seed=seed)
    assert len(run.passes[-1]) > sum(lengths) // 4


@pytest.mark.slow
def test_nothing_follows_the_final_set() -> None:
    """Columns 2 to 4 are in two windows; the second window has no element left."""
    matrix = Matrix(CONFIGS["small"], [2, 1, 2, 1, 0], random.Random(1))
    assert len(Run(matrix, PERFECT).passes[0]) == 2
