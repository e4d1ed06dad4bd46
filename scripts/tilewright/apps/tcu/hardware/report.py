"""What is said of a backend of hardware: its calibration, cycles predicted and measured, checks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ....sim.tcu import TensorUnit
from ....sim.tcu.calibration import Calibration
from ....sim.tcu.hardware.tally import HardwareBackend, HardwareTally
from ...common.words import counted
from .predicted import Calls, calls_by_words, predicted_cycles, what_multiplies

__all__ = ["calibration_figures", "calibration_line", "checks_line", "hardware_figures",
           "hardware_rows", "mismatches"]  # fmt: skip


def hardware_figures(unit: TensorUnit) -> dict[str, Any]:
    """For the JSON: nulls where nothing is measured."""
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
    """For people."""
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
    """The line that was fitted."""
    return (f"{found.word_cycles:.4g} cycles a word, {found.latency_cycles:.4g} of latency, "
            f"R2 {found.r_squared:.6f}")  # fmt: skip


def calibration_figures(found: Calibration) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "word_cycles": found.word_cycles,
        "latency_cycles": found.latency_cycles,
        "latency": found.latency,
        "half_rows": found.half_rows,
        "r_squared": found.r_squared,
    }


def checks_line(tally: HardwareTally) -> str:
    """How the Verilog compares with the model."""
    wrong = f"{tally.mismatches:,} DIFFERENT" if tally.mismatches else "all equal"
    return f"{tally.checked:,} results and counters beside the model's, {wrong}"


def mismatches(unit: TensorUnit) -> int:
    """Results and counters of Verilog that are not the model's."""
    backend = what_multiplies(unit)
    return backend.tally.mismatches if isinstance(backend, HardwareBackend) else 0
