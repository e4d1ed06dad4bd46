"""Sparse products on a MatRaptor: operands into its memory, jobs, results back, nothing lost.

The same program runs on the model, on the RTL in a simulator, and on anything else that is a
``SparseDevice``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..hw.spec.matraptor import MatRaptorConfig
from ..hw.spec.matraptor_registers import ARRAYS, COUNTERS, ERRORS, ID, limits, register_map
from .c2sr import C2sr, CsrPatterns, from_patterns, run_indices, starts_of
from .c2sr_image import entries_bytes, from_image, image, image_sizes, pairs_bytes
from .device import Accelerator
from .job_registers import JobRegisters

__all__ = ["SparseDevice", "SparseDriver", "SparseJob", "most_entries"]

Ints = npt.NDArray[np.int64]

_OF_A_ROW = ("index", "unsorted", "overflow", "region")


SparseDevice = Accelerator[MatRaptorConfig]
"""A MatRaptor with its memory."""


@dataclass(frozen=True, kw_only=True)
class SparseJob:
    """A job that ran.

    Parameters
    ----------
    rows: of A and C
    columns: range of B's columns that it was about
    error: a name of ERRORS: "none", or "overflow" if it was split afterwards
    counts: its counters
    """

    rows: int
    columns: tuple[int, int]
    error: str
    counts: dict[str, int]


def most_entries(a: CsrPatterns, b: CsrPatterns, cols: int) -> Ints:
    """For each row of A the most entries that its row of the product can have."""
    products = starts_of(np.diff(b.starts)[a.columns])
    return np.minimum(products[a.starts[1:]] - products[a.starts[:-1]], cols)


class SparseDriver:
    """Multiplies sparse matrices on a device.

    A product is one job if every row fits the queues. If one does not, the job ends with an
    overflow; then the rows that cannot overflow are computed in one job, the others in two, each
    with half of B's columns, and so on. Columns of a row never depend on each other, so that
    nothing is lost; only the order in which an element's products are added may differ from that of
    a larger queue.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: where the memory that the driver may use begins

    Members
    -------
    jobs: the jobs of the last product, in order

    Raises
    ------
    ValueError if the device's ID is not a MatRaptor's.
    """

    jobs: list[SparseJob]

    def __init__(self, device: SparseDevice, first_address: int = 0) -> None:
        self._device = device
        self._registers = JobRegisters(device, register_map(device.config), ID)
        self._first = first_address
        self.jobs = []

    @property
    def config(self) -> MatRaptorConfig:
        return self._device.config

    def multiply(self, a: C2sr, b: C2sr) -> C2sr:
        """``C = A (x) B`` in the semiring of the device.

        Pointers of the result are the hardware's if it was one job, else without gaps.

        Raises
        ------
        ValueError if shapes or layouts do not fit, or the memory is too small.
        JobError if the device reports an error other than an overflow.
        """
        for name, matrix in (("a", a), ("b", b)):
            if matrix.layout != self.config.layout:
                expected = self.config.layout
                raise ValueError(f"`{name}` must be in layout {expected}, not {matrix.layout}")
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"`b` must have {a.shape[1]} rows, as many as `a` has columns, "
                             f"not {b.shape[0]}")  # fmt: skip
        self.jobs = []
        shape = a.shape[0], b.shape[1]
        if not a.shape[0] or not b.shape[0]:
            empty = CsrPatterns(np.zeros(shape[0] + 1, np.int64), *_nothing())
            return from_patterns(empty, shape, self.config.layout)
        whole = self._job(a, b, (0, shape[1]))
        if whole is not None:
            return whole
        rows = self._split(a.patterns(), b.patterns(), a.shape[1], (0, shape[1]))
        return from_patterns(rows, shape, self.config.layout)

    def _product(
        self, a: CsrPatterns, b: CsrPatterns, inner: int, columns: tuple[int, int]
    ) -> CsrPatterns:
        """Rows of the product in a range of B's columns."""
        layout = self.config.layout
        rows, cols = len(a.starts) - 1, columns[1]
        left = from_patterns(a, (rows, inner), layout)
        found = self._job(left, from_patterns(b, (inner, cols), layout), columns)
        return self._split(a, b, inner, columns) if found is None else found.patterns()

    def _split(
        self, a: CsrPatterns, b: CsrPatterns, inner: int, columns: tuple[int, int]
    ) -> CsrPatterns:
        """The same in several jobs: rows that cannot overflow; the others, by halves of columns."""
        low, high = columns
        heavy = most_entries(a, b, high - low) > self.config.queue_depth
        if not heavy.any():
            raise RuntimeError("the device reports an overflow of rows that fit its queues")
        parts = []
        if not heavy.all():
            light_rows = self._product(_rows(a, ~heavy), b, inner, columns)
            parts.append((np.flatnonzero(~heavy), light_rows))
        middle = (low + high) // 2
        for part in ((low, middle), (middle, high)):
            few = _columns(b, part)
            parts.append((np.flatnonzero(heavy), self._product(_rows(a, heavy), few, inner, part)))
        return _joined(len(a.starts) - 1, parts)

    def _job(self, a: C2sr, b: C2sr, columns: tuple[int, int]) -> C2sr | None:
        """Run one job; None if a queue overflowed."""
        rows, layout = a.shape[0], self.config.layout
        capacity = self._capacity(a, b)
        sizes = {
            **dict(zip(("a_pairs", "a_entries"), image_sizes(a), strict=True)),
            **dict(zip(("b_pairs", "b_entries"), image_sizes(b), strict=True)),
            "c_pairs": pairs_bytes(layout, rows),
            "c_entries": entries_bytes(layout, capacity * self.config.channel_lanes),
        }
        base = self._place(sizes)
        for name, matrix in (("a", a), ("b", b)):
            blocks = image(
                matrix, pairs_base=base[f"{name}_pairs"], entries_base=base[f"{name}_entries"]
            )
            for block in blocks:
                self._device.write_memory(block.address, block.data.tobytes())
        job = {"rows": rows, "b_rows": b.shape[0], "capacity": capacity, **base}
        for name, value in job.items():
            self._registers.write(name.upper(), value)
        status = self._registers.run(tuple(COUNTERS), ERRORS)
        self.jobs.append(
            SparseJob(rows=rows, columns=columns, error=status.error, counts=status.counts)
        )
        if status.error == "overflow":
            return None
        if status.error != "none":
            raise status.failure("accelerator", _OF_A_ROW)
        return from_image(
            self._device.read_memory,
            layout,
            (rows, b.shape[1]),
            pairs_base=base["c_pairs"],
            entries_base=base["c_entries"],
            channel_entries=capacity * self.config.channel_lanes,
        )

    def _capacity(self, a: C2sr, b: C2sr) -> int:
        """Entries that suffice for any lane in any of its channels."""
        most = most_entries(a.patterns(), b.patterns(), b.shape[1])
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

    def _place(self, sizes: dict[str, int]) -> dict[str, int]:
        """Where each array goes."""
        stripe = self.config.layout.stripe_bytes
        address = -(-self._first // stripe) * stripe
        base = {}
        for name in ARRAYS:
            base[name] = address
            address += sizes[name]
        room = min(self._device.memory_bytes, 1 << self.config.addr_bits)
        if address > room:
            raise ValueError(
                f"the operands and the result need {address - self._first} bytes of memory; "
                f"{max(0, room - self._first)} are there"
            )
        return base


def _nothing() -> tuple[Ints, npt.NDArray[np.uint64]]:
    return np.zeros(0, np.int64), np.zeros(0, np.uint64)


def _rows(matrix: CsrPatterns, chosen: npt.NDArray[np.bool_]) -> CsrPatterns:
    """Some of the rows."""
    lengths = np.diff(matrix.starts)[chosen]
    where = run_indices(matrix.starts[:-1][chosen], lengths)
    return CsrPatterns(starts_of(lengths), matrix.columns[where], matrix.values[where])


def _columns(matrix: CsrPatterns, part: tuple[int, int]) -> CsrPatterns:
    """All rows, with the entries in a range of columns."""
    kept = (matrix.columns >= part[0]) & (matrix.columns < part[1])
    starts = starts_of(kept.astype(np.int64))[matrix.starts]
    return CsrPatterns(starts, matrix.columns[kept], matrix.values[kept])


def _joined(rows: int, parts: list[tuple[Ints, CsrPatterns]]) -> CsrPatterns:
    """Rows of parts, each with its rows' numbers; columns of later parts come behind."""
    lengths = np.zeros(rows, np.int64)
    for numbers, part in parts:
        lengths[numbers] += np.diff(part.starts)
    starts = starts_of(lengths)
    columns, values = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.uint64)
    next_free = starts[:-1].copy()
    for numbers, part in parts:
        counts = np.diff(part.starts)
        where = run_indices(next_free[numbers], counts)
        columns[where], values[where] = part.columns, part.values
        next_free[numbers] += counts
    return CsrPatterns(starts, columns, values)
