"""Sparse products on a MatRaptor: operands into its memory, jobs, results back, nothing lost.

The same program runs on the model, on the RTL in a simulator, and on anything else that is a
``SparseDevice``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import PAIR_BYTES
from ...hw.spec.host.words import not_one_of
from ...hw.spec.jobs.matraptor import job_spec, limits
from ...hw.spec.matraptor import MODES, MatRaptorConfig
from ..device.driver import JobDriver, check_type
from ..device.protocol import AcceleratorDevice
from ..sparse.c2sr import C2sr, CsrPatterns, from_patterns, starts_of
from ..sparse.csr_image import join_rows, no_entries, take_columns, take_rows
from ..sparse.image import entries_bytes, from_image, image, image_sizes, pairs_bytes
from ..sparse.memory_blocks import write_blocks
from .result.outer import by_columns


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """A division of C into tiles.

    Parameters
    ----------
    shape: shape of C
    rows, columns: shape of a tile; the last tiles may be smaller
    """

    shape: tuple[int, int]
    rows: int
    columns: int

    @property
    def count(self) -> int:
        """Number of tiles."""
        return -(-self.shape[0] // self.rows) * -(-self.shape[1] // self.columns)

    @property
    def row_ranges(self) -> list[tuple[int, int]]:
        """Returns the ranges of rows, start and end, of the rows of tiles."""
        return list(pairwise([*range(0, self.shape[0], self.rows), self.shape[0]]))

    @property
    def column_ranges(self) -> list[tuple[int, int]]:
        return list(pairwise([*range(0, self.shape[1], self.columns), self.shape[1]]))


def tiles_of(
    config: MatRaptorConfig, shape: tuple[int, int], inner: int, entries: tuple[int, int]
) -> Tiles:
    """Chooses the tiles that fit the chip and need the fewest bytes of reads, if every lane needs
    every row of B. Returns a single tile if C fits.

    Parameters
    ----------
    shape: shape of C, at least 1 x 1
    inner: columns of A, which are the rows of B
    entries: numbers of entries of A and of B
    """
    rows, columns = shape
    depth, lanes, entry = config.queue_depth, config.lanes, config.layout.entry_bytes
    widest = min(columns, depth)
    lines = np.arange(1, -(-widest // config.accumulator_banks) + 1)
    width = np.minimum(lines * config.accumulator_banks, widest)
    height = np.minimum(depth // lines * lanes, rows)
    across, down = -(-columns // width), -(-rows // height)
    pairs = inner * lanes * (PAIR_BYTES + config.beat_bytes)
    read = across * down * pairs + across * entries[0] * entry + down * lanes * entries[1] * entry
    best = int(np.argmin(read))
    return Tiles(shape=shape, rows=int(height[best]), columns=int(width[best]))


Ints = npt.NDArray[np.int64]

SparseDevice = AcceleratorDevice[MatRaptorConfig]
"""A MatRaptor with its memory."""


@dataclass(frozen=True, kw_only=True)
class SparseJob:
    """A completed job.

    Parameters
    ----------
    rows: number of rows of A and C
    columns: range of B's columns that it computed
    mode: "rows" or "outer"
    error: name of its error: "none", or "overflow" if the driver split it afterwards
    counts: its counters
    """

    rows: int
    columns: tuple[int, int]
    mode: str
    error: str
    counts: dict[str, int]


def most_entries(a: CsrPatterns, b: CsrPatterns, cols: int) -> Ints:
    """Returns for each row of A the most entries that its row of the product can have."""
    products = starts_of(np.diff(b.starts)[a.columns])
    return np.minimum(products[a.starts[1:]] - products[a.starts[:-1]], cols)


class SparseDriver(JobDriver[MatRaptorConfig]):
    """Multiplies sparse matrices on a MatRaptor.

    A product is one job if every row fits the queues. If one does not, the job ends with an
    overflow. The driver then computes the rows that cannot overflow in one job, and the others in
    two jobs, each with half of B's columns, and so on. Columns of a row do not depend on each
    other, so the result is complete. Only the order in which products of an element are added may
    differ from that of a larger queue.

    In the mode "outer" of a device with outer products, C is computed in tiles that fit the chip,
    one job each. Results do not depend on the tiles.

    Jobs of a product that read the same B one after the other find it where it is. With a cache of
    B they set KEEP.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: lowest address that the driver may use

    Members
    -------
    jobs: jobs of the last product in order

    Raises
    ------
    ValueError: the device's register ID is not that of a MatRaptor
    """

    jobs: list[SparseJob]

    def __init__(self, device: SparseDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.layout.stripe_bytes,
            addr_bits=config.addr_bits,
        )
        self.jobs = []
        self._laid: C2sr | None = None

    def multiply(self, a: C2sr, b: C2sr, *, mode: str = "rows") -> C2sr:
        """Computes ``C = A (x) B`` in the semiring of the device.

        The pointers of the result are those of the hardware if the product was one job, else
        without gaps.

        Parameters
        ----------
        a, b: matrices in the layout of the device
        mode: "rows" computes each row of C from the rows of B that it needs, "outer" uses outer
            products

        Raises
        ------
        TypeError: an operand that is not in C2SR
        ValueError: shapes or layouts that do not fit; a memory that is too small; a mode that the
            device does not have; more columns of A than the mode accepts
        JobError: the device reports an error other than an overflow
        """
        self._check(a, b, mode)
        self.jobs, self._laid = [], None
        shape = a.shape[0], b.shape[1]
        if not a.shape[0] or not b.shape[0]:
            return from_patterns(no_entries(shape[0]), shape, self.config.layout)
        if mode == "outer":
            return self._outer(a, b)
        whole = self._by_rows(a, b, (0, shape[1]))
        if whole is not None:
            return whole
        rows = self._split(a.patterns(), b.patterns(), a.shape[1], (0, shape[1]))
        return from_patterns(rows, shape, self.config.layout)

    def tiles(self, a: C2sr, b: C2sr) -> Tiles:
        """Returns the tiles of an outer product that is not empty; each is one job."""
        return tiles_of(self.config, (a.shape[0], b.shape[1]), a.shape[1], (a.nnz, b.nnz))

    def _check(self, a: C2sr, b: C2sr, mode: str) -> None:
        for name, matrix in (("a", a), ("b", b)):
            check_type(name, matrix, C2sr, "a matrix in C2SR, as `formats.to_c2sr` gives it")
            if matrix.layout != self.config.layout:
                expected = self.config.layout
                raise ValueError(f"`{name}` must be in layout {expected}, not {matrix.layout}")
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"`b` must have {a.shape[1]} rows, as many as `a` has columns, "
                             f"not {b.shape[0]}")  # fmt: skip
        if mode not in MODES:
            raise ValueError(not_one_of("`mode`", MODES, mode))
        if mode == "outer" and not self.config.outer_product:
            raise ValueError('`mode` must be "rows": the device has no `outer_product`')
        most = limits(self.config, outer=mode == "outer")["B_ROWS"]
        if b.shape[0] > most:
            raise ValueError(f"`b` must have at most {most} rows, not {b.shape[0]}")

    def _outer(self, a: C2sr, b: C2sr) -> C2sr:
        """Computes the product tile by tile, one job each."""
        layout, shape, inner = self.config.layout, (a.shape[0], b.shape[1]), a.shape[1]
        if not shape[1]:
            return from_patterns(no_entries(shape[0]), shape, layout)
        tiles = self.tiles(a, b)
        if tiles.count == 1:
            return self._tile(a, b, (0, shape[1]))
        left, right = a.patterns(), b.patterns()
        parts = []
        for low, high in tiles.column_ranges:
            few = take_columns(right, (low, high))
            moved = from_patterns(
                few._replace(columns=few.columns - low), (inner, high - low), layout
            )
            for first, last in tiles.row_ranges:
                numbers = np.arange(first, last)
                some = from_patterns(take_rows(left, numbers), (last - first, inner), layout)
                found = self._tile(some, moved, (low, high)).patterns()
                parts.append((numbers, found._replace(columns=found.columns + low)))
        return from_patterns(join_rows(shape[0], parts), shape, layout)

    def _tile(self, a: C2sr, b: C2sr, columns: tuple[int, int]) -> C2sr:
        """Computes a tile that fits the chip."""
        most = most_entries(a.patterns(), b.patterns(), b.shape[1])
        stored = by_columns(self.config, a)
        found = self._job(stored, b, most, columns, mode="outer")
        if found is None:
            raise RuntimeError("the device reports an overflow of a tile that fits its queues")
        return found

    def _product(
        self, a: CsrPatterns, b: CsrPatterns, inner: int, columns: tuple[int, int]
    ) -> CsrPatterns:
        """Returns the rows of the product in a range of B's columns."""
        layout = self.config.layout
        rows, cols = len(a.starts) - 1, columns[1]
        left = from_patterns(a, (rows, inner), layout)
        found = self._by_rows(left, from_patterns(b, (inner, cols), layout), columns)
        return self._split(a, b, inner, columns) if found is None else found.patterns()

    def _split(
        self, a: CsrPatterns, b: CsrPatterns, inner: int, columns: tuple[int, int]
    ) -> CsrPatterns:
        """Computes the same in several jobs: the rows that cannot overflow; the others by halves of
        columns."""
        low, high = columns
        heavy = most_entries(a, b, high - low) > self.config.queue_depth
        if not heavy.any():
            raise RuntimeError("the device reports an overflow of rows that fit its queues")
        parts = []
        if not heavy.all():
            light_rows = self._product(take_rows(a, ~heavy), b, inner, columns)
            parts.append((np.flatnonzero(~heavy), light_rows))
        middle = (low + high) // 2
        for part in ((low, middle), (middle, high)):
            few = take_columns(b, part)
            parts.append(
                (np.flatnonzero(heavy), self._product(take_rows(a, heavy), few, inner, part))
            )
        return join_rows(len(a.starts) - 1, parts)

    def _by_rows(self, a: C2sr, b: C2sr, columns: tuple[int, int]) -> C2sr | None:
        """Returns the product of one job; None if a queue overflowed."""
        most = most_entries(a.patterns(), b.patterns(), b.shape[1])
        return self._job(a, b, most, columns, mode="rows")

    def _job(
        self, a: C2sr, b: C2sr, most: Ints, columns: tuple[int, int], *, mode: str
    ) -> C2sr | None:
        """Runs one job; returns None if a queue overflowed.

        ``a`` is stored as the mode needs it; ``most`` is the largest number of entries of each row
        of C.
        """
        rows, layout = len(most), self.config.layout
        capacity = self._capacity(most)
        of_a = dict(zip(("a_pairs", "a_entries"), image_sizes(a), strict=True))
        of_b = dict(zip(("b_pairs", "b_entries"), image_sizes(b), strict=True))
        # With a cache B comes first, so that it stays where it is from job to job.
        keeps = self.config.cache_bytes > 0 and self._laid is b
        sizes = {
            **(of_b | of_a if self.config.cache_bytes else of_a | of_b),
            "c_pairs": pairs_bytes(layout, rows),
            "c_entries": entries_bytes(layout, capacity * self.config.channel_lanes),
        }
        base = self._memory.fit(sizes, "the operands and the result")
        for name, matrix in (("a", a), ("b", b)):
            if keeps and name == "b":
                continue
            blocks = image(
                matrix, pairs_base=base[f"{name}_pairs"], entries_base=base[f"{name}_entries"]
            )
            write_blocks(self._device.write_memory, blocks)
        job = {"rows": rows, "b_rows": b.shape[0], "capacity": capacity, **base}
        if self.config.cache_bytes:
            job["keep"] = int(keeps)
            self._laid = b
        if self.config.outer_product:
            job |= {"mode": int(mode == "outer"), "columns": b.shape[1]}
        status = self._registers.submit({name.upper(): value for name, value in job.items()})
        self.jobs.append(
            SparseJob(
                rows=rows, columns=columns, mode=mode, error=status.error, counts=status.counts
            )
        )
        status.check("overflow")
        if status.error == "overflow":
            return None
        return from_image(
            self._device.read_memory,
            layout,
            (rows, b.shape[1]),
            pairs_base=base["c_pairs"],
            entries_base=base["c_entries"],
            channel_entries=capacity * self.config.channel_lanes,
        )

    def _capacity(self, most: Ints) -> int:
        """Returns a number of entries that suffices for each lane in each of its channels."""
        groups = max(self.config.lanes, self.config.channels)
        sums = np.bincount(np.arange(len(most)) % groups, weights=most, minlength=groups)
        block = self.config.layout.block_entries
        capacity = max(1, -(-int(sums.max()) // block)) * block
        if capacity > limits(self.config)["CAPACITY"]:
            raise ValueError(
                f"the product may have {capacity} entries in a lane's channel; at most "
                f"{limits(self.config)['CAPACITY']} can be addressed"
            )
        return capacity
