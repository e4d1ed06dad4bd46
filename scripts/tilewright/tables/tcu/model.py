"""Compares the model's predictions with measured hardware: algorithms, and single calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import CheckFailed, UserError
from ...synth.tables import Row, Table, Tables

if TYPE_CHECKING:
    from ...sim.tcu import TensorUnit
    from ...sim.tcu.hardware.held_words import HardwareBackend
    from ...sim.tcu.presets import Calibration
    from ...sim.tcu.words import Words


Progress = Callable[[str], None]
NAME = "tcu-model"
FAR = 16
"""Latencies that a call is beyond which the model must hold."""
_ALGORITHMS = ("calls", "rows a call", "n s / l", "predicted", "measured", "error, %")
_DIGITS = (0, 1, 1, 0, 0, 2)
_CALLS = (
    "a", "l", "1 - R2, millionths", "n = s", "s + 1", "2 s", "4 s", "16 s", "64 s + 1",
    f"worst beyond {FAR} l",
)  # fmt: skip
_CALL_DIGITS = (4, 1, 1, 2, 2, 2, 2, 2, 2, 2)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A backend: its side, whether its Verilog is simulated, its parameters and its memory."""

    label: str
    backend: str
    side: int
    rtl: bool = True
    settings: tuple[str, ...] = ()
    memory: str = "flat"


BACKENDS = (
    Asked(label="simd2, RTL, s = 4", backend="simd2", side=4),
    Asked(label="m3xu, RTL, s = 4", backend="m3xu", side=4),
    Asked(label="engine, RTL, s = 8", backend="engine", side=8),
    Asked(label="gta, RTL, s = 8", backend="gta", side=8, settings=("lanes=1",)),
    Asked(label="engine, blocks of 4 s rows, s = 8", backend="engine", side=8, rtl=False,
          settings=("block_rows=8",)),
    Asked(label="engine, HBM, s = 8", backend="engine", side=8, rtl=False, memory="hbm"),
)  # fmt: skip


def tcu_model(
    target: str,
    progress: Progress = lambda said: None,
    *,
    full: bool = False,
    only: str | None = None,
) -> Tables:
    """Cycles of every algorithm as a, l of the calibration predict them, beside those measured.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    full: matrices of side 16 s, not 4 s
    only: part of the names of the backends to measure

    Raises UserError for another target, or if no backend has such a name; CheckFailed if Verilog
    and model differ.
    """
    if target != "cmos":
        raise UserError(f"{NAME} is simulated: no --target, not {target!r}")
    chosen = [asked for asked in BACKENDS if only is None or only in asked.label]
    if not chosen:
        known = "; ".join(asked.label for asked in BACKENDS)
        raise UserError(f"--only must be part of {known}, not {only!r}")
    parts = []
    for asked in chosen:
        size = asked.side * (16 if full else 4)
        rows = _algorithms(asked, size, progress)
        parts.append(Table(NAME, f"{asked.label}, matrices of side {size}", _ALGORITHMS, rows))
    calls = [_calls(asked) for asked in chosen]
    parts.append(Table(NAME, "single calls of fp32, errors in %", _CALLS, calls))
    return Tables(NAME, parts, _notes(parts[:-1]))


def _opened(asked: Asked, words: Words) -> tuple[HardwareBackend, Calibration]:
    from ...apps.common.options import GIGAHERTZ
    from ...apps.tcu.hardware.calibration import calibration_of, open_backend
    from ...apps.tcu.hardware.options import HardwareChoice
    from ...sim.tcu.hardware.held_words import HardwareBackend
    from ...sim.timing.memories import MEMORIES

    choice = HardwareChoice(
        backend=asked.backend,
        side=asked.side,
        rtl=asked.rtl,
        memory=MEMORIES[asked.memory],
        gigahertz=GIGAHERTZ,
        config_file=None,
        settings=asked.settings,
        json_file=None,
    )
    backend = open_backend(choice)
    calibrated = calibration_of(backend, words)
    assert calibrated is not None
    assert isinstance(backend, HardwareBackend)
    return backend, calibrated


def _algorithms(asked: Asked, size: int, progress: Progress) -> list[Row]:
    from ...apps.tcu.hardware.calibration import calls_by_words, predicted_cycles
    from ...sim.tcu import TensorUnit
    from .model_cases import cases_of

    rows, opened = [], {}
    for name, words, run in cases_of(asked.backend):
        progress(f"{asked.label}: {name}")
        if words not in opened:
            opened[words] = _opened(asked, words)
        backend, calibrated = opened[words]
        unit, before = TensorUnit(backend, words, calibrated.latency), backend.tally.cycles
        run(unit, size)
        if backend.tally.mismatches:
            raise CheckFailed(f"{asked.label}: {name} gives other bits or cycles than the model")
        work, measured = unit.cost.work, backend.tally.cycles - before
        predicted, each = predicted_cycles(calls_by_words(unit)) or 0, work.rows / work.calls
        figures = [work.calls, each, _latencies(unit, each), predicted, measured,
                   _error(predicted, measured)]  # fmt: skip
        rows.append(Row(f"{name}, {words.name}", [None] * len(figures), figures, _DIGITS))
    return rows


def _latencies(unit: TensorUnit, rows: float) -> float | None:
    """Returns the average length of a call in latencies; None if there is no latency."""
    charged = (unit.unit_time - unit.cost.rows * unit.s) / unit.cost.calls
    return rows * unit.s / charged if charged else None


def _error(predicted: float, measured: float) -> float:
    return 100 * (predicted / measured - 1)


def _calls(asked: Asked) -> Row:
    """Compares single calls by the model, whose cycles are those of the Verilog."""
    from ...sim.tcu import UnitWork
    from ...sim.tcu.words import FP32

    backend, found = _opened(asked, FP32)
    s = asked.side

    def error(rows: int) -> float:
        return _error(found.cycles(UnitWork(1, rows)), backend.call_cycles(rows, FP32))

    least = int(FAR * found.latency / s) + 1
    far = [*range(max(s, least), max(s, least) + 2 * s), *(least * k + s // 2 for k in (2, 4))]
    errors = [error(rows) for rows in (s, s + 1, 2 * s, 4 * s, 16 * s, 64 * s + 1)]
    worst = max(map(error, far), key=abs)
    figures = [found.word_cycles, found.latency_cycles, 1e6 * (1 - found.r_squared), *errors, worst]
    return Row(asked.label, [None] * len(figures), figures, _CALL_DIGITS)


def _notes(parts: Sequence[Table]) -> list[str]:
    """Summarises the errors of all algorithms, those with long calls and the others."""
    every = [row.ours for part in parts for row in part.rows]
    far = [abs(f[5]) for f in every if f[2] is not None and f[5] is not None and f[2] > FAR]
    near = [abs(f[5]) for f in every if f[2] is not None and f[5] is not None and f[2] <= FAR]
    notes = [
        "Cycles are of the unit's calls alone: predicted by a and l of the calibration on calls of "
        "s to 4096 rows, measured on the Verilog where it says RTL, else by the cycle model.",
    ]
    for errors, which in ((far, "more than"), (near, "up to")):
        if errors:
            notes.append(f"Algorithms whose calls are {which} {FAR} latencies long, on average: "
                         f"{len(errors)}, none farther off than {max(errors):.2f} %.")  # fmt: skip
    return notes
