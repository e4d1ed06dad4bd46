"""``tilewright tcu list``: the algorithms."""

from __future__ import annotations

from ....reports import console_of_reports, write_json
from ...common.files import check_output
from ...common.options import JsonOption
from ..algorithms import ALGORITHMS

__all__ = ["list_algorithms"]


def list_algorithms(json_file: JsonOption = None) -> None:
    """List the algorithms with theorem, problem, number types and sizes."""
    if json_file:
        check_output(json_file, (".json",))
        rows = [
            {**row._asdict(), "name": name, "sizes": {one.name: one.meaning for one in row.sizes}}
            for name, row in ALGORITHMS.items()
        ]
        write_json(json_file, {"algorithms": rows})
    from rich.table import Table

    table = Table()
    for column in ("algorithm", "theorem", "problem", "words", "sizes", "run"):
        table.add_column(column, no_wrap=column == "algorithm")
    for name, row in ALGORITHMS.items():
        sizes = "; ".join(f"{one.name}: {one.meaning}" for one in row.sizes)
        table.add_row(name, row.theorem, row.problem, row.words, sizes, row.run)
    console_of_reports().print(table)
