"""What users may say about a graph and its closure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ..common.files import ARRAY_NAMES
from ..engine.options import EngineOptions

__all__ = ["ALGORITHMS", "GraphOptions", "SemiringOptions", "check_words"]

ALGORITHMS = ("leyzorek", "bellman-ford")
_WEIGHTS = ("given", "rate", "share")


@dataclass(frozen=True, kw_only=True)
class SemiringOptions(EngineOptions):
    """As `EngineOptions`, on the semiring unit."""

    unit: Annotated[
        str, typer.Option("--unit", help="Matrix unit with semirings.", rich_help_panel="Unit")
    ] = "simd2"


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """How a graph is read and its closure computed."""

    algorithm: Annotated[
        str,
        typer.Option(help="leyzorek: C = C (+) C (x) C; bellman-ford: D = D (+) A (x) D."),
    ] = "leyzorek"
    convergence_check: Annotated[
        bool,
        typer.Option(
            "--convergence-check/--no-convergence-check",
            help="Stop when nothing changes, or only after the most iterations that can be needed.",
        ),
    ] = True
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Use every edge in both directions.")
    ] = False
    upper_triangle: Annotated[
        bool,
        typer.Option(
            "--upper-triangle",
            help="Use only edges from a lower to a higher vertex, which form no cycle.",
        ),
    ] = False
    weights: Annotated[
        str,
        typer.Option(
            help="given; rate: a failure rate w becomes the reliability e^-w; share: w becomes "
            "its share of the largest weight."
        ),
    ] = "given"
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help=f"Write the values of all pairs of vertices, {ARRAY_NAMES}."
        ),
    ] = None
    picture: Annotated[
        Path | None,
        typer.Option(help="Write the values as a picture, .png: small ones dark, no path white."),
    ] = None


def check_words(options: GraphOptions) -> None:
    """Refuse words that are none of those allowed."""
    for name, value, allowed in (
        ("--algorithm", options.algorithm, ALGORITHMS),
        ("--weights", options.weights, _WEIGHTS),
    ):
        if value not in allowed:
            raise UserError(not_one_of(name, allowed, value))
    if options.undirected and options.upper_triangle:
        raise UserError("--undirected and --upper-triangle exclude each other")
