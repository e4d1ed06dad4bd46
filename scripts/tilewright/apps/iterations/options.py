"""Options of all commands that iterate, and of a program of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...numbers_given import whole
from ..common.files import ARRAY_NAMES

__all__ = ["IterationOptions", "OwnOptions"]


@dataclass(frozen=True, kw_only=True)
class OwnOptions:
    """Options of a user's program."""

    first: Annotated[
        str, typer.Option("--semiring", help="Semiring of both products, or of the first.")
    ] = "mma"
    second: Annotated[
        str | None, typer.Option("--second-semiring", help="Semiring of the second product.")
    ] = None
    transposed: Annotated[
        bool,
        typer.Option("--transposed", help="Multiply by the transpose of L in the second product."),
    ] = False
    count: Annotated[
        int,
        typer.Option(
            "--passes",
            parser=whole("--passes", 1, 1_000_000),
            metavar="N",
            help="Stop after N passes.",
        ),
    ] = 1
    x: Annotated[
        Path | None, typer.Option("--x", metavar="FILE", help="The first x; default: ones.")
    ] = None
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            "--vector", metavar="NAME=FILE", help="Initial values of a vector; default: zeros."
        ),
    ] = None
    scalars: Annotated[
        list[str] | None,
        typer.Option(
            "--scalar",
            metavar="NAME=VALUE",
            help="Value of a scalar, or of a reduction before the first pass.",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="NAME,NAME",
            help="Reductions of E1 and of E2: stop when one is less than --below.",
        ),
    ] = None
    below: Annotated[
        str | None, typer.Option("--below", metavar="F", help="Limit of the reductions of --until.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class IterationOptions:
    """Options for the number of iterations, and for the files of values."""

    max_iterations: Annotated[
        int | None,
        typer.Option(
            parser=whole("--max-iterations", 1, 1_000_000),
            metavar="N",
            help="Stop after N iterations.",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help=f"Write a value for each vertex or row, {ARRAY_NAMES}."
        ),
    ] = None
