"""Matrix products of any size on a matrix unit: tiles in, tiles out, every operation checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..hw.emit import emit
from ..hw.spec.m3xu import MatrixUnitConfig
from ..sim.m3xu import elements_deep, matrix_unit, pack_a, pack_b
from ..verif.native import NativeSimulation, Rows, dense_words, field_array
from .operands import left_padding, neutral_addend

__all__ = ["Backend", "Tally", "TiledProduct"]

Words = NDArray[np.uint64]
Backend = Literal["rtl", "model"]
_CHUNK = 1 << 15
"""Operations between two looks at the progress bar; results of a chunk are checked together."""


@dataclass
class Tally:
    """What the products so far took.

    Parameters
    ----------
    operations: of the unit
    busy_cycles: sum of their initiation intervals, the fewest cycles they can take
    cycles: clock cycles; 0 on the model
    seconds: of the wall clock spent in simulation
    checked, mismatches: elements of results compared with the model, and those that differ
    """

    operations: int = 0
    busy_cycles: int = 0
    cycles: int = 0
    seconds: float = 0.0
    checked: int = 0
    mismatches: int = 0

    @property
    def utilisation(self) -> float:
        """Share of cycles in which an operation could start and did."""
        return self.busy_cycles / self.cycles if self.cycles else 0.0


@dataclass
class _Tiles:
    """Operand tiles of a product, and where they lie in the sequence of operations.

    Operations run over the batch and the output tiles first and over the depth last: each reads
    the accumulators that the operation ``count`` places before it wrote.
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


def _padded(array: Words, rows: int, cols: int, value: int) -> Words:
    shape = (array.shape[0], -(-array.shape[1] // rows) * rows, -(-array.shape[2] // cols) * cols)
    full = np.full(shape, value, np.uint64)
    full[:, : array.shape[1], : array.shape[2]] = array
    return full


def _cut(array: Words, rows: int, cols: int) -> Words:
    """(batch, M, N) cut into (batch * tiles, rows, cols), row by row of tiles."""
    batch, height, width = array.shape
    grid = array.reshape(batch, height // rows, rows, width // cols, cols)
    return np.ascontiguousarray(grid.transpose(0, 1, 3, 2, 4)).reshape(-1, rows, cols)


def _joined(tiles: Words, batch: int, down: int, across: int) -> Words:
    """The reverse of `_cut`."""
    rows, cols = tiles.shape[1:]
    grid = tiles.reshape(batch, down, across, rows, cols).transpose(0, 1, 3, 2, 4)
    return np.ascontiguousarray(grid).reshape(batch, down * rows, across * cols)


class TiledProduct:
    """A matrix unit, as RTL or as its model, that multiplies matrices of any size.

    Parameters
    ----------
    unit: name in the catalogue
    config: its configuration
    mode: one of the configuration's modes
    backend: "rtl" simulates the generated Verilog and compares every result of every operation
        with the model, bit for bit; "model" computes with the model alone
    waves: VCD file of the simulation

    Raises `ToolMissing` or `BuildError` when the RTL cannot be built.
    """

    def __init__(
        self,
        unit: str,
        config: MatrixUnitConfig,
        mode: str,
        *,
        backend: Backend = "rtl",
        waves: Path | None = None,
    ) -> None:
        self._config, self._mode = config, mode
        self._interval: int = config.initiation_interval[mode]  # type: ignore[attr-defined]
        self._simulation: NativeSimulation | None = None
        if backend == "rtl":
            self._simulation = NativeSimulation(emit(unit, config), waves=waves)
        self.tally = Tally()

    @staticmethod
    def operations(
        config: MatrixUnitConfig, mode: str, batch: int, shape: tuple[int, int, int]
    ) -> int:
        """Operations of a batch of products of shape (rows of a, depth, columns of b)."""
        down, deep, across = shape
        tile = config.rows, elements_deep(config, mode), config.cols
        return batch * (-(-down // tile[0])) * (-(-deep // tile[1])) * (-(-across // tile[2]))

    def multiply(
        self,
        a: Words,
        b: Words,
        c: Words | None = None,
        *,
        progress: Callable[[int], None] = lambda operations: None,
    ) -> Words:
        """``a @ b + c`` on container words: (batch, M, K), (batch, K, N) to (batch, M, N).

        ``progress`` is told how many operations were done since its last call. The tally adds up
        over calls.
        """
        config, mode = self._config, self._mode
        deep = elements_deep(config, mode)
        left = _padded(a, config.rows, deep, left_padding(mode))
        right = _padded(b, deep, config.cols, 0)
        tiles = _Tiles(
            pack_a(config, mode, _cut(left, config.rows, deep)),
            pack_b(config, mode, _cut(right, deep, config.cols)),
            batch=len(a),
            down=left.shape[1] // config.rows,
            across=right.shape[2] // config.cols,
            deep=left.shape[2] // deep,
        )
        start = np.full((len(a), a.shape[1], b.shape[2]), neutral_addend(mode), np.uint64)
        addend = _padded(start if c is None else c, config.rows, config.cols, 0)
        sums = _cut(addend, config.rows, config.cols)
        engine = self._run_rtl if self._simulation else self._run_model
        total = _joined(engine(tiles, sums, progress), tiles.batch, tiles.down, tiles.across)
        return total[:, : a.shape[1], : b.shape[2]]

    def close(self) -> None:
        """End the simulation, which completes the wave file."""
        if self._simulation:
            self._simulation.close()

    def _model(self, tiles: _Tiles, first: int, last: int, c: Words) -> Words:
        a, b = tiles.indices(first, last)
        return matrix_unit(self._config, self._mode, tiles.a[a], tiles.b[b], c)

    def _run_model(self, tiles: _Tiles, sums: Words, progress: Callable[[int], None]) -> Words:
        begin = time.perf_counter()
        sums = sums.copy()
        for base in range(0, tiles.count * tiles.deep, tiles.count):
            for start in range(0, tiles.count, _CHUNK):
                stop = min(start + _CHUNK, tiles.count)
                done = self._model(tiles, base + start, base + stop, sums[start:stop])
                sums[start:stop] = done
                self._count(stop - start)
                progress(stop - start)
        self.tally.seconds += time.perf_counter() - begin
        return sums

    def _count(self, operations: int) -> None:
        self.tally.operations += operations
        self.tally.busy_cycles += operations * self._interval

    def _run_rtl(self, tiles: _Tiles, sums: Words, progress: Callable[[int], None]) -> Words:
        assert self._simulation
        fields = {f["name"]: f for f in self._simulation.stream("i")["fields"]}
        lane = np.dtype(f"u{self._config.accumulator_bits // 8}")
        c_field, total = fields["c"], tiles.count * tiles.deep
        a_rows, b_rows = dense_words(fields["a"], tiles.a), dense_words(fields["b"], tiles.b)
        opcode: int = self._config.opcodes[self._mode]  # type: ignore[attr-defined]
        op_row = np.array([[opcode]], np.uint32)
        window = dense_words(c_field, sums.astype(lane))
        for first in range(0, total, _CHUNK):
            count = min(_CHUNK, total - first)
            a, b = tiles.indices(first, first + count)
            table = np.concatenate([window, np.zeros((count, window.shape[1]), np.uint32)])
            error = np.zeros((count, 1), np.uint32)
            places = np.arange(count, dtype=np.int64)
            inputs = {"op": Rows(op_row, np.zeros_like(places)), "a": Rows(a_rows, a)}
            inputs |= {"b": Rows(b_rows, b), "c": Rows(table, places)}
            begin = time.perf_counter()
            self.tally.cycles += self._simulation.run_fields(
                inputs,
                {"d": Rows(table, places + tiles.count), "error": Rows(error)},
                count,
                after=places - tiles.count,
            )
            self.tally.seconds += time.perf_counter() - begin
            self._count(count)
            lanes = field_array(c_field, table)
            self._check(tiles, first, lanes[:count], lanes[tiles.count :], error)
            window = table[count:]
            progress(count)
        return field_array(c_field, window).astype(np.uint64)

    def _check(
        self, tiles: _Tiles, first: int, c: Words, d: Words, error: NDArray[np.uint32]
    ) -> None:
        expected = self._model(tiles, first, first + len(c), c)
        wrong = (d != expected) | (error != 0)[:, :, np.newaxis]
        self.tally.checked += d.size
        self.tally.mismatches += int(np.count_nonzero(wrong))
