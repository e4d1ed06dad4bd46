"""Matrices by columns as they are in memory, and the sets that they are read as."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tilewright.hw.sida.held.layouts import reload_layout
from tilewright.hw.sida.layouts import set_layout
from tilewright.hw.sida.load.column_loader import ColumnLoader
from tilewright.hw.sida.load.row_loader import RowLoader
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import simulate


def _config(pes: int, subtensor: int, **others: Any) -> SidaConfig:
    sizes = {"vector_words": 256, "addr_bits": 32, "outstanding": 8}
    return SidaConfig(pes=pes, subtensor=subtensor, **{**sizes, **others})


CONFIGS = {
    "small": _config(4, 8, channels=1, data_bits=64),
    "three channels": _config(8, 8, channels=3, interleave=128, value="fp16", semirings=("mma",)),
    "wide": _config(32, 32, channels=1, data_bits=64, outstanding=4, value="fp64"),
    "a set a step": _config(4, 4, channels=2, data_bits=256, value="int32"),
    "default": SidaConfig(addr_bits=32, vector_words=1024),
}


NATIVE = NativeParts(
    "sida_loaders",
    {kind.__name__: partial(kind, CONFIGS["small"]) for kind in (ColumnLoader, RowLoader)},
)


def under_test(kind: Any, config: SidaConfig) -> tuple[Any, Any]:
    """Returns a loader and what runs a bench on it: the Verilog in the small configuration, else
    Amaranth's simulator."""
    if config == CONFIGS["small"]:
        return NATIVE[kind.__name__], partial(NATIVE.simulate, kind.__name__)
    part = kind(config)
    return part, partial(simulate, part)


Element = tuple[int, int, int]
"""Column, row, value."""


@dataclass
class Matrix:
    """A square matrix with columns of given lengths.

    Parameters
    ----------
    far: what the first pointer is

    Members
    -------
    pointers, rows, values: what is in memory; a test may spoil it
    """

    config: SidaConfig
    lengths: Sequence[int]
    rng: random.Random
    far: int = 0
    pointers: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pointers = [0]
        for length in self.lengths:
            self.rows += sorted(self.rng.sample(range(self.size), length))
            self.pointers.append(len(self.rows))
        self.pointers = [self.far + pointer for pointer in self.pointers]
        self.values = [self.rng.getrandbits(self.config.format.bits) for _ in self.rows]

    @property
    def size(self) -> int:
        return len(self.lengths)

    @property
    def elements(self) -> list[Element]:
        """Elements in column order."""
        columns = [j for j, length in enumerate(self.lengths) for _ in range(length)]
        return list(zip(columns, self.rows, self.values, strict=True))

    @property
    def arrays(self) -> list[bytes]:
        """Pointers, rows, values."""
        words = [(self.pointers, 4), (self.rows, 4), (self.values, self.config.format.bits // 8)]
        return [b"".join(n.to_bytes(size, "little") for n in array) for array, size in words]


def drawn(config: SidaConfig, seed: Any, size: int | None = None, far: int = 0) -> Matrix:
    """A matrix with empty, short and long columns; a large one has few elements."""
    rng = random.Random(f"matrix {seed}")
    if size is None:
        size = rng.choice([1, config.pes, rng.randint(2, 30), by_size(20, 20, 64)])
    most = rng.choice([1, 3, size, size])
    share = rng.choice([0.0, 0.3, 0.9, 1.0])
    if size > 64:
        most, share = rng.randint(1, 6), min(share, 0.3)
    lengths = [rng.randint(0, min(most, size)) if rng.random() < share else 0 for _ in range(size)]
    return Matrix(config, lengths, rng, far)


def large_size(config: SidaConfig, seed: int) -> int | None:
    """Rows of the largest matrices for every third seed; None for the others."""
    most = min(config.most_rows, 256)
    return random.Random(seed).randint(most // 2, most) if seed % 3 == 2 else None


def lengths_of_wrong(config: SidaConfig, rng: random.Random) -> list[int]:
    """Lengths of the columns of a matrix that is to be spoilt; a large one has few elements."""
    size = rng.choice([5, 5, 20, min(config.most_rows, 256) - rng.randrange(4)])
    if size > 64:
        return [rng.choice([0, 0, 0, 0, 2, 3]) for _ in range(size)]
    return [rng.randint(2, size) for _ in range(size)]


def far_outside(rng: random.Random) -> int:
    """A row that no matrix here has."""
    return 1 << rng.randrange(10, 32) | rng.getrandbits(rng.randrange(1, 33))


def too_long(
    matrix: Matrix, rng: random.Random, bit: int | None = None, column: int | None = None
) -> int:
    """A column has a power of two of elements more than are in memory; behind it are rows that are
    not there. Returns the column."""
    column = rng.randrange(matrix.size) if column is None else column
    more = 1 << (rng.randrange(7, 31) if bit is None else bit)
    at = matrix.pointers[column + 1] - matrix.far
    for later in range(column + 1, matrix.size + 1):
        matrix.pointers[later] += more
    matrix.rows[at:] = sorted(far_outside(rng) for _ in range(400))
    matrix.values[at:] = [rng.getrandbits(matrix.config.format.bits) for _ in range(400)]
    return column


def read_sets(config: SidaConfig, words: Sequence[int], columns: int) -> list[Element]:
    """Returns the elements of the sets that were sent. Checks each set against ``set_layout``, and
    that the elements are complete if the last set is final.

    ``columns``: of the matrix. The pieces in which a column's elements of one block come must be
    one, which is what sums depend on.
    """
    layout, pes, step = set_layout(config), config.pes, config.subtensor
    found: list[Element] = []
    pieces: set[tuple[int, int]] = set()
    complete = 0
    for number, word in enumerate(words):
        sent: Any = layout.from_bits(word)
        assert sent.base == complete, number
        mine = set()
        for n in range(pes):
            leaf = sent.leaves[n]
            if leaf.valid:
                column = sent.base + leaf.offset
                assert len(found) % pes == n, f"set {number}: an element is at leaf {n}"
                assert leaf.offset <= sent.columns, number
                mine.add((column, len(found) // pes))
                found.append((column, leaf.row, leaf.value))
        assert not mine & pieces, f"set {number}: more of a column's part of a block"
        pieces |= mine
        complete += sent.columns
        steps = {column // step for column, _ in mine}
        if sent.columns:
            steps |= {sent.base // step, (complete - 1) // step}
        assert len(steps) <= 1, f"set {number}: columns of two steps"
        assert sent.final == (complete == columns), number
        assert not sent.final or number == len(words) - 1
    # Columns that were reported complete have no further elements.
    return found


Asked = tuple[int, int]
"""A panel, and below which column."""


def asked_of(matrix: Matrix, rng: random.Random, count: int) -> list[Asked]:
    """Draws panels, each up to any column or whole."""
    panels = -(-matrix.size // matrix.config.subtensor)
    return [
        (rng.randrange(panels), rng.choice([matrix.size, rng.randint(1, matrix.size)]))
        for _ in range(count)
    ]


def panel_elements(matrix: Matrix, panel: int, columns: int) -> list[Element]:
    """Returns row, column and value of a panel's elements in columns below ``columns``; ``matrix``
    calls its rows columns."""
    step = matrix.config.subtensor
    return [x for x in matrix.elements if x[0] // step == panel and x[1] < columns]


def read_panels(config: SidaConfig, words: Sequence[int]) -> list[list[Element]]:
    """Returns the elements of the transfers that were sent, by panel, and checks each transfer
    against ``reload_layout``. The last panel need not be complete."""
    layout, pes = reload_layout(config), config.pes
    found: list[list[Element]] = [[]]
    for number, word in enumerate(words):
        sent: Any = layout.from_bits(word)
        leaves = [n for n in range(pes) if sent.elements[n].valid]
        assert leaves or sent.last, f"transfer {number} is empty"
        mine = [
            (sent.row + sent.elements[n].offset, sent.elements[n].column, sent.elements[n].value)
            for n in leaves
        ]
        assert sent.row % pes == 0
        assert all(one[:2] < other[:2] for one, other in itertools.pairwise(mine))
        found[-1] += mine
        if sent.last:
            found.append([])
    return found
