"""``tilewright run gcn``: a graph convolutional network of two layers, by default on Tensaurus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...errors import UserError
from ...hw.spec.sida import SIDA
from ...hw.spec.tensaurus import TENSAURUS
from ...numbers_given import whole
from ..common.files import check_output
from ..common.options import PANEL
from ..tensors.options import TensorOptions
from .network import Sizes
from .on_sida import on_sida
from .on_tensaurus import on_tensaurus

__all__ = ["gcn"]


def gcn(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="Edges, .mtx.")],
    features: Annotated[
        Path, typer.Argument(metavar="FEATURES", help="A row a vertex, .npy or .mtx.")
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
        int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Of the weights.")
    ] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The result, .npy or .mtx.")
    ] = None,
    unit: Annotated[
        str,
        typer.Option("--unit", help="tensaurus, or sida: two columns a pass over the graph.",
                     rich_help_panel=PANEL),
    ] = TENSAURUS.name,
    *,
    options: TensorOptions,
) -> None:  # fmt: skip
    """Run a graph convolutional network: A relu(A X V) W, of two layers with random weights.

    A is the graph with a loop at every vertex, normalised by the roots of degrees. Products with
    weights are dense, those with A sparse; checked against SciPy in float64.
    """
    if output:
        check_output(output)
    sizes = Sizes(hidden=hidden, classes=classes, seed=seed)
    if unit == SIDA.name:
        on_sida(graph, features, sizes, output, options)
    elif unit == TENSAURUS.name:
        on_tensaurus(graph, features, sizes, output, options)
    else:
        raise UserError(f"--unit of gcn must be {TENSAURUS.name} or {SIDA.name}, not {unit!r}")
