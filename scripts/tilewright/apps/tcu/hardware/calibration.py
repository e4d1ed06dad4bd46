"""Calibrates a backend of hardware from its calls, and reports the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import typer

from ....errors import user_errors
from ....hw.spec.unit import named_object
from ....reports import print_rows, write_json
from ....sim.tcu import Backend, TensorUnit, UnitWork
from ....sim.tcu.hardware.held_words import HardwareBackend, HardwareTally
from ....sim.tcu.presets import Calibration, calibrate, calibrated_rows, fit
from ....sim.tcu.split.split_unit import SplitUnit
from ....sim.tcu.words import Words
from ...common.limits import counted
from .options import BACKENDS, HardwareChoice

__all__ = ["BAR", "calibrate_backend", "calibration_of", "calls_by_words", "hardware_figures",
           "hardware_rows", "mismatches", "open_backend", "predicted_cycles"]  # fmt: skip


def open_backend(choice: HardwareChoice) -> Backend:
    """Opens the backend that multiplies."""
    found: Backend = named_object(BACKENDS[choice.backend].open)(choice)
    return found


def calibration_of(backend: Backend, words: Words) -> Calibration | None:
    """A backend of hardware as the model has it, from its cycles by the model; None of others."""
    if not isinstance(backend, HardwareBackend):
        return None
    return calibrate(backend.name, backend.side, lambda rows: backend.call_cycles(rows, words))


class Calls(NamedTuple):
    """Calls on words of one kind.

    Parameters
    ----------
    words: narrow ones, where words are cut into limbs
    latency: that the unit was charged
    work: calls and rows
    calibration: of the backend on these words; None where nothing measures cycles
    """

    words: Words
    latency: float
    work: UnitWork
    calibration: Calibration | None


def what_multiplies(unit: TensorUnit) -> Backend:
    """The backend, that of narrow words where words are cut into limbs."""
    return _narrow(unit).backend


def calls_by_words(unit: TensorUnit) -> list[Calls]:
    """The unit's calls, and those on other words beside it, as a calibration on each has them."""
    found = []
    for one in map(_narrow, unit.units):
        calibrated = calibration_of(one.backend, one.words)
        found.append(Calls(one.words, one.latency, one.own, calibrated))
    return found


def predicted_cycles(calls: list[Calls]) -> float | None:
    """Predicts the cycles by the calibrations; None without any."""
    cycles = [one.calibration.cycles(one.work) for one in calls if one.calibration]
    return sum(cycles) if cycles else None


def _narrow(unit: TensorUnit) -> TensorUnit:
    return unit.narrow if isinstance(unit, SplitUnit) else unit


def hardware_figures(unit: TensorUnit) -> dict[str, Any]:
    """Returns the fields of the JSON report; nulls where nothing is measured."""
    backend, calls = what_multiplies(unit), calls_by_words(unit)
    found: dict[str, Any] = {
        "by_words": [_calls_figures(one) for one in calls],
        "predicted_cycles": predicted_cycles(calls),
        "measured_cycles": backend.cycles,
    }
    calibrated = calls[0].calibration
    if isinstance(backend, HardwareBackend) and calibrated is not None:
        found["rtl"] = backend.rtl
        found["calibration"] = calibration_figures(calibrated)
        found["hardware"] = asdict(backend.tally)
    return found


def hardware_rows(unit: TensorUnit) -> list[tuple[str, str]]:
    """Returns the rows of the printed report."""
    backend, calls = what_multiplies(unit), calls_by_words(unit)
    predicted = predicted_cycles(calls)
    if not isinstance(backend, HardwareBackend) or predicted is None:
        return []
    tally = backend.tally
    away = f", {predicted / tally.cycles - 1:+.2%}" if tally.cycles else ""
    sent = f"{counted(tally.operations, 'operation')}, {tally.sent:,} words sent"
    if tally.bytes_read:
        sent = (f"{counted(tally.operations, 'operation')}, {tally.bytes_read:,} bytes read, "
                f"{tally.bytes_written:,} written")  # fmt: skip
    rows = [
        *_calibrated_rows(calls),
        ("cycles", f"{tally.cycles:,} measured, {predicted:,.0f} predicted{away}"),
        ("hardware", sent),
    ]
    return [*rows, ("checks", checks_line(tally))] if backend.rtl else rows


def _calibrated_rows(calls: list[Calls]) -> list[tuple[str, str]]:
    """A line for each kind of words that calls were on, named where there are others."""
    lines = []
    for one in [one for one in calls if one.work.calls] or calls[:1]:
        if one.calibration is not None:
            named = f"{one.words.name}: " if len(calls) > 1 else ""
            lines.append(("calibrated", f"{named}{calibration_line(one.calibration)}"))
    return lines


def _calls_figures(one: Calls) -> dict[str, Any]:
    found = one.calibration
    return {
        "words": one.words.name, "latency": one.latency, "calls": one.work.calls,
        "rows": one.work.rows, "predicted_cycles": found and found.cycles(one.work),
    }  # fmt: skip


def calibration_line(found: Calibration) -> str:
    """Describes the fitted line."""
    return (f"{found.word_cycles:.4g} cycles a word, {found.latency_cycles:.4g} of latency, "
            f"R2 {found.r_squared:.6f}")  # fmt: skip


def calibration_figures(found: Calibration) -> dict[str, Any]:
    """Returns the fitted line's fields of the JSON report."""
    return {
        "word_cycles": found.word_cycles,
        "latency_cycles": found.latency_cycles,
        "latency": found.latency,
        "half_rows": found.half_rows,
        "r_squared": found.r_squared,
    }


def checks_line(tally: HardwareTally) -> str:
    """Describes the comparison of the Verilog with the model."""
    wrong = f"{tally.mismatches:,} DIFFERENT" if tally.mismatches else "all equal"
    return f"{tally.checked:,} results and counters beside the model's, {wrong}"


def mismatches(unit: TensorUnit) -> int:
    """Results and counters of Verilog that are not the model's."""
    backend = what_multiplies(unit)
    return backend.tally.mismatches if isinstance(backend, HardwareBackend) else 0


BAR = 0.9999
"""Value of R2 below which the report names the call that is off the line."""


def calibrate_backend(choice: HardwareChoice, kind: Words) -> None:
    """Fit, print, and write as JSON if asked; exit with 1 if Verilog and model differ."""
    backend = open_backend(choice)
    with user_errors(ValueError):
        TensorUnit(backend, kind)
    assert isinstance(backend, HardwareBackend)
    rows = calibrated_rows(choice.side)
    cycles = [_measured(backend, kind, n) for n in rows]
    found = fit(backend.name, choice.side, rows, cycles)
    if choice.json_file:
        calls = [
            {"rows": n, "cycles": count, "fitted": found.word_cycles * n * found.side
                                                   + found.latency_cycles}
            for n, count in zip(rows, cycles, strict=True)
        ]  # fmt: skip
        asked = {"backend": backend.name, "words": kind.name, "m": choice.side**2}
        checks = {"rtl": choice.rtl, "checked": backend.tally.checked,
                  "mismatches": backend.tally.mismatches}  # fmt: skip
        figures = calibration_figures(found)
        write_json(choice.json_file, {**asked, **checks, **figures, "calls": calls})
    lines = [
        ("calls", f"{rows[0]:,}, {rows[1]:,}, ... {rows[-1]:,} rows of {choice.side} words, "
                  f"{cycles[0]:,} to {cycles[-1]:,} cycles"),
        ("a", f"{found.word_cycles:.6g} cycles a word"),
        ("l", f"{found.latency_cycles:.6g} cycles, {found.latency:,.6g} words"),
        ("R2", f"{found.r_squared:.8f}"),
        ("half", f"latency is half of the time at n = {found.half_rows:,.6g} rows"),
    ]  # fmt: skip
    if found.r_squared < BAR:
        lines.append(("off line", _off_line(backend, kind, found, rows, cycles)))
    if choice.rtl:
        lines.append(("checks", checks_line(backend.tally)))
    how = "RTL" if choice.rtl else "model"
    print_rows(
        f"{backend.name} ({how}), {kind.name}, blocks of {choice.side} x {choice.side}", lines
    )
    if backend.tally.mismatches:
        raise typer.Exit(1)


def _off_line(
    backend: HardwareBackend,
    words: Words,
    found: Calibration,
    rows: Sequence[int],
    cycles: Sequence[int],
) -> str:
    """Describes the call farthest from the line, in cycles, and the cause."""

    def away(call: tuple[int, int]) -> float:
        return abs(found.cycles(UnitWork(1, call[0])) - call[1])

    n, taken = max(zip(rows, cycles, strict=True), key=away)
    said = found.cycles(UnitWork(1, n))
    return (f"R2 is below {BAR}: a call of {n:,} rows takes {taken:,} cycles, by the line "
            f"{said:,.0f}; {backend.why_off_line(n, words)}")  # fmt: skip


def _measured(backend: HardwareBackend, words: Words, rows: int) -> int:
    """Cycles of a call, of values if it is on Verilog."""
    if not backend.rtl:
        return backend.call_cycles(rows, words)
    rng, before = np.random.default_rng(rows), backend.tally.cycles
    a, b = (words.array(rng.integers(0, 2, (n, backend.side))) for n in (rows, backend.side))
    backend.multiply(a, b, words)
    return backend.tally.cycles - before
