"""MatRaptor as software sees it: registers and a memory, jobs done in no time by the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...hw.spec.c2sr import PAIR_BYTES, C2srLayout
from ...hw.spec.jobs.matraptor import (
    ARRAYS,
    FORMAT_CODES,
    FORMATS,
    VALUE_ARRAYS,
    counters,
    job_spec,
    limits,
)
from ...hw.spec.matraptor import MatRaptorConfig
from ..device.model import ModelDevice
from ..sparse.c2sr import C2sr, CsrPatterns, from_patterns, run_indices, starts_of, to_csr
from ..sparse.csr_image import StoredCsr, stored_csr
from ..sparse.image import StoredRows, filled, image, sorted_rows, stored_rows, within
from ..sparse.memory_blocks import read_bytes
from ..timing.dram import FLAT, MemoryModel
from .cycles.cache_contents import contents, drop_blocks
from .cycles.outer import simulate_outer
from .cycles.plan import Places
from .cycles.rows import Cache, Cycles, simulate
from .cycles.traffic import bytes_read
from .result.outer import by_columns, outer_product, overflow_rows
from .result.rows import SparseProduct, spgemm

Bools = npt.NDArray[np.bool_]


def first_row(a: C2sr, found: Bools) -> int:
    """The row of the first entry that was found."""
    return int(np.searchsorted(a.patterns().starts, int(np.argmax(found)), side="right")) - 1


def needed(matrix: C2sr, used: Bools) -> C2sr:
    """Returns the matrix without the entries of unused rows, which no lane reads."""
    starts, columns, values = matrix.patterns()
    lengths = np.where(used, matrix.lengths, 0)
    where = run_indices(starts[:-1], lengths)
    rows = CsrPatterns(starts_of(lengths), columns[where], values[where])
    return from_patterns(rows, matrix.shape, matrix.layout, pointers=matrix.pointers)


def first_outside(lanes: int, t: C2sr, b: C2sr, rows: int, columns: int) -> int | None:
    """A row of T with an entry for a row of C that there is not, or that names a row of B with one
    for such a column."""
    which = np.repeat(np.arange(t.shape[0]), t.lengths)
    far = t.patterns().columns * lanes + which % lanes >= rows
    if far.any():
        return int(which[np.argmax(far)])
    wrong = np.repeat(np.arange(b.shape[0]), b.lengths)[b.patterns().columns >= columns]
    return first_about(lanes, t, int(wrong[0])) if len(wrong) else None


def first_about(lanes: int, t: C2sr, row_of_b: int) -> int:
    """The first row of T with entries that names a row of B."""
    first = row_of_b * lanes
    return first + int(np.argmax(t.lengths[first : first + lanes] > 0))


class MatRaptorModel(ModelDevice):
    """Behavioural model of MatRaptor. Its jobs leave the same bits in memory as the hardware's. The
    counters come from the cycle model; without one, those that do not depend on time are exact and
    the rest are zero.

    A job that fails leaves no part of C; of several things that are wrong with it the
    hardware may name another. Rows of B that ascend in the range of columns only are timed as if
    they were empty. Columns must ascend in every row of A, else ValueError: the hardware
    takes them as they come. Of outer products the bytes are counted in any case.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    channel: what each memory channel does, for the cycle model
    gigahertz: clock of the accelerator, for the cycle model

    Members
    -------
    memory: the memory, uint8
    cycles: what the cycle model found for each job that ended well, in order; may be cleared
    log: whether that has the requests to memory; may be set
    """

    cycles: list[Cycles]
    log: bool

    def __init__(
        self,
        config: MatRaptorConfig,
        memory_bytes: int = 1 << 22,
        *,
        channel: MemoryModel | None = None,
        gigahertz: float = 2.0,
    ) -> None:
        self.config: Final = config
        self._channel, self._gigahertz = channel, gigahertz
        self.cycles, self.log = [], False
        # The cache of B: its contents, the place of the last job's B, whether they are of no use,
        # and whether this job keeps them.
        self._cached = contents(config)
        self._last_b: tuple[int, ...] = ()
        self._spoiled, self._kept = True, False
        super().__init__(job_spec(config), memory_bytes)

    def _start(self) -> None:
        place = tuple(
            self._values.get(name, 0)
            for name in ("B_PAIRS", "B_ENTRIES", "B_VALUES", "B_ROWS", "B_FORMAT")
        )
        asked = self._values.get("KEEP", 0) == 1
        self._kept = asked and not self._spoiled and place == self._last_b
        super()._start()
        self._last_b = place
        stripe = self.config.geometry.stripe_bytes
        cached = ("B_PAIRS", "B_ENTRIES", "C_PAIRS", "C_ENTRIES")
        off = any(self._values[name] % stripe for name in cached)
        off |= self._values.get("B_VALUES", 0) % stripe > 0
        self._spoiled = off or self._map["STATUS"].get(self._values["STATUS"], "error") == 1

    def _soft_reset(self) -> None:
        self._spoiled = True

    def _cache(self) -> Cache:
        names = (*ARRAYS, *VALUE_ARRAYS)
        bases = tuple(self._values.get(name.upper(), 0) for name in names)
        return Cache(self._cached, self._kept, bases)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        if self._outer:
            return self._outer_job()
        rows, b_rows = self._values["ROWS"], self._values["B_ROWS"]
        try:
            left, right = self._stored("A", rows), self._stored("B", b_rows)
        except IndexError:
            return "bus_read", self.memory_bytes, {}
        if left.descending.any():
            return "pointers", int(np.argmax(left.descending)), {}
        a = self._matrix(left.rows, rows)
        b, unsorted = self._sorted(right.rows, b_rows)
        outside = a.patterns().columns >= b_rows
        if outside.any():
            return "index", first_row(a, outside), {}
        fallen = right.descending[a.patterns().columns]
        if fallen.any():
            return "pointers", first_row(a, fallen), {}
        broken = unsorted[a.patterns().columns]
        if broken.any():
            return "unsorted", first_row(a, broken), {}
        a = C2sr(layout=a.layout, shape=(rows, b_rows), lengths=a.lengths, pointers=a.pointers,
                 columns=a.columns, values=a.values)  # fmt: skip
        found = spgemm(self.config, a, b, capacity=self._values["CAPACITY"])
        for error, wrong in (("overflow", found.overflow), ("region", found.region)):
            if len(wrong):
                return error, int(wrong[0]), {}
        assert found.c is not None
        # Whole rows of B are read, whatever the range is.
        whole = b if self._columns is None else self._sorted(right.rows, b_rows, whole=True)[0]
        counts = self._counts(a, whole, found, Places(left.starts, right.starts, self._csr))
        self._store(found.c)
        return "none", 0, counts

    @property
    def _columns(self) -> tuple[int, int] | None:
        """Begin and end of the range of columns; None if the job has none."""
        first, end = self._values["FIRST_COLUMN"], self._values["END_COLUMN"]
        return None if self._outer or first == end == 0 else (first, end or 1 << 32)

    @property
    def _csr(self) -> str:
        """Which operands are in CSR, see ``Places``."""
        codes = {name[0]: self._values.get(name, 0) for name in FORMATS}
        apart = FORMAT_CODES["csr-arrays"]
        return "".join(x if code == apart else x.lower() for x, code in codes.items() if code)

    @property
    def _outer(self) -> bool:
        return self.config.outer_product and self._values["MODE"] == 1

    def _outer_job(self) -> tuple[str, int, dict[str, int]]:
        config = self.config
        rows, b_rows, columns = (self._values[name] for name in ("ROWS", "B_ROWS", "COLUMNS"))
        too_large = overflow_rows(config, rows, columns)
        if len(too_large):
            return "overflow", int(too_large[0]), {}
        try:
            t_rows = b_rows * config.lanes
            t = self._matrix(self._stored("A", t_rows).rows, t_rows)
            stored = self._stored("B", b_rows)
        except IndexError:
            return "bus_read", self.memory_bytes, {}
        b, unsorted = self._sorted(stored.rows, b_rows)
        # Lanes without rows of C have nothing to do.
        t = needed(t, np.arange(t.shape[0]) % config.lanes < rows)
        used = t.lengths.reshape(-1, config.lanes).sum(axis=1) > 0
        b = needed(b, used)
        outside = first_outside(config.lanes, t, b, rows, columns)
        if outside is not None:
            return "index", outside, {}
        broken = unsorted & used
        if broken.any():
            return "unsorted", first_about(config.lanes, t, int(np.argmax(broken))), {}
        t = replace(t, shape=(t.shape[0], -(-rows // config.lanes)))
        b = replace(b, shape=(b_rows, columns))
        found = outer_product(config, t, b, rows, capacity=self._values["CAPACITY"])
        if len(found.region):
            return "region", int(found.region[0]), {}
        assert found.c is not None
        counts = self._outer_counts(t, b, rows, found)
        self._store(found.c)
        return "none", 0, counts

    def _store(self, c: C2sr) -> None:
        """Write C; what lies in gaps between its rows stays as it is."""
        for block, mask in zip(image(c, **self._bases("C")), filled(c), strict=True):
            content = read_bytes(self.read_memory, block.address, len(block.data)).copy()
            content[mask] = block.data[mask]
            self.write_memory(block.address, content.tobytes())
            drop_blocks(self.config, self._cached, block.address, len(block.data))

    def _matrix(self, stored: StoredRows, rows: int) -> C2sr:
        shape = rows, limits(self.config)["ROWS"]
        return C2sr(layout=self.config.layout, shape=shape, **stored._asdict())

    def _stored(self, name: str, rows: int) -> StoredCsr:
        """The rows of an operand in memory, in either format."""
        layout, bases = self.config.layout, self._bases(name)
        if name in self._csr.upper():
            values = self._values[f"{name}_VALUES"] if name in self._csr else None
            return stored_csr(self.read_memory, layout, rows, **bases, values_base=values)
        shape = rows, limits(self.config)["ROWS"]
        found = stored_rows(self.read_memory, layout, shape, **bases)
        return StoredCsr(found, found.pointers, np.zeros(rows, np.bool_))

    def _sorted(
        self, stored: StoredRows, rows: int, *, whole: bool = False
    ) -> tuple[C2sr, npt.NDArray[np.bool_]]:
        """B in the job's range of columns, but for its rows whose columns do not ascend there, and
        which those are; or the ``whole`` rows."""
        layout, shape = self.config.layout, (rows, limits(self.config)["ROWS"])
        if self._columns is not None and not whole:
            stored = within(layout, stored, self._columns)
        return sorted_rows(layout, shape, stored)

    def _bases(self, name: str) -> dict[str, int]:
        return {
            "pairs_base": self._values[f"{name}_PAIRS"],
            "entries_base": self._values[f"{name}_ENTRIES"],
        }

    def _counts(self, a: C2sr, b: C2sr, found: SparseProduct, places: Places) -> dict[str, int]:
        if self._channel is None:
            return _untimed(found) | _bytes_written(found)
        right = to_csr(b)
        right.resize(b.shape[0], int(right.indices.max(initial=0)) + 1)
        timed = simulate(
            self.config,
            to_csr(a),
            right,
            memory=self._channel,
            gigahertz=self._gigahertz,
            places=places,
            cache=self._cache(),
            log=self.log,
            columns=self._columns,
        )
        self.cycles.append(timed)
        return _timed(self.config, timed)

    def _outer_counts(self, t: C2sr, b: C2sr, rows: int, found: SparseProduct) -> dict[str, int]:
        if self._channel is None:
            bytes_moved = bytes_read(self.config, t, b, rows) | _bytes_written(found)
            return _untimed(found) | bytes_moved
        timed = simulate_outer(
            self.config,
            t,
            b,
            rows,
            memory=self._channel,
            gigahertz=self._gigahertz,
            cache=self._cache(),
            log=self.log,
        )
        self.cycles.append(timed)
        return _timed(self.config, timed)


class TimedMatRaptor(MatRaptorModel):
    """The model of results, with all counters of the cycle model for jobs that end well.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    memory: each channel's
    gigahertz: clock of the accelerator
    """

    def __init__(
        self,
        config: MatRaptorConfig,
        memory_bytes: int = 1 << 22,
        *,
        memory: MemoryModel = FLAT,
        gigahertz: float = 2.0,
    ) -> None:
        super().__init__(config, memory_bytes, channel=memory, gigahertz=gigahertz)


def _timed(config: MatRaptorConfig, found: Cycles) -> dict[str, int]:
    """All counters."""
    return {name: getattr(found, name) for name in counters(config)}


def _untimed(found: SparseProduct) -> dict[str, int]:
    """Counters that do not depend on time."""
    statistics = found.statistics
    return {
        "operations": statistics.products,
        "results": statistics.results,
        "merge_steps": statistics.merge_steps,
        "lane_busy_max": int(statistics.lane_products.max()),
        "lane_busy_min": int(statistics.lane_products.min()),
    }


def _bytes_written(found: SparseProduct) -> dict[str, int]:
    assert found.c is not None
    pairs = found.c.shape[0] * PAIR_BYTES
    entries = found.c.nnz * found.c.layout.entry_bytes
    return {"bytes_c_pairs": pairs, "bytes_c_entries": entries, "bytes_written": pairs + entries}


Elements = Mapping[tuple[int, int], int]


def from_places(places: Elements, shape: tuple[int, int], layout: C2srLayout) -> C2sr:
    """The matrix in C2SR. Raises ValueError as :class:`C2sr`."""
    order = sorted(places)
    rows = np.array([row for row, _ in order], np.int64)
    starts = starts_of(np.bincount(rows, minlength=shape[0]).astype(np.int64))
    columns = np.array([column for _, column in order], np.int64)
    values = np.array([places[place] for place in order], np.uint64)
    return from_patterns(CsrPatterns(starts, columns, values), shape, layout)


def to_places(matrix: C2sr) -> dict[tuple[int, int], int]:
    """The reverse."""
    starts, columns, values = matrix.patterns()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(starts))
    places = zip(rows.tolist(), columns.tolist(), strict=True)
    return dict(zip(places, values.tolist(), strict=True))


def golden(
    config: MatRaptorConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job, which must fit the queues: a, b to c; see :class:`tilewright.registry.Entry`."""
    m, n, k = (sizes[name] for name in "MNK")
    a = from_places(operands["a"], (m, k), config.layout)
    b = from_places(operands["b"], (k, n), config.layout)
    if operation == "outer":
        found = outer_product(config, by_columns(config, a), b, m)
    else:
        found = spgemm(config, a, b)
    if found.c is None:
        raise ValueError(f"the product does not fit the queues: {found.overflow}")
    return {"c": to_places(found.c)}
