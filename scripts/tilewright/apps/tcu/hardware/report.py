"""What is said of a backend of hardware: its calibration, cycles predicted and measured, checks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ....sim.tcu import Backend, TensorUnit
from ....sim.tcu.calibration import Calibration
from ....sim.tcu.hardware.tally import HardwareBackend, HardwareTally
from ....sim.tcu.split.split_backend import SplitBackend
from ...common.words import counted
from .opened import calibration_of

__all__ = ["calibration_figures", "calibration_line", "checks_line", "hardware_figures",
           "hardware_rows", "mismatches"]  # fmt: skip


def hardware_figures(unit: TensorUnit) -> dict[str, Any]:
    """For the JSON: nulls where nothing is measured."""
    backend, calibrated = _what_multiplies(unit)
    if not isinstance(backend, HardwareBackend) or calibrated is None:
        return {"predicted_cycles": None, "measured_cycles": backend.cycles}
    return {
        "predicted_cycles": calibrated.cycles(unit.cost.work),
        "measured_cycles": backend.cycles,
        "rtl": backend.rtl,
        "calibration": calibration_figures(calibrated),
        "hardware": asdict(backend.tally),
    }


def hardware_rows(unit: TensorUnit) -> list[tuple[str, str]]:
    """For people."""
    backend, calibrated = _what_multiplies(unit)
    if not isinstance(backend, HardwareBackend) or calibrated is None:
        return []
    tally, predicted = backend.tally, calibrated.cycles(unit.cost.work)
    away = f", {predicted / tally.cycles - 1:+.2%}" if tally.cycles else ""
    sent = f"{counted(tally.operations, 'operation')}, {tally.sent:,} words sent"
    if tally.bytes_read:
        sent = (f"{counted(tally.operations, 'operation')}, {tally.bytes_read:,} bytes read, "
                f"{tally.bytes_written:,} written")  # fmt: skip
    rows = [
        ("calibrated", calibration_line(calibrated)),
        ("cycles", f"{tally.cycles:,} measured, {predicted:,.0f} predicted{away}"),
        ("hardware", sent),
    ]
    return [*rows, ("checks", checks_line(tally))] if backend.rtl else rows


def _what_multiplies(unit: TensorUnit) -> tuple[Backend, Calibration | None]:
    """The backend, that of narrow words where words are cut into limbs, as the model has it."""
    split = unit.backend
    what = split.narrow if isinstance(split, SplitBackend) else unit
    return what.backend, calibration_of(what.backend, what.words)


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
    backend, _ = _what_multiplies(unit)
    return backend.tally.mismatches if isinstance(backend, HardwareBackend) else 0
