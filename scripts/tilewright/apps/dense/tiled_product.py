"""Matrix products of any size on a matrix unit: tiles in, tiles out, every operation checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...hw.emit.unit import Emitted, emit
from ...hw.spec.host.activity import Stopwatch
from ...hw.spec.matrix_unit import MatrixUnitConfig
from ...hw.spec.unit import Unit
from ...sim.rtl.streams import NativeSimulation, Rows, dense_words, field_array
from ...sim.units.any_unit import mixed_operations
from ..common.tally import Tally
from .tiles import Tiles, cut, elements_deep, joined, padded, to_lanes
from .unit_choice import Backend

__all__ = ["TiledProduct"]

Words = NDArray[np.uint64]
_CHUNK = 1 << 15
"""Operations between two looks at the progress bar; results of a chunk are checked together."""


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
        backend: Backend = "rtl",
        waves: Path | None = None,
    ) -> None:
        self._config = config
        self._operation = config.operations[operation]
        self._interval = config.initiation_interval[operation]
        self._simulation: NativeSimulation | None = None
        if backend == "rtl":
            self._simulation = NativeSimulation(_emitted(unit, config), waves=waves)
        self.tally = Tally()

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
