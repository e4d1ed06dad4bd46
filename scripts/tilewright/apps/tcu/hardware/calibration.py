"""The calibration of a backend of hardware, from its calls, and what is printed of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import typer

from ....errors import user_errors
from ....report_table import print_rows
from ....sim.tcu import TensorUnit, UnitWork
from ....sim.tcu.calibration import Calibration, calibrated_rows, fit
from ....sim.tcu.hardware.tally import HardwareBackend
from ....sim.tcu.words import Words
from ...common.files import write_json
from .opened import open_backend
from .options import HardwareChoice
from .report import calibration_figures, checks_line

__all__ = ["BAR", "calibrate_backend"]

BAR = 0.9999
"""Of R2, below which it is said which call is off the line."""


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
    """The call farthest from the line, as that has it, and what is different about it."""

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
