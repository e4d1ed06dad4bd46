"""The tile engine around a matrix unit: a call is a job on matrices in its memory."""

from __future__ import annotations

from functools import cache
from typing import Any

from ....hw.spec.unit import named_object
from ....settings import read_config
from ....sim.tcu.hardware.held_words import (
    KINDS,
    USUAL,
    HardwareTally,
    Held,
    check_operands,
    patterns,
    results,
)
from ....sim.tcu.words import Array, Words
from ...common.options import named_parameters
from ...common.units.engine_products import EngineProduct, timed_products
from ...common.units.matrix_unit import EngineChoice
from ..hardware.options import BACKENDS, HardwareChoice
from .matrix_units import settings_of

__all__ = ["EngineBackend", "engine_backend"]

_KINDS = {"engine": "simd2", "engine_m3xu": "m3xu"}
_TILE = 4


def engine_backend(choice: HardwareChoice) -> EngineBackend:
    """An engine of the side that is asked for. Raises UserError later, if it cannot be built."""
    return EngineBackend(choice)


class EngineBackend:
    """An engine whose block is s x s x s, unless its parameters say another, around a unit of
    4 x 4 results.

    A, B and D lie in its memory; what puts them there is not counted, as with all that runs on the
    engine. Cycles are of the job, from its start to the last response: those of the cycle model,
    or of the Verilog, whose counters are then all compared.
    """

    def __init__(self, choice: HardwareChoice) -> None:
        self._choice = choice
        self.name, self.side = choice.backend, choice.side
        self.kind = KINDS[_KINDS[choice.backend]]
        self.held, self.rtl = self.kind.held, choice.rtl
        self.tally = HardwareTally()
        self.setting = cache(self._configured)
        self._product = cache(self._opened)
        self._cycles = cache(self._timed)

    @property
    def cycles(self) -> int | None:
        return self.tally.cycles

    def holds(self, words: Words) -> bool:
        return self.kind.holds(words, self.side) is not None

    def call_cycles(self, rows: int, words: Words) -> int:
        return self._cycles(rows, self._how(words))

    def why_off_line(self, rows: int, words: Words) -> str:
        high = _TILE * self.setting(self._how(words)).config.block_rows
        if self._choice.memory.banks:
            return f"memory {self._choice.memory.name} takes time of its own"
        within = "one block" if rows <= high else f"{-(-rows // high):,} blocks"
        return (f"it is of {within} of up to {high:,} rows, and a block is loaded, computed and "
                "stored while others are")  # fmt: skip

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

    def _configured(self, held: Held) -> EngineChoice:
        choice, unit = self._choice, named_object(BACKENDS[self.name].unit)
        decided = USUAL | self.kind.settings(held, _TILE)
        least = unit.config(**decided).least_blocks()
        named = named_parameters(choice.config_file, choice.settings)
        decided = {n: value for n, value in decided.items() if n not in USUAL or n not in named}
        decided |= {
            name: max(least.get(name, 1), self.side // _TILE)
            for name in ("block_rows", "block_cols", "block_depth")
            if name not in named
        }
        config: Any = read_config(
            unit, choice.config_file, [*choice.settings, *settings_of(decided)]
        )
        return EngineChoice(
            unit=unit,
            config=config,
            backend="rtl" if self.rtl else "cycles",
            memory=choice.memory,
            gigahertz=choice.gigahertz,
            json_file=None,
        )

    def _opened(self, held: Held) -> EngineProduct:
        return EngineProduct(self.setting(held), held.operation)

    def _timed(self, rows: int, held: Held) -> int:
        shape = (rows, self.side, self.side)
        return timed_products(self.setting(held), held.operation, shape, use_c=False).cycles

    def _call(self, a: Array, b: Array, c: Array | None, words: Words) -> Array:
        held = self._how(words)
        check_operands(self.name, held, a, b, *(() if c is None else (c,)))
        product = self._product(held)
        done, told = product.tally, self.tally
        before = (done.cycles, done.operations, done.bytes_read, done.bytes_written,
                  done.checked + done.counters, done.mismatches)  # fmt: skip
        found = product.multiply(
            patterns(a, held.element)[None],
            patterns(b, held.element)[None],
            None if c is None else patterns(c, held.result)[None],
        )[0]
        told.cycles += done.cycles - before[0]
        told.operations += done.operations - before[1]
        told.bytes_read += done.bytes_read - before[2]
        told.bytes_written += done.bytes_written - before[3]
        told.checked += done.checked + done.counters - before[4]
        told.mismatches += done.mismatches - before[5]
        told.sent += a.size + b.size + (0 if c is None else c.size)
        return results(self.name, held, found, words, a, b, c, told)
