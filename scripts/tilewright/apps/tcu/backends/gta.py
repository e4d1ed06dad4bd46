"""GTA's array of 8-bit multipliers: a call is a job, a p-GEMM on matrices in its memory."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....errors import UserError
from ....hw.spec.gta import GTA, GtaConfig
from ....settings import read_config
from ....sim.gta.driver import GtaDriver
from ....sim.gta.golden.pgemm import pgemm
from ....sim.gta.tiles.choice import choose
from ....sim.tcu.hardware.held_words import (
    GTA_KIND,
    HardwareTally,
    Held,
    Patterns,
    check_operands,
    patterns,
    results,
)
from ....sim.tcu.presets import LONGEST
from ....sim.tcu.words import Array, Words
from ...common.session import Session
from ...common.units.gta import GtaChoice, gta_session
from ..hardware.options import HardwareChoice
from .matrix_units import settings_of

__all__ = ["GtaBackend", "gta_backend"]


def gta_backend(choice: HardwareChoice) -> GtaBackend:
    """An array whose blocks are of the side that is asked for. Raises UserError later, if it cannot
    be built."""
    return GtaBackend(choice)


class _Laid(NamedTuple):
    """Schedule of all calls on some words on the array."""

    config: GtaConfig
    dataflow: str
    layout: tuple[int, int]


class GtaBackend:
    """An array that is built for the words' format.

    Calls on integers keep the block of B in the array (WS), those on floats their sums (OS, all
    that floats have). The layout of the lanes is one for all calls, that in which the longest call
    of the calibration takes fewest cycles. A, B and D lie in its memory; what puts them there is
    not counted. Cycles are of the job, from its start to its end: those of the cycle model, or of
    the Verilog, whose counters are then all compared.
    """

    def __init__(self, choice: HardwareChoice) -> None:
        self._choice, self.name, self.side = choice, choice.backend, choice.side
        self.kind, self.held, self.rtl = GTA_KIND, GTA_KIND.held, choice.rtl
        self.tally = HardwareTally()
        self.laid = cache(self._laid)
        self._opened, self._counted = cache(self._open), cache(self._count)

    @property
    def cycles(self) -> int | None:
        return self.tally.cycles

    def holds(self, words: Words) -> bool:
        return self.kind.holds(words, self.side) is not None

    def call_cycles(self, rows: int, words: Words) -> int:
        return self._counted(rows, self._how(words), False)["cycles"]

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        return self._call(a, b, None, words)

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        return self._call(a, b, c, words)

    def why_off_line(self, rows: int, words: Words) -> str:
        """Explains why calls of so many rows differ from longer ones."""
        held = self._how(words)
        config, dataflow, layout = self.laid(held)
        tiles = []
        for count in (rows, LONGEST):
            found = choose(config, held.element, (count, self.side, self.side),
                           dataflow=dataflow, layout=layout)  # fmt: skip
            assert found is not None
            tiles.append(f"{found.tiling.m} x {found.tiling.n}")
        return f"its tiles of D are {tiles[0]}, those of {LONGEST:,} rows {tiles[1]}"

    def _how(self, words: Words) -> Held:
        held = self.kind.holds(words, self.side)
        if held is None:
            raise ValueError(
                f"words of backend {self.name} must be {', '.join(self.held)}, not {words.name}"
            )
        return held

    def _laid(self, held: Held) -> _Laid:
        choice = self._choice
        decided = settings_of(self.kind.settings(held, self.side))
        config: Any = read_config(GTA, choice.config_file, [*choice.settings, *decided])
        if held.operand_bits == 0 and not config.floats:
            raise UserError("gta: `float_adders` must not be 0 for words of floats")
        lanes, dataflow = config.lanes, held.operation
        every = [_Laid(config, dataflow, (lanes >> number, 1 << number))
                 for number in range(lanes.bit_length())]  # fmt: skip
        return min(every, key=lambda laid: self._timed(laid, LONGEST, held, False)["cycles"])

    def _open(self, config: GtaConfig, format: str, backend: str) -> Session[GtaDriver]:
        memory, gigahertz = self._choice.memory, self._choice.gigahertz
        return gta_session(
            GtaChoice(unit=GTA, config=config, format=format, backend=backend, memory=memory,
                      gigahertz=gigahertz, json_file=None)
        )  # fmt: skip

    def _count(self, rows: int, held: Held, use_c: bool) -> dict[str, int]:
        return self._timed(self.laid(held), rows, held, use_c)

    def _timed(self, laid: _Laid, rows: int, held: Held, use_c: bool) -> dict[str, int]:
        """The counters by the cycle model, which asks for no values."""
        a, b = (np.zeros((count, self.side), np.uint64) for count in (rows, self.side))
        self._run("cycles", laid, held, a, b, a if use_c else None)
        return dict(self._opened(laid.config, held.element, "cycles").driver.counts)

    def _run(
        self, backend: str, laid: _Laid, held: Held, a: Patterns, b: Patterns, c: Patterns | None
    ) -> Patterns:
        return self._opened(laid.config, held.element, backend).run(
            lambda driver: driver.pgemm(
                held.element, a, b, c, dataflow=laid.dataflow, layout=laid.layout
            ),
        )

    def _call(self, a: Array, b: Array, c: Array | None, words: Words) -> Array:
        held, told = self._how(words), self.tally
        check_operands(self.name, held, a, b, *(() if c is None else (c,)))
        left, right = (patterns(x, held.element) for x in (a, b))
        addend = None if c is None else patterns(c, held.result)
        found = pgemm(held.element, left, right, addend)
        counts = self._counted(len(a), held, c is not None)
        if self.rtl:
            expected, modelled, laid = found, counts, self.laid(held)
            found = self._run("rtl", laid, held, left, right, addend)
            counts = self._opened(laid.config, held.element, "rtl").driver.counts
            told.checked += found.size + len(modelled)
            told.mismatches += int(np.count_nonzero(found != expected))
            told.mismatches += sum(counts[name] != value for name, value in modelled.items())
        told.cycles += counts["cycles"]
        told.operations += counts["operations"]
        told.bytes_read += counts["bytes_read"]
        told.bytes_written += counts["bytes_written"]
        told.sent += a.size + b.size + (0 if c is None else c.size)
        return results(self.name, held, found, words, a, b, c, told)
