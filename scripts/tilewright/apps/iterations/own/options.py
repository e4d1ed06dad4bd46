"""What a program of the user's is run with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ....numbers_given import whole

__all__ = ["OwnOptions"]


@dataclass(frozen=True, kw_only=True)
class OwnOptions:
    """What a program of the user's is run with."""

    first: Annotated[str, typer.Option("--semiring", help="Of both products, or of the first.")] = (
        "mma"
    )
    second: Annotated[
        str | None, typer.Option("--second-semiring", help="Of the second product.")
    ] = None
    transposed: Annotated[
        bool, typer.Option("--transposed", help="The second product is with the transpose of L.")
    ] = False
    count: Annotated[
        int,
        typer.Option(
            "--passes", parser=whole("--passes", 1, 1_000_000), metavar="N", help="At most."
        ),
    ] = 1
    x: Annotated[
        Path | None, typer.Option("--x", metavar="FILE", help="First operand; default: ones.")
    ] = None
    vectors: Annotated[
        list[str] | None,
        typer.Option("--vector", metavar="NAME=FILE", help="A vector; default: zeros."),
    ] = None
    scalars: Annotated[
        list[str] | None,
        typer.Option(
            "--scalar",
            metavar="NAME=VALUE",
            help="A scalar, or what a reduction is before the first pass.",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="NAME,NAME",
            help="Reductions of E1 and of E2: it ends when one is below --below.",
        ),
    ] = None
    below: Annotated[str | None, typer.Option("--below", metavar="F", help="See --until.")] = None
