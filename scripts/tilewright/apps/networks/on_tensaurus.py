"""A graph convolutional network on Tensaurus: dense products with weights, sparse ones beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hw.spec.formats import FloatFormat
from ...sim.sparse.tensor import Tensor, to_csr
from ...sim.tensaurus.work import Work
from ..common.matrix_files import write_array
from ..common.rounding import round_to
from ..common.units.tensaurus import TensorChoice
from ..common.units.tensaurus_products import TensorProducts, as_stored, numbers_of, tensor_report
from .network import Given, Network, normalised, read_network

__all__ = ["on_tensaurus"]

Floats = NDArray[np.float64]


def on_tensaurus(choice: TensorChoice, given: Given, output: Path | None) -> None:
    """Run a network on the unit, write its result if that is asked for, and report.

    Raises UserError for what cannot be run.
    """
    config, graph = choice.config, given.graph
    assert isinstance(config.format, FloatFormat)
    edges = as_stored(graph, normalised(given.edges), config, 0)
    network = read_network(given, to_csr(edges), config.format)
    with TensorProducts(choice) as products:
        result = _computed(products, choice, edges, network)
    compared = network.compare(result, config.format)
    verdict = "DIFFERENT: " if compared.wrong else ""
    lines = [
        *network.lines,
        ("reference", f"SciPy in float64: {verdict}largest error {compared.error:.2e}, of values "
                      f"up to {compared.scale:.3g}"),
    ]  # fmt: skip
    if output:
        write_array(output, result.astype(np.float32) if config.value != "fp64" else result)
        lines.append(("written", str(output)))
    details: dict[str, Any] = {
        **network.details,
        "reference": {"source": "SciPy in float64", "wrong": int(compared.wrong),
                      "largest_error": compared.error, "largest_value": compared.scale},
    }  # fmt: skip
    tensor_report("gcn", f"graph convolutions on {graph.name}", lines, choice, products.tally,
                   details, wrong=compared.wrong).finish()  # fmt: skip


def _computed(
    products: TensorProducts, choice: TensorChoice, edges: Tensor, network: Network
) -> Floats:
    """The result on the accelerator."""
    fmt = choice.config.format
    found: Floats = network.given.values
    for number, weights in enumerate(network.weights):
        shape, columns = found.shape, weights.values.shape[1]
        work = Work(kernel="mm", shape=(shape[0], shape[1]), ranks=(columns,), dense=True)
        moved = products.multiply(work, round_to(found, fmt).words, {1: weights.words})
        work = Work(kernel="mm", shape=(shape[0], shape[0]), ranks=(columns,))
        found = np.asarray(numbers_of(products.multiply(work, edges, {1: moved}), fmt), np.float64)
        if not number:
            found = np.maximum(found, 0.0)
    return found
