"""The command ``run toy-add``: what it takes, and what it refuses, before it imports what computes.

A system's: ``scripts/tilewright/apps/SUBJECT/commands``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from tilewright.apps.common.files import check_output
from tilewright.apps.common.first_lines import check_first_lines


def toy_add(
    array: Annotated[Path, typer.Argument(help="Integers, .npy.")],
    constant: Annotated[int, typer.Option(min=0, max=(1 << 32) - 1, help="What to add.")] = 1,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The sums, .npy.")] = None,
) -> None:
    """Add a constant to the elements of an array, modulo 2 ** 32."""
    if output is not None:
        check_output(output)
    check_first_lines(array)
    from tilewright.apps.common.matrix_files import read_array

    values = read_array(array)
    from tilewright.verif.catalogue.toy.sums import add_to

    add_to(values, constant, output)
