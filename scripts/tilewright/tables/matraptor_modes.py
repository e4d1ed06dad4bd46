"""The table of MatRaptor's two modes, on the RTL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..synth.tables import Row, Table
from .matraptor_rates import needs_simulation

__all__ = ["CASES", "matraptor_modes"]

_SQUARE = (0.02, 0.1, 0.3, 0.6, 1.0)
CASES: dict[str, tuple[int, int, int, float, float]] = {
    **{f"128 x 128 x 128, {100 * d:.0f} % full": (128, 128, 128, d, d) for d in _SQUARE},
    "64 x 576 x 196, 30 and 50 %": (64, 576, 196, 0.3, 0.5),
    "128 x 1152 x 49, 30 and 50 %": (128, 1152, 49, 0.3, 0.5),
}
"""Rows of A, columns of A, columns of B, densities of A and B. The last two are the layers of a
pruned convolutional network, 3 x 3 kernels on 64 and 128 channels."""


def matraptor_modes(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    cases: Mapping[str, tuple[int, int, int, float, float]] = CASES,
) -> Table:
    """Products row by row and by outer products, 4 lanes and channels, memory latency 50.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    cases: see ``CASES``

    Raises UserError for another target, or if there is no Verilator, or no compiler.
    """
    with needs_simulation("matraptor-modes", target):
        from .element_rate import Case, compare_modes, modes_device

        rows = []
        progress("building 4 lanes")
        with modes_device() as rtl:
            for label, (m, k, n, left, right) in cases.items():
                progress(label)
                case = Case(rows=m, inner=k, columns=n, left=left, right=right)
                rows.append(_row(label, compare_modes(rtl, case)))
    names = ["cycles", "multipliers, %", "kB read"]
    columns = [f"{name}, {mode}" for name in names for mode in ("by rows", "outer")]
    return Table("matraptor-modes", "RTL", columns, rows)


def _row(label: str, rates: tuple[Any, Any]) -> Row:
    found = [[x.cycles, 100 * x.utilisation, x.bytes_read / 1000] for x in rates]
    figures = [mode[n] for n in range(len(found[0])) for mode in found]
    return Row(label, [None] * len(figures), figures, [0, 0, 1, 1, 0, 0])
