"""The row loader: every element of a panel in its order, and every wrong matrix."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tilewright.hw.sida.held.layouts import reload_request_layout
from tilewright.hw.sida.load.layouts import rows_job_layout
from tilewright.hw.sida.load.row_loader import RowLoader
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
    Asked,
    Element,
    Matrix,
    asked_of,
    far_outside,
    large_size,
    lengths_of_wrong,
    panel_elements,
    read_panels,
    too_long,
    under_test,
)
from tilewright.verif.stream.agents import Sink, Source

ERRORS = ("pointer", "column", "order")


def _config(pes: int, subtensor: int, **others: Any) -> SidaConfig:
    sizes = {"vector_words": 256, "addr_bits": 32, "outstanding": 8}
    return SidaConfig(pes=pes, subtensor=subtensor, **{**sizes, **others})


CONFIGS = {
    "small": _config(4, 8, channels=1, data_bits=64),
    "three channels": _config(8, 8, channels=3, interleave=128, value="fp16", semirings=("mma",)),
    "wide": _config(32, 32, channels=1, data_bits=64, outstanding=4, value="fp64"),
    "one panel": _config(4, 256, channels=2, data_bits=256, value="int32"),
    "default": SidaConfig(addr_bits=32, vector_words=1024),
}


class Run:
    """Loads panels of a matrix by rows, which :class:`Matrix` calls columns.

    Parameters
    ----------
    asked: what is asked for, in order
    wrong, bad: something is; ``bad``: an array, and the byte of it that is in a bad beat
    """

    def __init__(
        self,
        matrix: Matrix,
        asked: Sequence[Asked],
        manner: Manner,
        *,
        stall: float = 0.0,
        seed: Any = 0,
        stop_at: int | None = None,
        wrong: bool = False,
        bad: tuple[int, int] | None = None,
    ) -> None:
        self.matrix, self.config = matrix, matrix.config
        image = Image(self.config, seed, high_base(self.config, self.config.addr_bits, matrix.size))
        bases = [image.place(array) for array in matrix.arrays]
        placed = list(bases)
        if matrix.far:
            # Elements are counted from a place before the arrays.
            addresses, sizes = 1 << self.config.addr_bits, (0, 4, self.config.format.bits // 8)
            bases = [
                (base - matrix.far * size) % addresses
                for base, size in zip(bases, sizes, strict=True)
            ]
        names = ("pointers", "columns", "values")
        job = rows_job_layout(self.config).const(
            {**dict(zip(names, bases, strict=True)), "rows": matrix.size}
        )
        self.part, simulate = under_test(RowLoader, self.config)
        part = self.part
        layout = reload_request_layout(self.config)
        words = [layout.const({"panel": p, "columns": c}).as_bits() for p, c in asked]
        self.source = source = Source(part.request, words, gap=stall, seed=seed)
        self.sink = sink = Sink(part.o, stall=stall, seed=seed)

        def again() -> None:
            del sink.words[:], sink.cycles[:], source.cycles[:]
            source.words[:] = words

        width = self.config.geometry.beat_bytes
        self.bad = None if bad is None else (placed[bad[0]] + bad[1]) // width * width
        spoilt = [] if self.bad is None else [self.bad]
        self.bench = MemoryBench(
            self.config, part, image.bytes, manner, [source, sink],
            wires=[(part.job, job.as_bits())], seed=seed, stop_at=stop_at, again=again,
            bad=frozenset(spoilt), patience=80, simulate=simulate,
            base=image.base,
        )  # fmt: skip
        self.errors: list[str] = []
        self.row = -1
        settles = wrong or bad is not None
        self.bench.run(self._done, settles=settles)
        self.found = read_panels(self.config, sink.words)
        if not settles:
            right = [panel_elements(matrix, *one) for one in asked]
            assert not self.errors
            assert self.found == [*right, []]

    def _done(self, sim: Any) -> bool:
        self.errors = [name for name in ERRORS if sim.get(getattr(self.part, f"{name}_error"))]
        if self.errors:
            self.row = sim.get(self.part.error_row)
        return self.source.done

    @property
    def rate(self) -> float:
        """Elements a cycle of one panel, from its first transfer to its last."""
        cycles = self.sink.cycles[-1] - self.sink.cycles[0] + 1
        return len(self.found[0]) / cycles


def drawn(config: SidaConfig, seed: Any, size: int | None = None) -> Matrix:
    """A matrix with empty, short and long rows."""
    rng = random.Random(f"matrix {seed}")
    if size is None:
        size = rng.choice([1, config.pes, rng.randint(2, 30), by_size(40, 40, 80)])
    most = rng.choice([1, 3, size, size])
    share = rng.choice([0.0, 0.3, 0.9, 1.0])
    if size > 64:
        most = min(most, 6)
    lengths = [rng.randint(0, min(most, size)) if rng.random() < share else 0 for _ in range(size)]
    # The pointers of a matrix by rows may begin anywhere, and a block may have a carry.
    steps = (1 << 32) // config.line_bytes - 10_000
    far = rng.choice([rng.randrange(steps), (1 << rng.randrange(1, steps.bit_length())) - 1])
    return Matrix(config, lengths, rng, far=far * config.line_bytes)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))
def test_every_element_is_in_its_order(name: str) -> None:
    for seed in range(by_size(1, 12, 40)):
        config = CONFIGS[name]
        matrix = drawn(config, f"{name} {seed}", large_size(config, seed))
        asked = asked_of(matrix, random.Random(seed), 4)
        manner = MANNERS["rough" if seed % 2 else "even"]
        Run(matrix, asked, manner, stall=0.4 * (seed % 3), seed=seed)


@pytest.mark.slow
def test_a_last_panel_of_long_rows() -> None:
    """It has any number of rows; pointers of other panels come behind its own."""
    for rows in by_size([3], range(1, 9), range(1, 9)):
        rng = random.Random(rows)
        lengths = [rng.randrange(3) for _ in range(112)]
        lengths += [rng.randint(60, 110) for _ in range(rows)]
        far = rng.getrandbits(31) // 64 * 64
        matrix = Matrix(CONFIGS["small"], lengths, rng, far=far)
        asked = [(14, matrix.size), (0, matrix.size), (14, 9), (13, matrix.size)]
        Run(matrix, asked, MANNERS["even"], stall=0.3, seed=rows)


@pytest.mark.slow
def test_a_panel_of_one_row_again() -> None:
    """The first column of its second reading is no successor of the last one of the first."""
    for length in (4, 8):
        matrix = Matrix(CONFIGS["small"], [0, length, *[0] * 6], random.Random(length), far=64)
        Run(matrix, [(0, matrix.size)] * 3, PERFECT, seed=length)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(1, 30, 40)):
        matrix = drawn(CONFIGS[name], f"stop {name} {seed}", 25)
        stop_at = random.Random(seed).randint(1, 160)
        asked = asked_of(matrix, random.Random(seed), 3)
        Run(matrix, asked, MANNERS["rough"], stall=0.2, seed=seed, stop_at=stop_at)


def is_begun(found: list[Any], right: list[Any]) -> bool:
    """Returns whether ``found`` is the beginning of ``right``."""
    flat, whole = [[x for one in parts for x in one] for parts in (found, right)]
    return flat == whole[: len(flat)]


@pytest.mark.parametrize("array", slow_but([], range(3), range(3)))
def test_an_error_of_the_bus(array: int) -> None:
    """The loader sends only what it read before the error."""
    for seed in range(by_size(1, 2, 6)):
        size = 40 + seed % 2
        matrix = Matrix(CONFIGS["small"], [30] * size, random.Random(seed))
        asked = [(n, size) for n in range(-(-size // 8))]
        at = random.Random(f"{array} {seed}").randrange(len(matrix.arrays[array]))
        run = Run(matrix, asked, MANNERS["rough"], seed=seed, bad=(array, at))
        assert run.bench.error == run.bad
        right = [panel_elements(matrix, *one) for one in asked]
        assert is_begun(run.found, right)
        assert len(run.found) <= len(asked)


def ends_early(matrix: Matrix, rng: random.Random) -> int:
    row = rng.choice([j for j in range(1, matrix.size - 1) if (j + 1) % matrix.config.subtensor])
    matrix.pointers[row + 1] = matrix.pointers[row] - 1
    return row


def ends_late(matrix: Matrix, rng: random.Random) -> int:
    step = matrix.config.subtensor
    row = rng.choice([j for j in range(matrix.size - 1) if (j + 1) % step])
    last = min((row // step + 1) * step, matrix.size)
    above = matrix.pointers[last] + (1 << rng.randrange(31))
    matrix.pointers[row + 1] = rng.choice([matrix.pointers[last] + 1, above])
    return row


def panel_ends_early(matrix: Matrix, rng: random.Random) -> int:
    matrix.pointers[-1] = rng.randrange(matrix.pointers[-2])
    panel = (matrix.size - 1) // matrix.config.subtensor * matrix.config.subtensor
    ends = enumerate(matrix.pointers[panel + 1 :], panel)
    return next(j for j, end in ends if end > matrix.pointers[-1] or j == matrix.size - 1)


def column_outside(matrix: Matrix, rng: random.Random) -> int:
    place = rng.randrange(len(matrix.rows))
    matrix.rows[place] = rng.choice([matrix.size, far_outside(rng)])
    return matrix.elements[place][0]


def column_twice(matrix: Matrix, rng: random.Random) -> int:
    rows = [element[0] for element in matrix.elements]
    place = rng.choice([n for n in range(1, len(rows)) if rows[n] == rows[n - 1]])
    matrix.rows[place] = rng.randint(0, matrix.rows[place - 1])
    return rows[place]


Spoil = Callable[[Matrix, random.Random], int]
FAULTS: list[tuple[str, Spoil]] = [
    ("pointer", ends_early),
    ("pointer", ends_late),
    ("pointer", panel_ends_early),
    ("column", column_outside),
    ("column", too_long),
    ("order", column_twice),
]


@pytest.mark.parametrize("number", slow_but([], range(len(FAULTS)), range(len(FAULTS))))
def test_every_wrong_matrix(number: int) -> None:
    """The loader reports the first wrong row, and sends only elements that are right."""
    fault, spoil = FAULTS[number]
    for seed in range(by_size(1, 12, 30)):
        rng = random.Random(f"{seed} {number}")
        config = CONFIGS[rng.choice(["small", *by_size([], [], ["three channels", "one panel"])])]
        far = rng.randrange(1 << 31) // config.line_bytes * config.line_bytes
        matrix = Matrix(config, lengths_of_wrong(config, rng), rng, far=far)
        right = matrix.elements
        row = spoil(matrix, rng)
        assert_wrong(matrix, right, fault, row, seed)


def assert_wrong(matrix: Matrix, right: Sequence[Element], fault: str, row: int, seed: int) -> None:
    """All panels are asked for; the loader reports this error of the row, and sends only elements
    that are right."""
    asked = [(n, matrix.size) for n in range(-(-matrix.size // matrix.config.subtensor))]
    run = Run(matrix, asked, PERFECT, stall=0.2, seed=seed, wrong=True)
    assert (run.errors, run.row) == ([fault], row), seed
    assert is_begun(run.found, [right])
    assert all(element[0] <= row for one in run.found for element in one)


def ends_by_a_bit_before(matrix: Matrix, rng: random.Random, bit: int) -> int:
    """The end of row 2 lacks a bit of that of row 1."""
    matrix.pointers[3] = matrix.pointers[2] & ~(1 << bit)
    return 2


def ends_by_a_bit_behind(matrix: Matrix, rng: random.Random, bit: int) -> int:
    """The end of row 2 has a bit more than the end of its panel."""
    matrix.pointers[3] = matrix.pointers[8] + (1 << bit)
    return 2


BITS: list[tuple[str, Callable[[Matrix, random.Random, int], int], int, int]] = [
    ("pointer", ends_by_a_bit_before, 7, 32),
    ("pointer", ends_by_a_bit_behind, 0, 31),
    ("column", too_long, 7, 31),
]
"""Errors of a single bit of a pointer, how they are made, and the bits."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BITS)))
def test_every_bit_of_a_pointer(number: int) -> None:
    fault, spoil, least, most = BITS[number]
    for bit in range(least, by_size(least + 1, most, most)):
        rng = random.Random(f"{bit} {number}")
        far = {0: rng.getrandbits(31) | 1 << bit, 1: rng.getrandbits(31), 2: 0}[number]
        matrix = Matrix(CONFIGS["small"], [2] * 8, rng, far=far & -64)
        right = matrix.elements
        assert_wrong(matrix, right, fault, spoil(matrix, rng, bit), bit)


WIDE = SidaConfig(channels=16, data_bits=128, addr_bits=32, vector_words=1024)
"""Channels that deliver more than a set a cycle."""


@pytest.mark.parametrize("length", slow_but([], [1, 8, 16, 40], []))
def test_a_set_a_cycle(length: int) -> None:
    """A set leaves in each cycle, for each block and for each window of rows that ends in one."""
    matrix = Matrix(WIDE, [3, *[length] * 127], random.Random(length))
    run = Run(matrix, [(1, matrix.size)], PERFECT)
    elements, windows = 64 * length, 64 // WIDE.pes
    assert run.rate >= 0.95 * elements / (elements // WIDE.pes + 1 + windows)


@pytest.mark.long
def test_panels_are_read_ahead() -> None:
    """Short panels hide the latency of the memory."""
    config = _config(8, 8, channels=8)
    lengths = [8, 3, 0, 8, 16, 1, 8, 7, 5]
    matrix = Matrix(config, [lengths[n % 9] for n in range(64)], random.Random(3))
    run = Run(matrix, [(n, matrix.size) for n in range(8)], PERFECT)
    ends = [matrix.pointers[8 * n] for n in range(9)]
    blocks = sum(-(-end // 8) - begin // 8 for begin, end in itertools.pairwise(ends))
    # Each panel takes one more cycle, for its first pointers.
    assert run.sink.cycles[-1] - run.sink.cycles[0] < 1.2 * (blocks + 8)


@pytest.mark.long
def test_all_of_the_ports() -> None:
    """Rows of eight elements use all ports, from the first element of a panel on."""
    config = SidaConfig(addr_bits=32, vector_words=1024, subtensor=256)
    matrix = Matrix(config, [3, *[8] * 511], random.Random(1))
    run = Run(matrix, [(1, matrix.size)], PERFECT)
    line = config.channels * config.geometry.beat_bytes
    assert run.rate >= 0.9 * line / (4 + config.format.bits // 8)
