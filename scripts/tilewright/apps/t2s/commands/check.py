"""``tilewright t2s check``: whether a mapping computes what its definition says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ....errors import user_errors
from ....numbers_given import whole
from ....reports import write_json
from ....settings import expanded
from ...common.files import check_output
from ...common.options import JsonOption
from ..mapping_given import BoundsOption, MappingOptions, bounds_given, mapping_given

if TYPE_CHECKING:
    from ....hw.spec.t2s.program import Program

__all__ = ["check"]


class Outcome(NamedTuple):
    """Outcome of a pass: how many elements are wrong, and why the program did not end, if so."""

    name: str
    program: Program
    wrong: int
    stopped: str


@expanded
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Python file with a mapping.")],
    *,
    bounds: BoundsOption = None,
    options: MappingOptions,
    seed: Annotated[
        int,
        typer.Option(
            parser=whole("--seed", 0, 2**32 - 1), metavar="N", help="Seed of the operands."
        ),
    ] = 1,
    json_file: JsonOption = None,
) -> None:
    """Run the program after every compiler pass on random integers and compare with NumPy."""
    if json_file:
        check_output(json_file, (".json",))
    computation = mapping_given(file, options)
    indices = (*computation.result, *computation.sum_over)
    sizes = bounds_given(bounds or [], indices)
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from ....hw.t2s.compiler.passes import programs
    from ....sim.t2s.checking import random_operands, wrong_elements
    from ....sim.t2s.definition_result import definition_result
    from ....sim.t2s.interpreter import Deadlock

    rows: list[Outcome] = []
    wanted, operands = None, {}
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("after {task.description}"))
    shown = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with user_errors(ValueError), shown as progress:
        task = progress.add_task("define")
        for name, program in programs(computation):
            progress.update(task, description=name)
            if wanted is None:
                operands = random_operands(program, sizes, seed)
                wanted = definition_result(program, sizes, operands)
            try:
                wrong, stopped = wrong_elements(program, sizes, operands, wanted), ""
            except Deadlock as deadlock:
                wrong, stopped = wanted.size, str(deadlock)
            rows.append(Outcome(name, program, wrong, stopped))
    assert wanted is not None
    if json_file:
        write_json(json_file, {
            "bounds": sizes, "seed": seed, "elements": wanted.size,
            "passes": [
                {
                    "pass": one.name, "functions": len(one.program.functions),
                    "channels": len(one.program.channels), "wrong": one.wrong,
                    "stopped": one.stopped or None,
                }
                for one in rows
            ],
        })  # fmt: skip
    _print(file, wanted.size, rows)
    if any(one.wrong for one in rows):
        raise typer.Exit(1)


def _print(file: Path, elements: int, rows: list[Outcome]) -> None:
    from rich.table import Table

    from ....reports import console_of_reports

    table = Table(title=f"{file.name}: {elements:,} elements", title_justify="left")
    for column in ("after", "functions", "channels", "wrong elements"):
        table.add_column(column, justify="left" if column == "after" else "right")
    for one in rows:
        counts = (f"{len(one.program.functions)}", f"{len(one.program.channels)}")
        table.add_row(one.name, *counts, one.stopped or f"{one.wrong:,}")
    console_of_reports().print(table)
