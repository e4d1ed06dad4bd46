"""``tilewright run gcn``: a graph convolutional network of two layers on Tensaurus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...numbers_given import whole
from ...sim.sparse.tensor import Tensor, from_csr, to_csr
from ...sim.tensaurus.work import Work
from ..common.files import check_output, read_matrix, write_array
from ..common.rounding import round_to, warn_rounding
from .operands import as_stored, read_some_tensor
from .options import TensorChoice, TensorOptions, choose_tensor_unit
from .report import finish_tensors
from .session import TensorProducts, numbers_of

__all__ = ["gcn"]

Floats = NDArray[np.float64]


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
    *,
    options: TensorOptions,
) -> None:  # fmt: skip
    """Run a graph convolutional network: A relu(A X V) W, of two layers with random weights.

    A is the graph with a loop at every vertex, normalised by the roots of degrees. Products with
    weights are dense, those with A sparse; checked against SciPy in float64.
    """
    if output:
        check_output(output)
    choice = choose_tensor_unit(options)
    config = choice.config
    if config.semiring != "mma" or not isinstance(config.format, FloatFormat):
        raise UserError(f"gcn takes `semiring` mma and a float format, not {config.semiring!r} and "
                        f"{config.value!r}")  # fmt: skip
    edges = as_stored(graph, _normalised(graph, options), config, 0)
    rows = edges.shape[0]
    given = read_matrix(features)
    if np.iscomplexobj(given) or not np.isfinite(given).all():
        raise UserError(f"{features}: values must be real and finite")
    if len(given) != rows:
        raise UserError(f"{features}: must have {rows} rows, as {graph} has vertices, "
                        f"not {len(given)}")  # fmt: skip
    warn_rounding(features, round_to(given, config.format), config.format)
    rng = np.random.default_rng(seed)
    layers = [rng.standard_normal(shape) / np.sqrt(shape[0])
              for shape in ((given.shape[1], hidden), (hidden, classes))]  # fmt: skip
    with TensorProducts(choice) as products:
        result, expected = _network(products, choice, edges, given, layers)
    largest = float(np.abs(result - expected).max(initial=0.0))
    scale = float(np.abs(expected).max(initial=0.0))
    # Sums of positive and negative terms: a share of the largest value, of the format's places.
    longest = int(np.bincount(edges.indices[:, 0]).max(initial=0)) + given.shape[1] + hidden
    bound = 8 * longest * 2.0**-config.format.significand_bits * max(scale, 1e-30)
    wrong = not largest <= bound
    verdict = "DIFFERENT: " if wrong else ""
    lines = [
        ("graph", f"{rows:,} vertices, {edges.nnz:,} values with the loops"),
        ("layers", f"{given.shape[1]:,} to {hidden} to {classes} columns"),
        ("reference", f"SciPy in float64: {verdict}largest error {largest:.2e}, of values up to "
                      f"{scale:.3g}"),
    ]  # fmt: skip
    if output:
        write_array(output, result.astype(np.float32) if config.value != "fp64" else result)
        lines.append(("written", str(output)))
    details: dict[str, Any] = {
        "graph": {"file": str(graph), "vertices": rows, "values": edges.nnz},
        "features": {"file": str(features), "columns": given.shape[1]},
        "hidden": hidden, "classes": classes, "seed": seed,
        "reference": {"source": "SciPy in float64", "wrong": int(wrong),
                      "largest_error": largest, "largest_value": scale},
    }  # fmt: skip
    finish_tensors("gcn", f"graph convolutions on {graph.name}", lines, choice, products.tally,
                   details, wrong=wrong)  # fmt: skip


def _normalised(path: Path, options: TensorOptions) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, each edge of weight 1 whatever the file says."""
    from scipy.sparse import csr_array, diags_array, eye_array

    found = read_some_tensor(path, options, (2,))
    if found.shape[0] != found.shape[1]:
        shape = " x ".join(map(str, found.shape))
        raise UserError(f"{path}: a graph's matrix must be square, not {shape}")
    matrix = to_csr(found)
    matrix = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix = (matrix + eye_array(matrix.shape[0], format="csr")).tocsr()
    matrix.data[:] = 1.0
    roots = diags_array(1 / np.sqrt(matrix.sum(axis=1)))
    return from_csr((roots @ matrix @ roots).tocsr())


def _network(
    products: TensorProducts, choice: TensorChoice, edges: Tensor, given: Floats,
    layers: list[Floats],
) -> tuple[Floats, Floats]:  # fmt: skip
    """The result on the accelerator, and in float64 on what the accelerator is given."""
    fmt = choice.config.format
    adjacency = to_csr(edges)
    found = given
    expected = round_to(given, fmt).values
    for number, weights in enumerate(layers):
        rounded = round_to(weights, fmt)
        words = round_to(found, fmt).words
        shape, columns = found.shape, weights.shape[1]
        work = Work(kernel="mm", shape=(shape[0], shape[1]), ranks=(columns,), dense=True)
        moved = products.multiply(work, words, {1: rounded.words})
        work = Work(kernel="mm", shape=(shape[0], shape[0]), ranks=(columns,))
        found = np.asarray(numbers_of(products.multiply(work, edges, {1: moved}), fmt), np.float64)
        expected = adjacency @ (expected @ rounded.values)
        if not number:
            found, expected = np.maximum(found, 0.0), np.maximum(expected, 0.0)
    return found, expected
