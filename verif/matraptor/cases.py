"""Jobs for MatRaptor: random operands and their placement in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.formats import IntFormat
from tilewright.hw.spec.jobs.matraptor import VALUE_ARRAYS
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.result.rows import SparseProduct, least_capacity, spgemm
from tilewright.sim.sparse.c2sr import C2sr, CsrPatterns, from_csr, from_patterns, starts_of
from tilewright.sim.sparse.image import entries_bytes, image, image_sizes, pairs_bytes
from tilewright.sim.sparse.memory_blocks import Block
from tilewright.verif.c2sr.rows import NUMPY
from tilewright.verif.channels.lane_rows import walk

ALL = 0, (1 << 32) - 1
"""The columns of a job without a range."""

DIVIDING = [(n, m) for n in range(1, 17) for m in range(1, 17) if n % m == 0 or m % n == 0]
"""Lanes and channels of which one divides the other."""


def config(**settings: Any) -> MatRaptorConfig:
    return MatRaptorConfig(**{"data_bits": 128, **settings})


def some_matrix(
    rng: np.random.Generator, rows: int, cols: int, density: float, value: str = "fp32"
) -> Any:
    """Rows of different lengths, some empty; numbers whose sums round, some of them zeros."""
    kept = rng.random((rows, cols)) < density * rng.choice([0, 0.5, 1, 1.5], (rows, 1))
    if density == 1:
        kept[:] = True
    r, c = np.nonzero(kept)
    if value == "int32":
        data: npt.NDArray[Any] = rng.integers(-(2**31), 2**31, len(r))
    else:
        spread = 2.0 ** rng.integers(-4, 5, len(r))
        data = (rng.standard_normal(len(r)) * spread).astype(NUMPY[value]).astype(np.float64)
    data[rng.random(len(data)) < 0.05] = 0
    return sp.csr_array((data, (r, c)), shape=(rows, cols))


def operands(
    cfg: MatRaptorConfig, rng: np.random.Generator, rows: int, inner: int, cols: int, density: float
) -> tuple[Any, Any, C2sr, C2sr]:
    a = some_matrix(rng, rows, inner, density, cfg.value)
    b = some_matrix(rng, inner, cols, density, cfg.value)
    return a, b, from_csr(a, cfg.layout), from_csr(b, cfg.layout)


def scipy_structure(a: Any, b: Any) -> Any:
    """Returns the entries of the product as counts of terms, which never cancel."""
    ones = [sp.csr_array((np.ones(x.nnz, np.int64), x.indices, x.indptr), shape=x.shape)
            for x in (a, b)]  # fmt: skip
    found = ones[0] @ ones[1]
    found.sort_indices()
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseCase:
    """A job: ``C = A (x) B`` with everything at its place in memory.

    Parameters
    ----------
    config: of the accelerator
    a, b: the operands
    capacity: entries of a lane's region in a channel
    base: addresses of ``ARRAYS``
    column_range: columns, first and last; entries of B outside it are skipped
    csr: which of "a" and "b" is in CSR; capital letters: with columns and values apart
    """

    config: MatRaptorConfig
    a: C2sr
    b: C2sr
    capacity: int
    base: dict[str, int]
    column_range: tuple[int, int] = ALL
    csr: str = ""

    def blocks(self, name: str) -> tuple[Block, ...]:
        """The arrays of an operand in memory."""
        matrix: C2sr = getattr(self, name)
        places = self.base[f"{name}_pairs"], self.base[f"{name}_entries"]
        if name in self.csr:
            return csr_blocks(matrix, *places)
        if name.upper() in self.csr:
            return split_blocks(matrix, *places, self.base[f"{name}_values"])
        return image(matrix, pairs_base=places[0], entries_base=places[1])

    @property
    def kept(self) -> C2sr:
        """B without the entries that are skipped, with the pointers of B."""
        starts, columns, values = self.b.patterns()
        kept = (columns >= self.column_range[0]) & (columns <= self.column_range[1])
        rows = CsrPatterns(starts_of(kept.astype(np.int64))[starts], columns[kept], values[kept])
        return from_patterns(rows, self.b.shape, self.b.layout, pointers=self.b.pointers)

    @property
    def registers(self) -> dict[str, int]:
        """The job registers."""
        sizes = {"rows": self.a.shape[0], "b_rows": self.b.shape[0], "capacity": self.capacity}
        first, last = self.column_range
        sizes |= {"first_column": first, "end_column": (last + 1) % (1 << 32)}
        if self.config.csr:
            sizes |= {
                f"{name}_format": (name in self.csr) + 2 * (name.upper() in self.csr)
                for name in "ab"
            }
            sizes |= dict.fromkeys(VALUE_ARRAYS, 0)
        return {name.upper(): value for name, value in (sizes | self.base).items()}

    @property
    def rows_of_b(self) -> npt.NDArray[np.int64]:
        """Rows of B that the job reads, each as often as it is read."""
        return self.a.patterns().columns

    def product(self) -> SparseProduct:
        """Result of the golden model."""
        return spgemm(self.config, self.a, self.kept, capacity=self.capacity)

    def addresses(self, what: str, numbers: Any, channels: Any) -> Any:
        """Returns the address of every byte of words: ``what`` of ``ARRAYS``, their numbers in
        their channels."""
        layout = self.config.layout
        size = PAIR_BYTES if what.endswith("pairs") else layout.entry_bytes
        offsets = np.asarray(numbers)[:, None] * size + np.arange(size)
        block, within = np.divmod(offsets, layout.interleave)
        flat = block * layout.channels + np.asarray(channels)[:, None]
        return (self.base[what] + flat * layout.interleave + within).reshape(-1)

    def pair_addresses(self, what: str, rows: Any) -> Any:
        """Returns the address of every byte of the pairs of some rows."""
        channels = self.config.channels
        return self.addresses(f"{what}_pairs", rows // channels, rows % channels)

    def row_addresses(self, what: str, matrix: C2sr, row: int) -> Any:
        """Returns the address of every byte of the entries of a row of A, B or C."""
        numbers = matrix.pointers[row] + np.arange(matrix.lengths[row])
        channel = np.full(len(numbers), row % self.config.channels)
        return self.addresses(f"{what}_entries", numbers, channel)

    def result_bytes(self, memory_bytes: int, c: C2sr | None) -> npt.NDArray[np.bool_]:
        """Marks the bytes of memory that a job may change: those of C, or if the job fails, the
        region reserved for C."""
        config, rows = self.config, np.arange(self.a.shape[0])
        inside = np.zeros(memory_bytes, np.bool_)
        inside[self.pair_addresses("c", rows)] = True
        if c is not None:
            for row in range(len(rows)):
                inside[self.row_addresses("c", c, row)] = True
            return inside
        numbers = np.arange(self.capacity * config.channel_lanes)
        for channel in range(config.channels):
            channels = np.full(len(numbers), channel)
            inside[self.addresses("c_entries", numbers, channels)] = True
        return inside


def random_matrix(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    shape: tuple[int, int],
    density: float,
    *,
    any_bits: bool = False,
) -> C2sr:
    """Rows of different lengths, some empty; numbers whose sums round, or any patterns."""
    rows = shape[0]
    kept = rng.random(shape) < density * rng.choice([0, 0.5, 1, 1.5], (rows, 1))
    if density >= 1:
        kept[:] = True
    r, c = np.nonzero(kept)
    if any_bits:
        starts = starts_of(np.bincount(r, minlength=rows).astype(np.int64))
        words = rng.integers(0, 1 << 64, len(r), dtype=np.uint64, endpoint=False)
        values = words >> np.uint64(64 - config.format.bits)
        return from_patterns(CsrPatterns(starts, c.astype(np.int64), values), shape, config.layout)
    if isinstance(config.format, IntFormat):
        data: npt.NDArray[Any] = rng.integers(-(2**31), 2**31, len(r))
    else:
        data = rng.standard_normal(len(r)) * 2.0 ** rng.integers(-4, 5, len(r))
    data[rng.random(len(data)) < 0.05] = 0
    return from_csr(sp.csr_array((data, (r, c)), shape=shape), config.layout)


def place_case(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    memory_bytes: int,
    a: C2sr,
    b: C2sr,
    *,
    capacity: int | None = None,
    gap: int = 4,
    csr: str = "",
) -> SparseCase:
    """Returns a case whose arrays are apart in memory, in any order; the capacity is by default the
    required one, or some blocks more. Raises ValueError if the memory is too small."""
    if capacity is None:
        capacity = least_capacity(config, spgemm(config, a, b).lengths)
        capacity += int(rng.integers(0, 3)) * config.layout.block_entries
    room = a.shape[0], capacity * config.channel_lanes
    base = place_arrays(rng, memory_bytes, a, b, room, gap=gap, csr=csr)
    return SparseCase(config=config, a=a, b=b, capacity=capacity, base=base, csr=csr)


def csr_sizes(matrix: C2sr) -> tuple[int, int]:
    """Bytes of a matrix in CSR in whole stripes: of its pointers, and of its entries."""
    stripe = matrix.layout.stripe_bytes
    sizes = 4 * (matrix.shape[0] + 1), (_FIRST + matrix.nnz) * matrix.layout.entry_bytes
    return -(-sizes[0] // stripe) * stripe, -(-sizes[1] // stripe) * stripe


_FIRST = 5
"""Entries before those of the first row, in a matrix in CSR with an odd number of rows: it may be a
part of another."""


def _operand_sizes(name: str, matrix: C2sr, csr: str) -> dict[str, int]:
    """Bytes of the arrays of an operand."""
    if name.upper() in csr:
        words = {"entries": 4, "values": matrix.layout.format.bits // 8}
        stripe, count = matrix.layout.stripe_bytes, _FIRST + matrix.nnz
        sizes = {what: -(-count * word // stripe) * stripe for what, word in words.items()}
        sizes["pairs"] = csr_sizes(matrix)[0]
    else:
        both = csr_sizes(matrix) if name in csr else image_sizes(matrix)
        sizes = dict(zip(("pairs", "entries"), both, strict=True))
    return {f"{name}_{what}": size for what, size in sizes.items()}


def split_blocks(matrix: C2sr, pointers: int, columns: int, values: int) -> tuple[Block, ...]:
    """A matrix in memory in CSR with columns and values apart, byte by byte."""
    first, size = csr_first(matrix), matrix.layout.format.bits // 8
    _, numbers, patterns = matrix.patterns()
    words = b"".join(number.to_bytes(4, "little") for number in numbers.tolist())
    others = b"".join(pattern.to_bytes(size, "little") for pattern in patterns.tolist())
    return (
        csr_blocks(matrix, pointers, 0)[0],
        Block(columns + 4 * first, np.frombuffer(words, np.uint8)),
        Block(values + size * first, np.frombuffer(others, np.uint8)),
    )


def csr_first(matrix: C2sr) -> int:
    """The pointer of the first row of a matrix in CSR."""
    return _FIRST * (matrix.shape[0] % 2)


def csr_blocks(matrix: C2sr, pointers: int, entries: int) -> tuple[Block, Block]:
    """A matrix in memory in CSR, byte by byte."""
    layout, first = matrix.layout, csr_first(matrix)
    starts, columns, values = matrix.patterns()
    content = b"".join((first + start).to_bytes(4, "little") for start in starts.tolist())
    value, column = layout.format.bits // 8, layout.index_bits // 8
    pad = bytes(layout.entry_bytes - value - column)
    words = b"".join(
        v.to_bytes(value, "little") + c.to_bytes(column, "little") + pad
        for v, c in zip(values.tolist(), columns.tolist(), strict=True)
    )
    at = entries + first * layout.entry_bytes
    return (
        Block(pointers, np.frombuffer(content, np.uint8)),
        Block(at, np.frombuffer(words, np.uint8)),
    )


def place_arrays(
    rng: np.random.Generator,
    memory_bytes: int,
    a: C2sr,
    b: C2sr,
    room: tuple[int, int],
    *,
    gap: int = 4,
    csr: str = "",
) -> dict[str, int]:
    """Returns the bases of arrays that are apart, in any order; ``room``: rows of C, and the
    capacity of each of its channels. Raises ValueError if the memory is too small."""
    layout = a.layout
    sizes = {
        **_operand_sizes("a", a, csr),
        **_operand_sizes("b", b, csr),
        "c_pairs": pairs_bytes(layout, room[0]),
        "c_entries": entries_bytes(layout, room[1]),
    }
    base, position = {}, 0
    for name in rng.permutation([*sizes]).tolist():
        base[name] = position + int(rng.integers(0, gap)) * layout.stripe_bytes
        position = base[name] + sizes[name]
    if position > memory_bytes:
        raise ValueError(f"the memory needs {position} bytes")
    return base


def random_case(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    memory_bytes: int,
    *,
    most: int = 24,
    density: float | None = None,
) -> SparseCase:
    """Draws a job that completes without error, of any shape up to ``most`` rows and columns."""
    while True:
        shape = [int(rng.choice([1, int(rng.integers(1, most + 1)), most])) for _ in range(3)]
        share = float(rng.choice([0.0, 0.05, 0.15, 0.4, 1.0])) if density is None else density
        any_bits = bool(rng.integers(2))
        a = random_matrix(rng, config, (shape[0], shape[1]), share, any_bits=any_bits)
        b = random_matrix(rng, config, (shape[1], shape[2]), share, any_bits=any_bits)
        if not len(spgemm(config, a, b).overflow):
            kinds = ["", "a", "b", "ab", "A", "B", "aB", "Ab", "AB", "AB"]
            csr = str(rng.choice(kinds)) if config.csr else ""
            case = place_case(rng, config, memory_bytes, a, b, csr=csr)
            return replace(case, column_range=random_columns(rng, config, shape[2]))


def random_columns(
    rng: np.random.Generator, config: MatRaptorConfig, count: int
) -> tuple[int, int]:
    """Draws a range of columns, first and last: that of a job without a range, one column, none,
    one that ends before it begins, all of them, from and up to edges of blocks, or any."""
    block = config.layout.block_entries
    low, high = np.sort(rng.integers(0, count, 2)).tolist()
    choices = [
        *[ALL] * 4,
        (low, low),
        (high + 1, high),
        (high + 1, low),
        (0, count - 1),
        (low // block * block, (high // block + 1) * block - 1),
        (low, ALL[1]),
        (low, high),
    ]
    return choices[int(rng.integers(len(choices)))]


def first_rows(config: MatRaptorConfig, rows: int, wrong: npt.NDArray[np.bool_]) -> list[int]:
    """Returns the first wrong row in the order of each lane."""
    found = []
    for lane in range(config.lanes):
        found += [
            place.i for place in walk(config.layout, config.lane_map, lane, rows) if wrong[place.i]
        ][:1]
    return found
