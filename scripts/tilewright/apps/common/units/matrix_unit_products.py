"""Matrix products of any size on a matrix unit: tiles in, tiles out, every operation checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....hw.emit.unit import Emitted, emit
from ....hw.spec.host.activity import Stopwatch
from ....hw.spec.matrix_unit import MatrixUnitConfig, Operation
from ....hw.spec.unit import Unit
from ....sim.engine.driver import Counts
from ....sim.rtl.streams import NativeSimulation, Rows, dense_words, field_array
from ....sim.units.any_unit import mixed_operations
from ..session import Tally

if TYPE_CHECKING:
    from ....sim.engine.cycles.report import EngineCycles

__all__ = ["EngineTally", "MatrixTally", "TiledProduct", "operation_count"]

Words = NDArray[np.uint64]
_CHUNK = 1 << 15
"""Operations between two looks at the progress bar; results of a chunk are checked together."""


@dataclass(kw_only=True)
class MatrixTally(Tally):
    """Totals of the products so far.

    Parameters
    ----------
    operations: of the unit
    busy_cycles: sum of their initiation intervals, the fewest cycles they can take
    cycles: clock cycles; 0 on the model
    """

    operations: int = 0
    busy_cycles: int = 0
    cycles: int = 0

    @property
    def utilisation(self) -> float:
        """Share of cycles in which an operation could start and did."""
        return self.busy_cycles / self.cycles if self.cycles else 0.0


@dataclass(kw_only=True)
class EngineTally(MatrixTally):
    """Totals of the products on an engine: counters of all jobs, added.

    Parameters
    ----------
    stalls, bytes_read, bytes_written: counters
    jobs: that ran
    counters: compared with the cycle model
    bound_cycles, compute_cycles, memory_cycles: the sums of the jobs' bounds, and of what of them
        the unit and the memory need
    memory_bytes: that memory moved
    bytes_once: of the operands of all jobs, were each moved once a job
    peak: bytes a cycle that memory moves at most
    products: multiplications of an operation
    """

    stalls: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    jobs: int = 0
    counters: int = 0
    bound_cycles: float = 0.0
    compute_cycles: float = 0.0
    memory_cycles: float = 0.0
    memory_bytes: int = 0
    bytes_once: int = 0
    peak: float = 0.0
    products: int = 0

    def add(self, counts: Counts, times: int = 1) -> None:
        """Count a job that was run so many times."""
        self.jobs += times
        for item in fields(counts):
            value = getattr(self, item.name) + times * getattr(counts, item.name)
            setattr(self, item.name, value)

    def take(self, timed: EngineCycles, times: int = 1) -> None:
        """Take what the cycle model says of a job, beside its counters."""
        self.bound_cycles += times * timed.bound.cycles
        self.compute_cycles += times * timed.bound.compute_cycles
        self.memory_cycles += times * timed.bound.memory_cycles
        self.memory_bytes += times * timed.memory_bytes
        self.bytes_once += times * timed.bound.bytes_once
        self.peak, self.products = timed.peak, timed.products


@dataclass
class Tiles:
    """Operand tiles of a product, and where they lie in the sequence of operations.

    Operations run over the batch and the output tiles first and over the depth last: each reads
    the accumulators that the operation ``count`` places before it wrote.

    Parameters
    ----------
    a: operand lanes, (batch * down * deep, rows, depth), row by row of tiles
    b: operand lanes, (batch * deep * across, depth, cols), likewise
    batch, down, deep, across: matrices, and tiles along each side of them
    """

    a: NDArray[Any]
    b: NDArray[Any]
    batch: int
    down: int
    across: int
    deep: int
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = self.batch * self.down * self.across

    def indices(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of ``a`` and of ``b`` that operations first..last-1 read."""
        step, tile = np.divmod(np.arange(first, last, dtype=np.int64), self.count)
        rest, column = np.divmod(tile, self.across)
        batch, row = np.divmod(rest, self.down)
        a = (batch * self.down + row) * self.deep + step
        b = (batch * self.deep + step) * self.across + column
        return a, b


def elements_deep(config: MatrixUnitConfig, operation: Operation) -> int:
    """Depth of an operation in elements: columns of a, rows of b."""
    return config.depth // (operation.operand_bits // config.lane_bits)


def operation_count(
    config: MatrixUnitConfig, name: str, batch: int, shape: tuple[int, int, int]
) -> int:
    """Operations of a batch of products of shape (rows of a, depth, columns of b)."""
    deep = elements_deep(config, config.operations[name])
    counts = (-(-n // t) for n, t in zip(shape, (config.rows, deep, config.cols), strict=True))
    return batch * int(np.prod(list(counts), dtype=object))


def padded(array: Words, rows: int, cols: int, value: int) -> Words:
    """Matrices (batch, M, N) filled up with a pattern to multiples of rows and columns."""
    shape = (array.shape[0], -(-array.shape[1] // rows) * rows, -(-array.shape[2] // cols) * cols)
    full = np.full(shape, value, np.uint64)
    full[:, : array.shape[1], : array.shape[2]] = array
    return full


def cut(array: Words, rows: int, cols: int) -> Words:
    """(batch, M, N) cut into (batch * tiles, rows, cols), row by row of tiles."""
    batch, height, width = array.shape
    grid = array.reshape(batch, height // rows, rows, width // cols, cols)
    return np.ascontiguousarray(grid.transpose(0, 1, 3, 2, 4)).reshape(-1, rows, cols)


def joined(tiles: Words, batch: int, down: int, across: int) -> Words:
    """The reverse of `cut`."""
    rows, cols = tiles.shape[1:]
    grid = tiles.reshape(batch, down, across, rows, cols).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(grid).reshape(batch, down * rows, across * cols)


def to_lanes(words: Words, operand_bits: int, lane_bits: int, *, axis: int) -> NDArray[Any]:
    """Container words cut into neighbouring lanes along an axis, low lane first."""
    shifts = np.arange(operand_bits // lane_bits, dtype=np.uint64) * np.uint64(lane_bits)
    mask = np.uint64((1 << lane_bits) - 1)
    lanes = np.stack([words >> shift & mask for shift in shifts], axis=axis + 1)
    shape = list(words.shape)
    shape[axis] *= len(shifts)
    return lanes.reshape(shape).astype(f"u{lane_bits // 8}")


@lru_cache(maxsize=8)
def _emitted(unit: Unit, config: MatrixUnitConfig) -> Emitted:
    return emit(unit, config)


class TiledProduct:
    """A matrix unit, as RTL or as its model, that multiplies matrices of any size.

    Parameters
    ----------
    unit: a matrix unit
    config: its configuration
    operation: one of ``config.operations``
    backend: "rtl" simulates the generated Verilog and compares every result of every operation
        with the model, bit for bit; "model" computes with the model alone
    waves: VCD or FST file of the simulation

    Raises `ToolMissing` or `BuildError` when the RTL cannot be built.
    """

    def __init__(
        self,
        unit: Unit,
        config: MatrixUnitConfig,
        operation: str,
        *,
        backend: str = "rtl",
        waves: Path | None = None,
    ) -> None:
        self._config = config
        self._operation = config.operations[operation]
        self._interval = config.initiation_interval[operation]
        self._simulation: NativeSimulation | None = None
        if backend == "rtl":
            self._simulation = NativeSimulation(_emitted(unit, config), waves=waves)
        self.tally = MatrixTally()

    def multiply(
        self,
        a: Words,
        b: Words,
        c: Words | None = None,
        *,
        progress: Callable[[int], None] = lambda operations: None,
    ) -> Words:
        """``c (+) a (x) b`` on container words: (batch, M, K), (batch, K, N) to (batch, M, N).

        Without ``c`` it is the operation's neutral addend. ``progress`` is told how many
        operations were done since its last call. The tally adds up over calls. Raises ValueError
        if the depth must be padded and the format has no values for it.
        """
        config, operation = self._config, self._operation
        deep = elements_deep(config, operation)
        if operation.padding is None and a.shape[2] % deep:
            raise ValueError(
                f"the depth must be a multiple of {deep} for {operation.name}, not {a.shape[2]}"
            )
        left_padding, right_padding = operation.padding or (0, 0)
        left = padded(a, config.rows, deep, left_padding)
        right = padded(b, deep, config.cols, right_padding)
        bits = operation.operand_bits, config.lane_bits
        tiles = Tiles(
            to_lanes(cut(left, config.rows, deep), *bits, axis=2),
            to_lanes(cut(right, deep, config.cols), *bits, axis=1),
            batch=len(a),
            down=left.shape[1] // config.rows,
            across=right.shape[2] // config.cols,
            deep=left.shape[2] // deep,
        )
        neutral = operation.addend or 0
        start = np.full((len(a), a.shape[1], b.shape[2]), neutral, np.uint64) if c is None else c
        sums = cut(padded(start, config.rows, config.cols, neutral), config.rows, config.cols)
        engine = self._run_rtl if self._simulation else self._run_model
        total = joined(engine(tiles, sums, progress), tiles.batch, tiles.down, tiles.across)
        return total[:, : a.shape[1], : b.shape[2]]

    def close(self) -> None:
        """End the simulation, which completes the wave file."""
        if self._simulation:
            self._simulation.close()

    def _model(self, tiles: Tiles, first: int, last: int, c: Words) -> Words:
        a, b = tiles.indices(first, last)
        op = np.full(last - first, self._operation.opcode)
        d, _ = mixed_operations(self._config, op, tiles.a[a], tiles.b[b], c)
        return d

    def _run_model(self, tiles: Tiles, sums: Words, progress: Callable[[int], None]) -> Words:
        watch = Stopwatch()
        sums = sums.copy()
        for base in range(0, tiles.count * tiles.deep, tiles.count):
            for start in range(0, tiles.count, _CHUNK):
                stop = min(start + _CHUNK, tiles.count)
                done = self._model(tiles, base + start, base + stop, sums[start:stop])
                sums[start:stop] = done
                self._count(stop - start)
                progress(stop - start)
        self.tally.seconds += watch.seconds
        return sums

    def _count(self, operations: int) -> None:
        self.tally.operations += operations
        self.tally.busy_cycles += operations * self._interval

    def _run_rtl(self, tiles: Tiles, sums: Words, progress: Callable[[int], None]) -> Words:
        assert self._simulation
        fields = {f["name"]: f for f in self._simulation.stream("i")["fields"]}
        lane = np.dtype(f"u{self._config.accumulator_bits // 8}")
        c_field, total = fields["c"], tiles.count * tiles.deep
        a_rows, b_rows = dense_words(fields["a"], tiles.a), dense_words(fields["b"], tiles.b)
        op_row = np.array([[self._operation.opcode]], np.uint32)
        window = dense_words(c_field, sums.astype(lane))
        for first in range(0, total, _CHUNK):
            count = min(_CHUNK, total - first)
            a, b = tiles.indices(first, first + count)
            table = np.concatenate([window, np.zeros((count, window.shape[1]), np.uint32)])
            error = np.zeros((count, 1), np.uint32)
            places = np.arange(count, dtype=np.int64)
            inputs = {"op": Rows(op_row, np.zeros_like(places)), "a": Rows(a_rows, a)}
            inputs |= {"b": Rows(b_rows, b), "c": Rows(table, places)}
            watch = Stopwatch()
            self.tally.cycles += self._simulation.run_fields(
                inputs,
                {"d": Rows(table, places + tiles.count), "error": Rows(error)},
                count,
                after=places - tiles.count,
            )
            self.tally.seconds += watch.seconds
            self._count(count)
            lanes = field_array(c_field, table)
            self._check(tiles, first, lanes[:count], lanes[tiles.count :], error)
            window = table[count:]
            progress(count)
        return field_array(c_field, window).astype(np.uint64)

    def _check(
        self, tiles: Tiles, first: int, c: Words, d: Words, error: NDArray[np.uint32]
    ) -> None:
        expected = self._model(tiles, first, first + len(c), c)
        wrong = (d != expected) | (error != 0)[:, :, np.newaxis]
        self.tally.checked += d.size
        self.tally.mismatches += int(np.count_nonzero(wrong))
