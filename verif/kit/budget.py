"""What the tests of each folder may cost: seconds of processor time with nothing cached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.verif.kit.sampling import by_size

__all__ = ["BARS", "BUDGET", "REST", "TYPES", "budget_rows", "over_budget"]

BARS = (240, 1200)
"""The sums that the quick and the default test keep within: they grow by 20 and by 240 with a
system, and by nothing else."""

REST = "imports, collection"
"""What all processes of a run take besides the tests."""

TYPES = "lint, types"
"""What ``scripts/test`` runs before them."""

BUDGET: dict[str, tuple[int, int]] = {
    "verif": (8, 10),
    "verif/api": (4, 22),
    "verif/apps": (8, 60),
    "verif/arith": (14, 35),
    "verif/axi": (3, 30),
    "verif/bench": (1, 1),
    "verif/c2sr": (1, 20),
    "verif/catalogue": (0, 50),
    "verif/channels": (3, 12),
    "verif/ciss": (1, 5),
    "verif/command_line": (6, 25),
    "verif/conformance": (100, 120),
    "verif/emit": (15, 80),
    "verif/engine": (4, 40),
    "verif/examples": (0, 30),
    "verif/gta": (4, 60),
    "verif/harness": (1, 18),
    "verif/job": (2, 18),
    "verif/matraptor": (5, 45),
    "verif/matrix_units": (8, 40),
    "verif/mutation": (0, 6),
    "verif/package": (0, 15),
    "verif/proofs": (0, 30),
    "verif/protocol": (0, 12),
    "verif/sida": (5, 60),
    "verif/soak": (0, 12),
    "verif/sparse": (1, 1),
    "verif/stream": (8, 14),
    "verif/synth": (1, 35),
    "verif/t2s": (3, 65),
    "verif/tables": (1, 18),
    "verif/tcu": (7, 45),
    "verif/tensaurus": (4, 35),
    "verif/timing": (3, 4),
    REST: (15, 67),
    TYPES: (4, 60),
}
"""By folder: the quick and the default test."""

_MARGIN = 3.0
_SLACK = 30.0
"""Other machines, and processors that are shared, take up to ``_MARGIN`` times as long; a folder
that runs first compiles what others share."""


def _budget(folder: str) -> int | None:
    quick, default = BUDGET.get(folder, (0, 0))
    return by_size(quick, default, None)


def over_budget(spent: Mapping[str, float]) -> list[str]:
    """The folders that cost far more than they may, each with both numbers; none in the long
    test."""
    found = []
    for folder, seconds in spent.items():
        may = _budget(folder)
        if may is not None and seconds > _MARGIN * may + _SLACK:
            found.append(f"{folder} took {seconds:.0f} s of processor time, not about {may}")
    return found


def budget_rows(spent: Mapping[str, float]) -> Iterable[str]:
    """A line for each folder, with its budget."""
    for folder, seconds in sorted(spent.items()):
        may = _budget(folder)
        yield f"{seconds:8.1f} s" + ("" if may is None else f" of {may:4.0f}") + f"  {folder}"
