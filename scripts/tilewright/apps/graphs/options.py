"""Defines the options of a graph, its closure, and sparse products in place of dense ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ..common.files import ARRAY_NAMES
from ..common.units.matraptor import lanes_option
from ..common.units.matrix_unit import SemiringOptions

__all__ = ["ALGORITHMS", "GraphOptions", "SparseExtra", "check_words"]


_PANEL = "Unit, with --sparse"


@dataclass(frozen=True, kw_only=True)
class SparseExtra:
    """Option for sparse products, and those of their accelerator beside the matrix unit's."""

    sparse: Annotated[
        bool,
        typer.Option(
            "--sparse",
            help="By sparse products, on MatRaptor: --set and --config apply to it, and "
            "--backend may be cycles.",
        ),
    ] = False
    lanes: Annotated[int | None, lanes_option(_PANEL)] = None

    def check_none(self) -> None:
        """Refuse options that only count with --sparse, without it."""
        for item in fields(self):
            if item.name != "sparse" and getattr(self, item.name) is not None:
                raise UserError(
                    f"--{item.name} is for sparse products only: it must come with --sparse, "
                    f"not alone, as {getattr(self, item.name)!r}"
                )

    def check_others(self, dense: SemiringOptions) -> None:
        """Refuse options of the matrix unit that MatRaptor does not have."""
        if dense.unit != SemiringOptions.unit:
            raise UserError(f"unit must not be given with --sparse, not {dense.unit!r}")
        if dense.on != "unit":
            raise UserError(f"--on must not be given with --sparse, not {dense.on!r}")
        if dense.waves:
            raise UserError(f"{dense.waves}: waves are not written with --sparse")


ALGORITHMS = ("leyzorek", "bellman-ford")
_WEIGHTS = ("given", "rate", "share")


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """Options for reading a graph and computing its closure."""

    algorithm: Annotated[
        str,
        typer.Option(help="leyzorek: C = C (+) C (x) C; bellman-ford: D = D (+) A (x) D."),
    ] = "leyzorek"
    convergence_check: Annotated[
        bool,
        typer.Option(
            "--convergence-check/--no-convergence-check",
            help="Stop when nothing changes; else after the largest number of iterations that "
            "can be needed.",
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
        typer.Option(help="Plot the values, .png: small ones dark, no path white."),
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
