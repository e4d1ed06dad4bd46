"""The SIMD2 paper's eight applications at its sizes, on the tile engine with memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import UserError
from ...synth.tables import Row, Table, Tables

__all__ = ["simd2_applications"]

BLOCKS = {"block_rows": 32, "block_cols": 32, "block_depth": 32}
"""Blocks of the engine for which one channel of HBM feeds the unit."""
Progress = Callable[[str], None]
_COLUMNS = (
    "iterations, check", "million cycles, check", "iterations, no check",
    "million cycles, no check", "unit busy, %", "times the vector unit",
    "times one pass, check", "times one pass, no check",
)  # fmt: skip
_DIGITS = (0, 1, 0, 1, 2, 2, 3, 3)


def simd2_applications(
    target: str,
    progress: Progress = lambda said: None,
    *,
    full: bool = False,
    only: str | None = None,
    settings: Sequence[str] = (),
) -> Tables:
    """Iterations and cycles of both algorithms, with and without the convergence check, by the
    cycle model: of the smallest of the paper's three sizes, or of all.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    full: all sizes
    only: part of the names of the applications to measure
    settings: parameters of the engine, NAME=VALUE

    Raises UserError for another target, or if no application has such a name, or a parameter
    cannot be.
    """
    if target != "cmos":
        raise UserError(f"simd2-applications is computed by a model: no --target, not {target!r}")
    from .measured import PAPERS_SIZES, compared, measure, notes_of

    names = [name for name in PAPERS_SIZES if only is None or only in name]
    if not names:
        raise UserError(f"--only must be part of {', '.join(PAPERS_SIZES)}, not {only!r}")
    named = {text.partition("=")[0].strip() for text in settings}
    given = [f"{name}={value}" for name, value in BLOCKS.items() if name not in named]
    given += settings
    found = [
        one
        for name in names
        for size in PAPERS_SIZES[name][: 3 if full else 1]
        for one in measure(name, size, given, progress)
    ]
    rows = [Row(one.label, [None] * len(_COLUMNS), one.figures, _DIGITS) for one in found]
    parts = [Table("simd2-applications", "cycle model", _COLUMNS, rows)]
    parts.append(compared(found, given, progress))
    return Tables("simd2-applications", parts, notes_of(given))
