"""``tilewright run gcn``: a graph convolutional network of two layers, by default on Tensaurus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.formats import FloatFormat
from ....hw.spec.sida import SIDA
from ....hw.spec.tensaurus import TENSAURUS
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, MARKET, check_output, check_readable, kind_of
from ...common.first_lines import check_first_lines
from ...common.options import PANEL, DeviceOptions
from ...common.units.sida import SidaChoice, choose_sida
from ...common.units.tensaurus import (
    TensaurusOptions,
    TensorChoice,
    TensorOptions,
    choose_tensor_unit,
)

__all__ = ["gcn"]


def gcn(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="Adjacency matrix, .mtx.")],
    features: Annotated[
        Path, typer.Argument(metavar="FEATURES", help=f"Features, a row per vertex, {ARRAY_NAMES}.")
    ],
    hidden: Annotated[
        int, typer.Option(parser=whole("--hidden", 1, 4096), metavar="N",
                          help="Columns between the layers.")
    ] = 16,
    classes: Annotated[
        int, typer.Option(parser=whole("--classes", 1, 4096), metavar="N",
                          help="Columns of the result.")
    ] = 8,
    seed: Annotated[
        int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of random weights.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Write the result, {ARRAY_NAMES}.")
    ] = None,
    unit: Annotated[
        str,
        typer.Option("--unit", help="tensaurus; or sida, two columns per pass over the graph.",
                     rich_help_panel=PANEL),
    ] = TENSAURUS.name,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:  # fmt: skip
    """Run a graph convolutional network: A relu(A X V) W, of two layers with random weights.

    A is the graph with a loop at every vertex, normalised by the roots of degrees. Products with
    weights are dense, those with A sparse. The result is checked against SciPy in float64.
    """
    if output:
        check_output(output)
    choice: SidaChoice | TensorChoice
    if unit == SIDA.name:
        choice = _choose_sida(output, how, options)
    elif unit == TENSAURUS.name:
        choice = _choose_tensaurus(how, options)
    else:
        raise UserError(f"--unit of gcn must be {TENSAURUS.name} or {SIDA.name}, not {unit!r}")
    if kind_of(graph) in MARKET:
        check_first_lines(graph, _check_square)
    check_readable(graph)
    check_first_lines(features)
    from ...common.units.tensaurus import read_some_tensor

    edges = read_some_tensor(graph, how, (2,))
    _check_square(graph, *edges.shape)
    from ..network import Given, Sizes

    given = Given(
        graph=graph,
        edges=edges,
        features=features,
        sizes=Sizes(hidden=hidden, classes=classes, seed=seed),
    )
    if isinstance(choice, SidaChoice):
        vertices = edges.shape[0]
        choice.check_vertices(graph, vertices)
        from ..on_sida import on_sida

        on_sida(choice.sized(vertices, "vertices"), given)
    else:
        from ..on_tensaurus import on_tensaurus

        on_tensaurus(choice, given, output)


def _check_square(what: object, rows: int, columns: int) -> None:
    """Raise UserError unless a matrix is one of a graph."""
    if rows != columns:
        raise UserError(f"{what}: a graph's matrix must be square, not {rows} x {columns}")
    if not rows:
        raise UserError(f"{what}: a graph must have at least 1 vertex, not 0")


def _choose_sida(output: Path | None, how: TensorOptions, options: DeviceOptions) -> SidaChoice:
    """The unit of iterations; UserError for what it does not have."""
    for name, given in (
        ("--dense", how.dense), ("--tile", how.tile), ("--explain", how.explain),
    ):  # fmt: skip
        if given:
            raise UserError(f"{name} is not for {SIDA.name}, which has no tiles")
    return choose_sida(options, "gcn", "mma", output=output, floats=True)


def _choose_tensaurus(how: TensorOptions, options: DeviceOptions) -> TensorChoice:
    """The unit of tensors; UserError unless it has sums of products of floats."""
    choice = choose_tensor_unit(how, options)
    config = choice.config
    if config.semiring != "mma" or not isinstance(config.format, FloatFormat):
        raise UserError(f"gcn takes `semiring` mma and a float format, not {config.semiring!r} and "
                        f"{config.value!r}")  # fmt: skip
    return choice
