"""``tilewright run bignum``: the product of two long integers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.files import check_output, check_readable
from ...common.units.gta import ScheduleOptions
from ..choice import GtaOptions, choose_gta

__all__ = ["bignum"]

_SUFFIXES = (".txt", ".hex")


def bignum(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="An integer, decimal, or hexadecimal after 0x.")
    ],
    b: Annotated[
        Path, typer.Argument(metavar="B", help="Another integer. A .hex file needs no 0x.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write the product, .txt (decimal) or .hex (hexadecimal)."
        ),
    ] = None,
    *,
    how: ScheduleOptions,
    options: GtaOptions,
) -> None:
    """Multiply two long integers on GTA, as p-GEMMs of their pieces in int64.

    Integers of up to 2^20 bits each; the product is checked against Python's, bit for bit.
    """
    choice = choose_gta(options, "int64", how=how)
    if output:
        check_output(output, _SUFFIXES)
    for file in (a, b):
        check_readable(file)
    from ..gemm import multiply_integers

    multiply_integers(choice, a, b, output)
