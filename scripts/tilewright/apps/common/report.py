"""The report of a command on an accelerator: a table for people, JSON for machines, a status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ...reports import compiled_rows, print_figures, print_rows, write_json
from .options import Choice
from .session import Tally

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Report", "Rows", "accelerator_figures", "checks", "finite"]

Rows = list[tuple[str, str]]


def finite(value: float) -> float | None:
    """A number as JSON has it: null in place of an infinite one or NaN."""
    return value if abs(value) < float("inf") else None


@dataclass(kw_only=True)
class Report:
    """Report of a command, printed and written as JSON.

    Parameters
    ----------
    app, title: what ran, and on what
    json_file: where the JSON goes
    figures: its fields
    rows: labels and texts
    tally: what was compared with the model, and how long it took; None of a run without such
    compared: in words, of a backend whose results are compared with the model's; else empty
    rate: after the seconds of simulation
    after: rows below those of the run
    tables: printed below them
    wrong: whether the application found its result wrong
    """

    app: str
    title: str
    json_file: Path | None
    figures: Mapping[str, Any]
    rows: Sequence[tuple[str, str]]
    tally: Tally | None = None
    compared: str = ""
    rate: str = ""
    after: Sequence[tuple[str, str]] = ()
    tables: Sequence[Table] = field(default=())
    wrong: bool = False

    def finish(self) -> None:
        """Write it as JSON if asked, print it, and exit with 1 if anything was wrong."""
        if self.json_file:
            write_json(self.json_file, {"app": self.app, **self.figures})
        console = print_rows(self.title, [*self.rows, *self._run_rows(), *self.after])
        for table in self.tables:
            print_figures(console, table)
        if self.wrong or (self.tally and self.tally.mismatches):
            raise typer.Exit(1)

    def _run_rows(self) -> Rows:
        tally, rows = self.tally, compiled_rows()
        if tally is None:
            return rows
        where = "on the board" if self.figures.get("backend") == "board" else "simulation"
        rows = [*rows, (where, f"{tally.seconds:.2f} s{self.rate}")]
        if self.compared:
            verdict = "DIFFERENT" if tally.mismatches else "bit for bit equal"
            found = f"{tally.mismatches:,} mismatches in {tally.checked:,} {self.compared}"
            rows.append(("against the model", f"{found}: {verdict}"))
        return rows


def accelerator_figures(
    choice: Choice[Any], details: Mapping[str, Any], **own: Any
) -> dict[str, Any]:
    """Returns the first fields of every accelerator's JSON: the application's results, then the
    accelerator, ``own`` fields of its configuration among them, and the backend."""
    return {
        **details, "unit": choice.unit.name, "config": choice.config.resolved(), **own,
        "backend": choice.ran_on,
    }  # fmt: skip


def checks(tally: Tally) -> dict[str, Any]:
    """Returns the counts of the comparison with the model, for the JSON."""
    return {"checked": tally.checked, "mismatches": tally.mismatches}
