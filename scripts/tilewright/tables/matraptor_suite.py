"""The matrices of MatRaptor's paper, squared, and products of their upper left parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from ..errors import UserError, user_errors
from ..hw.spec.host.activity import note_config
from ..hw.spec.host.words import unknown
from ..hw.spec.matraptor import MATRAPTOR, MatRaptorConfig
from ..synth.tables import Row, Table, Tables

if TYPE_CHECKING:
    from ..sim.matraptor.cycles.rows import Cycles
    from ..sim.matraptor.splits import Part
    from ..sim.sparse.c2sr import CsrPatterns
    from ..sim.timing.dram import MemoryModel

__all__ = ["GIGAHERTZ", "TILE", "Suite", "matraptor_suite"]

GIGAHERTZ = 2.0
"""The paper's clock."""
TILE = 10_000
"""Rows and columns of the upper left parts, as in the paper."""
_GAMMA = {"p2p-Gnutella31": 82.0, "ca-CondMat": 263.0}
"""Published times of Gamma (Zhang et al., ASPLOS 2021) in microseconds: fp64, 32 elements at 1 GHz,
3 MiB on chip, 128 GB/s."""
_STRUCTURE = (
    "rows", "entries", "longest row", "products, M", "of the real one", "entries of C, M",
    "of the real one", "entries of A in the lanes, max/min",
)  # fmt: skip
_SQUARES = (
    "jobs", "of parts of B", "cycles", "us at 2 GHz", "ratio to the bound", "memory, GB/s",
    "multipliers, %", "conversion, %, estimated", "Gamma, us", "host, ms here", "SciPy, ms here",
    "GraphBLAS, ms here",
)  # fmt: skip


@dataclass
class Suite:
    """Runs of a product: each job's, and cycles of one that ended because a queue was full.

    Members
    -------
    jobs: that ended well, those that made parts of B too
    copies: of these, the ones that made parts of B
    lost: cycles of the one that did not
    attempts: all jobs
    planning: milliseconds in which the host chose the jobs
    """

    jobs: list[Cycles] = field(default_factory=list)
    copies: list[Cycles] = field(default_factory=list)
    lost: int = 0
    attempts: int = 0
    planning: float = 0.0

    @property
    def cycles(self) -> int:
        """Cycles of all jobs, the one that ended early too."""
        return sum(job.cycles for job in self.jobs) + self.lost

    @property
    def products(self) -> int:
        """Products of the matrices, without those that made parts of B."""
        return sum(j.operations for j in self.jobs) - sum(j.operations for j in self.copies)


def _measure(config: MatRaptorConfig, a: csr_array, b: csr_array, memory: MemoryModel) -> Suite:
    """The jobs of a product as the driver runs them."""
    from ..sim.matraptor.splits import parts_of, sure_rows
    from ..sim.sparse.c2sr import CsrPatterns

    found = Suite()
    left, right = (
        CsrPatterns(one.indptr.astype(np.int64), one.indices.astype(np.int64), one.data)
        for one in (a, b)
    )
    columns = 0, b.shape[1]
    started = perf_counter()
    sure, likely = sure_rows(config, left, right, columns)
    found.planning = 1000 * (perf_counter() - started)
    if likely and _simulate(found, config, a, b, memory):
        return found
    started = perf_counter()
    parts = parts_of(config, left, right, columns, sure, trial=not likely)
    found.planning += 1000 * (perf_counter() - started)
    _run_parts(found, config, left, right, parts, memory)
    return found


def _simulate(
    found: Suite, config: MatRaptorConfig, a: csr_array, b: csr_array, memory: MemoryModel,
    columns: tuple[int, int] | None = None,
) -> bool:  # fmt: skip
    """Adds a job; returns whether all rows fit the queues."""
    from ..sim.matraptor.cycles.rows import QueueOverflow, simulate

    found.attempts += 1
    try:
        done = simulate(config, a, b, memory=memory, gigahertz=GIGAHERTZ, columns=columns)
    except QueueOverflow as overflow:
        found.lost += overflow.cycles
        return False
    found.jobs.append(done)
    return True


def _run_parts(
    found: Suite, config: MatRaptorConfig, a: CsrPatterns, b: CsrPatterns, parts: list[Part],
    memory: MemoryModel,
) -> None:  # fmt: skip
    """A product in several jobs, those that make parts of B included."""
    from ..sim.sparse.csr_image import take_columns, take_rows

    width = max(part.columns[1] for part in parts)

    def matrix(entries: CsrPatterns, columns: int) -> csr_array:
        found = np.ones(len(entries.columns)), entries.columns, entries.starts
        return csr_array(found, (len(entries.starts) - 1, columns))

    inner = len(b.starts) - 1
    for part in parts:
        source, known = matrix(b, width), (0, width)
        if part.copied is not None:
            _simulate(found, config, matrix(part.copied, inner), source, memory, part.columns)
            found.copies.append(found.jobs[-1])
            source, known = matrix(take_columns(b, part.columns), width), part.columns
        for job in part.jobs:
            columns = None if job.columns == known else job.columns
            some = matrix(take_rows(a, job.rows), inner)
            if _simulate(found, config, some, source, memory, columns) and part.trial:
                return


def _warm_up(config: MatRaptorConfig) -> None:
    """Compiles what chooses jobs, so that its time is that of choosing."""
    from ..sim.matraptor.splits import parts_of
    from ..sim.sparse.c2sr import CsrPatterns

    eye = CsrPatterns(np.arange(3), np.arange(2), np.ones(2, np.uint64))
    parts_of(config, eye, eye, (0, 2), np.zeros(2, np.bool_))


def _upper_left(a: csr_array) -> csr_array:
    """The first rows and columns; smaller matrices get empty ones."""
    found = csr_array(a[:TILE, :TILE])
    found.resize((TILE, TILE))
    return found


def _imbalance(config: MatRaptorConfig, a: csr_array) -> float:
    """Entries of A in the fullest lane over those in the emptiest, as the paper has it."""
    lanes = np.bincount(np.arange(a.shape[0]) % config.lanes, np.diff(a.indptr), config.lanes)
    return float(lanes.max() / max(1, lanes.min()))


def _matrices(
    files: Sequence[Path], names: Iterable[str], most: int
) -> Iterator[tuple[str, csr_array, bool]]:
    """Name and matrix of each file, and of the suite without a file; whether it is generated."""

    from ..apps.common.matrix_files import read_matrix_file
    from ..sim.sparse.generated.suite import square_matrix

    def check(path: object, *shape: int) -> None:
        if len(shape) != 2 or shape[0] != shape[1] or not 1 <= shape[0] <= most:
            sizes = " x ".join(map(str, shape))
            raise UserError(f"{path}: must be square with 1 to {most:,} rows, not {sizes}")

    given = {}
    for path in files:
        matrix = csr_array(read_matrix_file(path, check))
        check(path, *matrix.shape)
        matrix.sum_duplicates()
        ones = np.ones(matrix.nnz)
        given[path.name.partition(".")[0]] = csr_array(
            (ones, matrix.indices, matrix.indptr), matrix.shape
        )
    for name in dict.fromkeys([*names, *given]):
        yield name, given[name] if name in given else square_matrix(name), name not in given


def _milliseconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return 1000 * (perf_counter() - started)


def _graphblas(a: csr_array) -> float | None:
    """Milliseconds of SuiteSparse:GraphBLAS for a square; None if it is not installed."""
    try:
        import graphblas as gb
    except ModuleNotFoundError:
        return None
    matrix = gb.io.from_scipy_sparse(a)
    return _milliseconds(lambda: matrix.mxm(matrix).new())


def _bound(config: MatRaptorConfig, a: csr_array, c: csr_array, memory: MemoryModel) -> float:
    """Cycles that the square ``c`` takes at least, were it one job."""
    from ..sim.matraptor.cycles.bound import bound, by_rows
    from ..sim.matraptor.cycles.plan import canonical, packed

    a = canonical(a)
    groups = max(config.lanes, config.channels)
    entries = np.bincount(np.arange(c.shape[0]) % groups, np.diff(c.indptr), groups)
    work = by_rows(config, a, a, packed(a, a, config.channels))
    return bound(config, work, entries.astype(np.int64), memory, GIGAHERTZ).cycles


def _conversion(config: MatRaptorConfig, a: csr_array, c: csr_array, memory: MemoryModel) -> int:
    """Estimated cycles of the converter for A from CSR and for the square to CSR."""
    from ..hw.spec.c2sr_converter import converter_like
    from ..sim.c2sr_converter.model import conversion_cycles

    converter = converter_like(config)
    ways = (("csr_to_c2sr", a), ("c2sr_to_csr", c))
    return sum(
        conversion_cycles(converter, way, np.diff(one.indptr), memory, GIGAHERTZ)
        for way, one in ways
    )


def _rows(
    name: str, a: csr_array, generated: bool, found: Suite, config: MatRaptorConfig,
    memory: MemoryModel,
) -> tuple[Row, Row]:  # fmt: skip
    from ..sim.sparse.generated.suite import SUITE

    squares: list[csr_array] = []
    scipy_ms = _milliseconds(lambda: squares.append(a @ a))
    cycles, entries, real = found.cycles, squares[0].nnz, SUITE.get(name)
    products = found.products
    moved = sum(sum(job.memory_read) + sum(job.memory_written) for job in found.jobs)
    label = f"{name}, generated" if generated else name
    structure: list[float | None] = [
        a.shape[0], a.nnz, int(np.diff(a.indptr).max()),
        products / 1e6, real.products / 1e6 if real else None,
        entries / 1e6, real.results / 1e6 if real else None, _imbalance(config, a),
    ]  # fmt: skip
    ours: list[float | None] = [
        found.attempts, len(found.copies), cycles, cycles / GIGAHERTZ / 1000,
        cycles / _bound(config, a, squares[0], memory),
        moved / (cycles / GIGAHERTZ), 100 * products / (config.lanes * cycles),
        100 * _conversion(config, a, squares[0], memory) / cycles,
        _GAMMA.get(name), found.planning, scipy_ms, _graphblas(a),
    ]  # fmt: skip
    return (
        Row(label, [None] * len(structure), structure, [0, 0, 0, 2, 2, 2, 2, 3]),
        Row(label, [None] * len(ours), ours, [0, 0, 0, 1, 3, 1, 1, 0, 0, 0, 0, 0]),
    )


def _tiles(config: MatRaptorConfig, parts: Mapping[str, csr_array], memory: MemoryModel) -> Table:
    """Each part of a matrix times that of each other one."""
    rows = []
    for left, a in parts.items():
        rates, ratios, products = [], [], 0
        for right, b in parts.items():
            if right == left or not (found := _measure(config, a, b, memory)).cycles:
                continue
            done = found.products
            products += done
            if done:
                rates.append(2 * done * GIGAHERTZ / found.cycles)
                ratios.append(found.cycles / sum(job.bound.cycles for job in found.jobs))
        mean = [exp(sum(map(log, each)) / len(each)) if each else None for each in (rates, ratios)]
        ours = [a.nnz, products / 1e6, mean[0], min(rates, default=None),
                max(rates, default=None), mean[1]]  # fmt: skip
        rows.append(Row(left, [None] * len(ours), ours, [0, 2, 2, 2, 2, 3]))
    columns = ["entries of A", "products, M", "GOP/s, mean", "least", "most", "ratio to the bound"]
    name = f"matraptor-suite, A x B, upper left parts of up to {TILE:,} rows, over all other B"
    return Table(name, "cycle model", columns, rows)


def matraptor_suite(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    only: str | None = None,
    settings: Sequence[str] | None = None,
    memory: MemoryModel | None = None,
) -> Tables:
    """Squares of the 14 matrices of the paper's Table 5.2 at full size, and products A x B of the
    upper left parts of 10,000 rows, on the cycle model at 2 GHz with HBM of 128 GB/s.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    files: matrices; one that is named as a matrix of the suite stands for it, the others are added
    only: names of matrices of the suite, separated by commas
    settings: parameters of MatRaptor, each NAME=VALUE
    memory: each channel's, HBM by default

    Raises UserError for another target, unknown names, and files that are not square matrices.
    """
    if target != "cmos":
        raise UserError(f"matraptor-suite is computed by a model: no --target, not {target!r}")
    from ..settings import read_config
    from ..sim.sparse.generated.suite import SUITE
    from ..sim.timing.dram import HBM

    names = only.split(",") if only else list(SUITE)
    for name in names:
        if name not in SUITE:
            raise UserError(unknown("matrix", name, SUITE, "tilewright table matraptor-suite"))
    config = read_config(MATRAPTOR, None, settings or ())
    assert isinstance(config, MatRaptorConfig)
    note_config("matraptor", config.resolved())
    used = memory or HBM
    rows, parts = [], {}
    _warm_up(config)
    with user_errors(ValueError):
        for name, matrix, generated in _matrices(files, names, 1 << config.index_bits):
            progress(f"{name}, squared")
            found = _measure(config, matrix, matrix, used)
            rows.append(_rows(name, matrix, generated, found, config, used))
            parts[name] = _upper_left(matrix)
        tables = [
            Table("matraptor-suite, matrices", "cycle model", _STRUCTURE, [r[0] for r in rows]),
            Table("matraptor-suite, A x A", "cycle model", _SQUARES, [r[1] for r in rows]),
        ]
        if len(parts) > 1:
            progress(f"{len(parts) * (len(parts) - 1)} products of parts")
            tables.append(_tiles(config, parts, used))
    return Tables("matraptor-suite", tables)
