"""Measures the deviation of calls from the line of their calibration, by words and sides. Where no
line is near, the model cannot be true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UserError
from ...numbers_given import whole
from ...synth.tables import Row, Table
from .asked import asked

if TYPE_CHECKING:
    from ...sim.tcu.hardware.held_words import HardwareBackend
    from ...sim.tcu.presets import Calibration
    from ...sim.tcu.words import Words


NAME = "tcu-lines"
FAR = 16
"""Latencies that a call is beyond which the model should hold."""
_COLUMNS = (
    "a", "l", "1 - R2, millionths", "n = s", "s + 1", "2 s", "4 s", "16 s", "64 s + 1",
    f"worst beyond {FAR} l", "least of any line",
)  # fmt: skip
_DIGITS = (3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
_SCANNED = 16
"""Lengths from ``FAR`` latencies to four times that, and as many that s does not divide."""
_BACKENDS = {"gta": (4, 8, 16), "engine": (4,)}
"""Backends with the sides that are measured."""


def tcu_lines(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    settings: Sequence[str] = (),
) -> Table:
    """Errors in % of ``a n s + l``, fitted to calls of s to 4096 rows, by the models of cycles: of
    single calls, and the worst of many beyond 16 latencies. The last column is the least that any
    line is off at worst on the calls that are fitted.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: part of the name of a row, such as ``gta, s = 8``
    settings: ``lanes=4`` of GTA

    Raises UserError for another target, for other settings, and if nothing is chosen.
    """
    lanes = asked(NAME, target, settings, {"lanes": whole("--set lanes", 1, 64)}).get("lanes", 4)
    rows = []
    every = [(name, s, words) for name, sides in _BACKENDS.items() for s in sides
             for words in _words(name)]  # fmt: skip
    labels = {(name, s, words): f"{name}, s = {s}, {words.name}" for name, s, words in every}
    chosen = [one for one in every if only in labels[one]]
    if not chosen:
        raise UserError(f"--only must be part of one of {'; '.join(labels.values())}, not {only!r}")
    for name, s, words in chosen:
        progress(labels[name, s, words])
        figures = _figures(name, s, words, lanes)
        rows.append(Row(labels[name, s, words], [None] * len(figures), figures, _DIGITS))
    return Table(NAME, f"errors in %, {lanes} lanes of gta", _COLUMNS, rows)


def _words(backend: str) -> list[Words]:
    from ...sim.tcu.words import BOOLEAN, FP32, FP64, INT64, integer

    numbers: list[Words] = [FP32, FP64, integer(8), integer(16), integer(32), INT64]
    return [*numbers, BOOLEAN] if backend == "engine" else numbers


def _figures(name: str, s: int, words: Words, lanes: int) -> list[float]:
    from ...apps.tcu.hardware.calibration import calibration_of
    from ...sim.tcu.presets import calibrated_rows

    backend = _opened(name, s, lanes)
    found = calibration_of(backend, words)
    assert found is not None

    @cache
    def cycles(rows: int) -> int:
        return backend.call_cycles(rows, words)

    def error(rows: int) -> float:
        return 100 * (_line(found, rows) / cycles(rows) - 1)

    errors = [error(rows) for rows in (s, s + 1, 2 * s, 4 * s, 16 * s, 64 * s + 1)]
    worst = max(map(error, _scanned(found)), key=abs)
    fitted = calibrated_rows(s)
    least = _least([n * s for n in fitted], [cycles(n) for n in fitted])
    return [found.word_cycles, found.latency_cycles, 1e6 * (1 - found.r_squared), *errors, worst,
            100 * least]  # fmt: skip


def _line(found: Calibration, rows: int) -> float:
    from ...sim.tcu import UnitWork

    return found.cycles(UnitWork(1, rows))


def _scanned(found: Calibration) -> list[int]:
    """Lengths beyond ``FAR`` latencies, each time as long again, with and without rows beyond a
    multiple of s."""
    s, first = found.side, max(1, -(-int(FAR * found.latency) // found.side**2)) + 1
    along = np.unique(np.geomspace(first, 4 * first, _SCANNED).astype(int))
    return [int(count) * s + more for count in along for more in (0, 1)]


def _least(words: Sequence[int], cycles: Sequence[int]) -> float:
    """The smallest worst relative error of any ``a words + l``, neither below 0: a linear
    programme."""
    from scipy.optimize import linprog

    x, y = np.array(words, float), np.array(cycles, float)
    terms = np.stack([x / y, 1 / y], axis=1)
    sides = np.concatenate([terms, -terms])
    bounds = np.concatenate([np.ones(len(x)), -np.ones(len(x))])
    column = -np.ones((len(sides), 1))
    found = linprog([0, 0, 1], A_ub=np.hstack([sides, column]), b_ub=bounds)
    return float(found.fun)


@cache
def _opened(name: str, side: int, lanes: int) -> HardwareBackend:
    from ...apps.tcu.hardware.calibration import open_backend
    from ...apps.tcu.hardware.options import HardwareChoice, HardwareOptions, choose_hardware
    from ...sim.tcu.hardware.held_words import HardwareBackend

    settings = [f"lanes={lanes}"] if name == "gta" else None
    options = HardwareOptions(m=side * side, settings=settings)
    backend = open_backend(HardwareChoice(**choose_hardware(name, options)))
    assert isinstance(backend, HardwareBackend)
    return backend
