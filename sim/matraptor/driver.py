"""Sparse products on a MatRaptor: operands into its memory, jobs, results back, nothing lost.

The same program runs on the model, on the RTL in a simulator, and on anything else that is a
``SparseDevice``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.host.words import not_one_of
from ...hw.spec.jobs.matraptor import FORMAT_CODES, VALUE_ARRAYS, job_spec, limits
from ...hw.spec.matraptor import MODES, MatRaptorConfig
from ..device.driver import JobDriver, check_type
from ..device.protocol import AcceleratorDevice
from ..sparse.c2sr import C2sr, CsrPatterns, from_patterns
from ..sparse.csr_image import (
    ARRAY_PARTS,
    blocks_in,
    join_rows,
    no_entries,
    sizes_in,
    take_columns,
    take_rows,
)
from ..sparse.image import entries_bytes, from_image, pairs_bytes
from ..sparse.memory_blocks import write_blocks
from .result.outer import Tiles, by_columns, tiles_of
from .splits import Part, check_columns, most_entries, parts_of, products_in, sure_rows

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
    copies: it made a part of B, for jobs after it
    """

    rows: int
    columns: tuple[int, int]
    mode: str
    error: str
    counts: dict[str, int]
    copies: bool = False


class _Task(NamedTuple):
    """A job before it runs: names of its operands and its result, rows, capacity, columns.

    ``whole``: B has no others; ``numbers``: of the rows in C, if the result is a part of it;
    ``trial``: it may overflow, and if it does not, no job after it is needed.
    """

    a: str
    b: str
    c: str
    rows: int
    capacity: int
    columns: tuple[int, int]
    numbers: Ints | None = None
    whole: bool = False
    trial: bool = False
    mode: str = "rows"


class SparseDriver(JobDriver[MatRaptorConfig]):
    """Multiplies sparse matrices on a MatRaptor.

    A product is one job if every row fits the queues, or is likely to. Otherwise, or if that job
    ends with an overflow, the driver computes the rows that cannot overflow in one job, and the
    others in another, if they fit, or in several, each in a range of B's columns
    (``sim/matraptor/splits.py``). B stays as it is; parts of it are made by the accelerator.
    Columns of a row do not depend on each other, so the result is complete. Only the order in which
    products of an element are added may differ from that of a larger queue.

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
        self._layout = "c2sr"

    def multiply(
        self,
        a: C2sr,
        b: C2sr,
        *,
        mode: str = "rows",
        columns: tuple[int, int] | None = None,
        layout: str = "c2sr",
    ) -> C2sr:
        """Computes ``C = A (x) B`` in the semiring of the device.

        The pointers of the result are those of the hardware if the product was one job, else
        without gaps.

        Parameters
        ----------
        a, b: matrices in the layout of the device
        mode: "rows" computes each row of C from the rows of B that it needs, "outer" uses outer
            products
        columns: first column of B and C to compute and the one after the last, by rows; C has no
            entries in the others. None: all
        layout: format of A and B in the device's memory, "c2sr", "csr" or "csr-arrays", which has
            columns and values apart; C is in C2SR

        Raises
        ------
        TypeError: an operand that is not in C2SR; columns that are not two integers
        ValueError: shapes or layouts that do not fit; a memory that is too small; a mode or a
            layout that the device does not have; more columns of A than the mode accepts; columns
            that B does not have, or with outer products
        JobError: the device reports an error other than an overflow
        """
        self._check(a, b, mode)
        if layout not in FORMAT_CODES:
            raise ValueError(not_one_of("`layout`", FORMAT_CODES, layout))
        self._layout = layout
        if layout != "c2sr" and not self.config.csr:
            raise ValueError('`layout` must be "c2sr": the device has no `csr`')
        if columns is not None:
            check_columns(columns, b.shape[1], mode)
        self.jobs, self._laid = [], None
        shape = a.shape[0], b.shape[1]
        if not a.shape[0] or not b.shape[0]:
            return from_patterns(no_entries(shape[0]), shape, self.config.layout)
        if mode == "outer":
            return self._outer(a, b)
        return self._by_rows(a, b, columns or (0, shape[1]))

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

    def _by_rows(self, a: C2sr, b: C2sr, columns: tuple[int, int]) -> C2sr:
        """Computes a range of columns of the product in as many jobs as it takes."""
        left, right = a.patterns(), b.patterns()
        sure, likely = sure_rows(self.config, left, right, columns)
        if likely:
            found = self._job(a, b, products_in(left, right, columns), columns, mode="rows")
            if found is not None:
                return found
            if sure.all():
                raise RuntimeError("the device reports an overflow of rows that fit its queues")
        parts = parts_of(self.config, left, right, columns, sure, trial=not likely)
        return self._split(a, b, parts)

    def _split(self, a: C2sr, b: C2sr, parts: list[Part]) -> C2sr:
        """Computes the same by the jobs of ``parts``. All arrays get their places at once."""
        layout, left, right = self.config.layout, a.patterns(), b.patterns()
        matrices = {"b": b}
        for job in (job for part in parts for job in part.jobs):
            some = take_rows(left, job.rows)
            shape = len(job.rows), a.shape[1]
            matrices.setdefault(f"a{id(job.rows)}", from_patterns(some, shape, layout))
        for ones in (part.copied for part in parts):
            if ones is not None:
                matrices["ones"] = from_patterns(ones, (b.shape[0], b.shape[0]), layout)
        tasks = list(self._tasks(matrices, right, parts))
        sizes: dict[str, int] = {}
        for name, matrix in matrices.items():
            sizes |= self._sizes(name, matrix)
        for task in tasks:
            room = self._room(task.rows, task.capacity)
            for name, size in room.items():
                sizes[f"{task.c}_{name}"] = max(size, sizes.get(f"{task.c}_{name}", 0))
        base = self._memory.fit(sizes, "the operands and the result")
        for name, matrix in matrices.items():
            self._write(matrix, name, base)
        self._laid, last, found = None, "", []
        for task in tasks:
            places = {
                f"{operand}_{what}": base[f"{name}_{what}"]
                for operand, name in (("a", task.a), ("b", task.b), ("c", task.c))
                for what in ARRAY_PARTS
                if f"{name}_{what}" in base
            }
            ended = self._run(task, places, b.shape, keep=task.b == last)
            if not (ended or task.trial):
                raise RuntimeError("the device reports an overflow of rows that fit its queues")
            last = task.b if ended else ""
            if ended and task.numbers is not None:
                c = self._result(task, places, b.shape[1])
                found.append((task.numbers, c.patterns()))
            if ended and task.trial:
                break
        return from_patterns(join_rows(a.shape[0], found), (a.shape[0], b.shape[1]), layout)

    def _tasks(
        self, matrices: dict[str, C2sr], b: CsrPatterns, parts: list[Part]
    ) -> Iterator[_Task]:
        """The jobs in order, with the names of their operands and results."""
        for part in parts:
            source = "b"
            if part.copied is not None:
                most = products_in(part.copied, b, part.columns)
                yield _Task("ones", source, "part", len(most), self._capacity(most), part.columns)
                source = "part"
            for job in part.jobs:
                name = f"a{id(job.rows)}"
                most = products_in(matrices[name].patterns(), b, job.columns)
                whole = source == "part" and job.columns == part.columns
                yield _Task(
                    name, source, "c", len(most), self._capacity(most), job.columns,
                    numbers=job.rows, whole=whole, trial=part.trial,
                )  # fmt: skip

    def _job(
        self, a: C2sr, b: C2sr, most: Ints, columns: tuple[int, int], *, mode: str
    ) -> C2sr | None:
        """Runs one job; returns None if a queue overflowed.

        ``a`` is stored as the mode needs it; ``most`` is the largest number of entries of each row
        of C.
        """
        task = _Task("a", "b", "c", len(most), self._capacity(most), columns, mode=mode)
        of_a, of_b = self._sizes("a", a), self._sizes("b", b)
        # With a cache B comes first, so that it stays where it is from job to job.
        keeps = self.config.cache_bytes > 0 and self._laid is b
        room = self._room(task.rows, task.capacity)
        sizes = {
            **(of_b | of_a if self.config.cache_bytes else of_a | of_b),
            **{f"c_{what}": size for what, size in room.items()},
        }
        base = self._memory.fit(sizes, "the operands and the result")
        for name, matrix in (("a", a), ("b", b)):
            if not (keeps and name == "b"):
                self._write(matrix, name, base)
        self._laid = b
        if not self._run(task, base, b.shape, keep=keeps):
            return None
        return self._result(task, base, b.shape[1])

    def _room(self, rows: int, capacity: int) -> dict[str, int]:
        """Bytes of the pairs and of the entries of a result."""
        layout = self.config.layout
        entries = entries_bytes(layout, capacity * self.config.channel_lanes)
        return {"pairs": pairs_bytes(layout, rows), "entries": entries}

    def _sizes(self, name: str, matrix: C2sr) -> dict[str, int]:
        """Bytes of the arrays of an operand."""
        sizes = sizes_in(matrix, self._layout)
        return {f"{name}_{part}": size for part, size in zip(ARRAY_PARTS, sizes, strict=False)}

    def _write(self, matrix: C2sr, name: str, base: dict[str, int]) -> None:
        places = [base[f"{name}_{part}"] for part in ARRAY_PARTS if f"{name}_{part}" in base]
        write_blocks(self._device.write_memory, blocks_in(matrix, self._layout, places))

    def _run(
        self, task: _Task, base: dict[str, int], shape: tuple[int, int], *, keep: bool
    ) -> bool:
        """Runs a job with a B of this shape; returns False if a queue overflowed."""
        low, high = task.columns
        whole = task.whole or (low, high) == (0, shape[1]) or task.mode == "outer"
        job = {"rows": task.rows, "b_rows": shape[0], "capacity": task.capacity, **base}
        job["first_column"] = 0 if whole else low
        job["end_column"] = 0 if whole else high
        if self.config.cache_bytes:
            job["keep"] = int(keep)
        if self.config.outer_product:
            job |= {"mode": int(task.mode == "outer"), "columns": shape[1]}
        if self.config.csr:
            # Parts of B are results, in C2SR.
            code = FORMAT_CODES[self._layout]
            job |= {"a_format": code, "b_format": 0 if task.b == "part" else code}
            job |= {name: base.get(name, 0) for name in VALUE_ARRAYS}
        status = self._registers.submit({name.upper(): value for name, value in job.items()})
        self.jobs.append(
            SparseJob(
                rows=task.rows,
                columns=task.columns,
                mode=task.mode,
                error=status.error,
                counts=status.counts,
                copies=task.c == "part",
            )
        )
        status.check("overflow")
        return status.error != "overflow"

    def _result(self, task: _Task, base: dict[str, int], columns: int) -> C2sr:
        return from_image(
            self._device.read_memory,
            self.config.layout,
            (task.rows, columns),
            pairs_base=base["c_pairs"],
            entries_base=base["c_entries"],
            channel_entries=task.capacity * self.config.channel_lanes,
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
