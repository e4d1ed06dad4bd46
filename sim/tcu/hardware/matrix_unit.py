"""A matrix unit alone as a backend: a call is an operation for every s rows of its left operand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from ....hw.spec.matrix_unit import MatrixUnitConfig, Operation
from ...rtl.streams import NativeSimulation, Rows, dense_words, field_array
from ...units.any_unit import cut_into_lanes, mixed_operations
from ..words import Array, Words
from .held_words import (
    USUAL,
    HardwareTally,
    Held,
    UnitKind,
    check_operands,
    patterns,
    results,
)

__all__ = ["SIDES", "MatrixUnitBackend"]

Patterns = npt.NDArray[np.uint64]

SIDES = (4, 8, 16)
_PRODUCTS = 1 << 20
"""Products of the model at a time, to bound the memory taken."""


class MatrixUnitBackend:
    """A unit of s x s results, s products each, built for the words that it is given.

    Rows are filled up to a multiple of s with zeros of the words. The unit's port takes both
    operands with every operation: the block of B is sent again for every s rows, which costs words
    on the port and no cycles. A call ends with its last result; then the next may begin.

    Parameters
    ----------
    kind: the unit
    side: s, one of ``SIDES``
    configure: the unit's configuration for words as they are held; by default its kind's settings
        and :data:`USUAL` ones
    simulate: from a configuration to its Verilog under simulation, which then gives results and
        cycles; both are compared with the model's, and counted

    Raises ValueError for another side.
    """

    def __init__(
        self,
        kind: UnitKind,
        side: int,
        *,
        configure: Callable[[Held], MatrixUnitConfig] | None = None,
        simulate: Callable[[MatrixUnitConfig], NativeSimulation] | None = None,
    ) -> None:
        if side not in SIDES:
            raise ValueError(
                f"`side` of backend {kind.name} must be one of {', '.join(map(str, SIDES))}, "
                f"not {side}"
            )
        self.kind, self.name, self.held, self.side = kind, kind.name, kind.held, side
        self._configure = configure or (
            lambda held: kind.config(**USUAL, **kind.settings(held, side))
        )
        self.config = cache(self._configure)
        self._simulation = None if simulate is None else cache(simulate)
        self.tally = HardwareTally()

    @property
    def rtl(self) -> bool:
        return self._simulation is not None

    @property
    def cycles(self) -> int | None:
        return self.tally.cycles

    def holds(self, words: Words) -> bool:
        return self.kind.holds(words, self.side) is not None

    def call_cycles(self, rows: int, words: Words) -> int:
        config, operation = self._operation(self._how(words))
        return _cycles(config, operation, -(-rows // self.side))

    def why_off_line(self, rows: int, words: Words) -> str:
        return f"{-rows % self.side} rows are filled up, for an operation takes {self.side}"

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        return self._call(a, b, None, words)

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        return self._call(a, b, c, words)

    def _how(self, words: Words) -> Held:
        held = self.kind.holds(words, self.side)
        if held is None:
            raise ValueError(
                f"words of backend {self.name} must be {', '.join(self.held)}, not {words.name}"
            )
        return held

    def _operation(self, held: Held) -> tuple[MatrixUnitConfig, Operation]:
        config = self.config(held)
        return config, config.operations[held.operation]

    def _call(self, a: Array, b: Array, c: Array | None, words: Words) -> Array:
        held = self._how(words)
        check_operands(self.name, held, a, b, *(() if c is None else (c,)))
        config, operation = self._operation(held)
        left, right = self._lanes(config, operation, held, a, b, words)
        if c is None:
            # One row of zeros that change nothing, whatever their signs.
            start = np.full((1, self.side, self.side), operation.addend or 0, np.uint64)
        else:
            start = patterns(self._in_blocks(c, words), held.result)
        sums = np.broadcast_to(start, (len(left), self.side, self.side))
        found = self._model(config, operation, left, right, sums)
        cycles = _cycles(config, operation, len(left))
        if self._simulation is not None:
            expected, modelled = found, cycles
            found, wrong, cycles = _simulated(
                config, self._simulation(config), operation, left, right, start
            )
            self.tally.checked += expected.size + 1
            self.tally.mismatches += int(np.count_nonzero(found != expected))
            self.tally.mismatches += wrong + (cycles != modelled)
        self.tally.cycles += cycles
        self.tally.operations += len(left)
        self.tally.sent += len(left) * self.side**2 * (2 if c is None else 3)
        whole = found.reshape(-1, self.side)[: len(a)]
        return results(self.name, held, whole, words, a, b, c, self.tally)

    def _in_blocks(self, x: Array, words: Words) -> Array:
        """Rows by s, filled up with zeros of the words: (blocks, s, s)."""
        s = self.side
        blocks = -(-len(x) // s)
        if len(x) != blocks * s:
            x = np.concatenate([x, np.full((blocks * s - len(x), s), words.zero, words.dtype)])
        return x.reshape(blocks, s, s)

    def _lanes(
        self,
        config: MatrixUnitConfig,
        operation: Operation,
        held: Held,
        a: Array,
        b: Array,
        words: Words,
    ) -> tuple[Patterns, Patterns]:
        """Operands as the port has them: (operations, s, depth) and (depth, s) lanes."""
        bits = config.lane_bits
        per = operation.operand_bits // bits
        left = cut_into_lanes(patterns(self._in_blocks(a, words), held.element), bits, per)
        right = cut_into_lanes(patterns(b.T, held.element), bits, per).T
        return left, np.ascontiguousarray(right)

    def _model(
        self,
        config: MatrixUnitConfig,
        operation: Operation,
        left: Patterns,
        right: Patterns,
        sums: Patterns,
    ) -> Patterns:
        found = np.empty(sums.shape, np.uint64)
        step = max(1, _PRODUCTS // self.side**3)
        for first in range(0, len(left), step):
            part = slice(first, first + step)
            count = len(left[part])
            found[part], _ = mixed_operations(
                config,
                np.full(count, operation.opcode),
                left[part],
                np.broadcast_to(right, (count, *right.shape)),
                sums[part],
            )
        return found


def _cycles(config: MatrixUnitConfig, operation: Operation, operations: int) -> int:
    """Cycles from the first operand to the last result, both counted."""
    name = operation.name
    return (operations - 1) * config.initiation_interval[name] + config.latency[name] + 1


def _simulated(
    config: MatrixUnitConfig,
    simulation: NativeSimulation,
    operation: Operation,
    left: Patterns,
    right: Patterns,
    start: Patterns,
) -> tuple[Patterns, int, int]:
    """Results, error flags that were set, and cycles of a call on the Verilog."""
    fields = {field["name"]: field for field in simulation.stream("i")["fields"]}
    count = len(left)
    lane, sum_ = (f"u{bits // 8}" for bits in (config.lane_bits, config.accumulator_bits))
    same = np.zeros(count, np.int64)
    addends = Rows(dense_words(fields["c"], start.astype(sum_)), same if len(start) == 1 else None)
    table = np.zeros((count, dense_words(fields["c"], start[:1].astype(sum_)).shape[1]), np.uint32)
    error = np.zeros((count, 1), np.uint32)
    cycles = simulation.run_fields(
        {
            "op": Rows(np.array([[operation.opcode]], np.uint32), same),
            "a": Rows(dense_words(fields["a"], left.astype(lane))),
            "b": Rows(dense_words(fields["b"], right[np.newaxis].astype(lane)), same),
            "c": addends,
        },
        {"d": Rows(table), "error": Rows(error)},
        count,
    )
    found = field_array(fields["c"], table).astype(np.uint64)
    return found, int(np.count_nonzero(error)), cycles
