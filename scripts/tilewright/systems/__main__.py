"""``python -m tilewright.systems``: the table of all units, as ``docs/units.md`` has it."""

from __future__ import annotations

from pathlib import Path

from ..registry import System, systems

__all__ = ["catalogue_table"]


def _rows(system: System) -> list[str]:
    pages = ", ".join(f"[{Path(page).stem}]({page})" for page in system.pages)
    tables = ", ".join(f"`{table}`" for table in system.tables)
    return [
        f"| `{entry.unit.name}` | {entry.unit.summary} | {pages} | {tables} |"
        for entry in system.entries
    ]


def catalogue_table() -> str:
    """A row a unit: what it computes, its system's pages and tables."""
    lines = ["| unit | computes | read | `tilewright table` |", "|---|---|---|---|"]
    lines += [row for system in systems() for row in _rows(system)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(catalogue_table(), end="")
