"""The cost of a p-GEMM that is cut into blocks, one command each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import Any

from ....hw.spec.gta import (
    COLS,
    LEFT_WORD_BYTES,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
    result_bytes,
)
from ..array_cycles import PIPELINE, Pipeline, chain_cycles
from ..array_job import ArrayJob


@dataclass(frozen=True, kw_only=True)
class Accesses:
    """Elements that the array reads and writes in the memories of lanes, as SCALE-Sim counts its
    accesses to SRAM: each once a fold that takes it in, whatever its limbs.

    Parameters
    ----------
    a, b: of A and B, read
    sums_read, sums_written: of results, C and partial sums among them; of sums of segments that
        are added up also the ones by which they are multiplied
    """

    a: int = 0
    b: int = 0
    sums_read: int = 0
    sums_written: int = 0

    @property
    def total(self) -> int:
        return self.a + self.b + self.sums_read + self.sums_written

    def __add__(self, other: Accesses) -> Accesses:
        return Accesses(**{f.name: _both(self, other, f.name) for f in fields(self)})

    def times(self, count: int) -> Accesses:
        """Returns the accesses multiplied by a count."""
        return Accesses(**{f.name: count * getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Moved:
    """Bytes between memory and chip, of the elements alone.

    Parameters
    ----------
    a, b: of A and B, read
    sums_read, sums_written: of C and D, and of sums of segments that are added later, with the
        ones by which they are multiplied
    """

    a: int = 0
    b: int = 0
    sums_read: int = 0
    sums_written: int = 0

    @property
    def read(self) -> int:
        return self.a + self.b + self.sums_read

    @property
    def total(self) -> int:
        return self.read + self.sums_written

    def __add__(self, other: Moved) -> Moved:
        return Moved(**{f.name: _both(self, other, f.name) for f in fields(self)})

    def times(self, count: int) -> Moved:
        """Returns the traffic multiplied by a count."""
        return Moved(**{f.name: count * getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The total cost.

    Parameters
    ----------
    cycles: of the array, of a chain of commands whose operands are on chip in time
    port_cycles: of the busier memory port, at a beat a cycle
    commands: of p-GEMM
    accesses, moved: see there
    """

    cycles: int = 0
    port_cycles: int = 0
    commands: int = 0
    accesses: Accesses = Accesses()
    moved: Moved = Moved()

    @property
    def time(self) -> int:
        """Cycles that no run of the same commands is faster than: the array's, or the memory
        port's."""
        return max(self.cycles, self.port_cycles)

    def __add__(self, other: Cost) -> Cost:
        """One after the other."""
        return Cost(**{f.name: _both(self, other, f.name) for f in fields(self)})


def _both(one: object, other: object, name: str) -> Any:
    return getattr(one, name) + getattr(other, name)


@dataclass(frozen=True, kw_only=True)
class PGemm:
    """D = A B (+ C) of M x K and K x N elements of one format.

    Parameters
    ----------
    m, n, k: sizes, from 1
    format: of A and B; ValueError names the known ones
    accumulate: whether there is a C
    """

    m: int
    n: int
    k: int
    format: str
    accumulate: bool = False

    def __post_init__(self) -> None:
        for name in ("m", "n", "k"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"`{name}` must be an integer, not {value!r}")
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1, not {value}")
        limbs(self.format)

    @property
    def products(self) -> int:
        """Multiplications of whole elements."""
        return self.m * self.n * self.k

    @property
    def limb_products(self) -> int:
        """Multiplications of limbs: cycles of one element of the array, all in all."""
        return self.products * limbs(self.format) ** 2

    @property
    def element_bytes(self) -> int:
        """Bytes of an element of A or B."""
        return element_bytes(self.format)

    @property
    def result_bytes(self) -> int:
        """Bytes of an element of C or D."""
        return result_bytes(self.format)


Block = tuple[int, int, int]
"""M, N and K of what a command computes."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """Words of the fullest bank, of A, B and D; of inputs stationary, of B, A and D."""

    left: int
    top: int
    result: int

    def fits(self, config: GtaConfig, share: int) -> bool:
        """Returns whether a block needs at most one ``share``-th of every bank."""
        edge = config.edge_bytes // LEFT_WORD_BYTES // share
        result = config.bank_bytes // RESULT_WORD_BYTES // share
        return max(self.left, self.top) <= edge and self.result <= result


def _words(size: int, word: int = LEFT_WORD_BYTES) -> int:
    return -(-size // word)


def needed(problem: PGemm, dataflow: str, array: tuple[int, int], size: Block) -> Needed:
    """Returns the words that a block of ``size`` M x N x K needs on an array of rows and columns.

    What a row, or a column of folds, begins with is a word; weights of row folds follow each
    other, and so do results.
    """
    rows, cols = array
    m, n, k = size
    length, each, result = limbs(problem.format), problem.element_bytes, problem.result_bytes
    if dataflow == "ws":
        down, across = -(-k // rows), -(-n * length // cols)
        return Needed(
            left=down * _words(m * each),
            top=across * _words(down * rows),
            result=across * _words(-(-m // length) * result, RESULT_WORD_BYTES),
        )
    if is_float(problem.format):
        down, across = -(-m // rows), -(-n // cols)
        string, stream = down * ROWS * result, _words(k * each)
    else:
        down, across = -(-m * length // rows), -(-n * length // cols)
        # A group of L columns has L banks for its R / L results a fold.
        string, stream = -(-down * rows // length**2) * result, _words(k)
    return Needed(
        left=down * stream, top=across * stream, result=across * _words(string, RESULT_WORD_BYTES)
    )


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The region and the dataflow of a p-GEMM; a stationary operand is B.

    Parameters
    ----------
    config: of the accelerator
    dataflow: ws or os
    rows, cols: lanes of the region
    lateral: whether blocks go along rows of D first
    pipeline: of the hardware
    """

    config: GtaConfig
    dataflow: str
    rows: int
    cols: int
    lateral: bool
    pipeline: Pipeline = PIPELINE

    @property
    def array(self) -> tuple[int, int]:
        """Rows and columns of elements."""
        return ROWS * self.rows, COLS * self.cols


def port_cycles(config: GtaConfig, moved: Moved) -> int:
    """Beats of the busier manager: one reads and one writes if there are two."""
    beat = config.data_bits // 8
    parts = (moved.read, moved.sums_written) if config.managers == 2 else (moved.total,)
    return max(-(-part // beat) for part in parts)


def block_cost(placed: Placed, problem: PGemm, block: Block) -> Cost:
    """Returns the cost of a chain of blocks of this size, smaller at the ends; sums stay on chip
    until they are complete."""
    sizes = (problem.m, problem.n, problem.k)
    m, n, k = (_parts(size, each) for size, each in zip(sizes, block, strict=True))
    jobs = []
    accesses = Accesses()
    for (count_m, m_), (count_n, n_), (count_k, k_) in product(m, n, k):
        count = count_m * count_n * count_k
        job = ArrayJob(
            m=m_,
            n=n_,
            k=k_,
            format=problem.format,
            dataflow=placed.dataflow,
            rows=placed.rows,
            cols=placed.cols,
        )
        jobs.append((count, job))
        accesses += accesses_of(placed, job).times(count)
    blocks = tuple(sum(count for count, _ in parts) for parts in (m, n, k))
    # All K blocks but the first add to sums, and the first if there is a C.
    added = problem.m * problem.n * (blocks[2] - (not problem.accumulate))
    accesses += Accesses(sums_read=added)
    moved = _moved(placed, problem, blocks)
    return Cost(
        cycles=chain_cycles(placed.config, jobs, placed.pipeline),
        port_cycles=port_cycles(placed.config, moved),
        commands=sum(count for count, _ in jobs),
        accesses=accesses,
        moved=moved,
    )


def _parts(size: int, each: int) -> list[tuple[int, int]]:
    """Returns the full parts and the remaining one, as pairs of count and size."""
    full, rest = divmod(size, each)
    return [(count, part) for count, part in ((full, each), (1, rest)) if count and part]


def accesses_of(placed: Placed, job: ArrayJob) -> Accesses:
    """Returns the accesses of a command, without reads of the initial sums."""
    results = job.m * job.n
    down, across, _ = job.extent(placed.config)
    rows, cols = placed.array
    row_folds, col_folds = -(-down // rows), -(-across // cols)
    if placed.dataflow == "ws":
        return Accesses(
            a=job.m * job.k * col_folds,
            b=job.k * job.n,
            sums_read=results * (row_folds - 1),
            sums_written=results * row_folds,
        )
    return Accesses(a=job.m * job.k * col_folds, b=job.k * job.n * row_folds, sums_written=results)


def _moved(placed: Placed, problem: PGemm, blocks: tuple[int, ...]) -> Moved:
    """Blocks of sums follow each other along one side of D; a block of A or B stays if the next
    block of sums takes it, too."""
    lateral, (along_m, along_n, along_k) = placed.lateral, blocks
    once_a = along_n == 1 or (along_k == 1 and (lateral or along_m == 1))
    once_b = along_m == 1 or (along_k == 1 and (not lateral or along_n == 1))
    each, result = problem.element_bytes, problem.result_bytes
    results = problem.m * problem.n * result
    times_a, times_b = (1 if once_a else along_n), (1 if once_b else along_m)
    return Moved(
        a=problem.m * problem.k * each * times_a,
        b=problem.k * problem.n * each * times_b,
        sums_read=results if problem.accumulate else 0,
        sums_written=results,
    )
