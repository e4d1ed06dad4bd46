"""``gcn --unit sida``: a graph convolutional network, two columns a pass over the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...hw.spec.sida import SIDA
from ...sim.sida.iterations.convolutions import convolutions, output_names
from ...sim.sida.result.products import Rules
from ...sim.sida.sequence_driver import sum_of
from ...sim.sparse.tensor import to_csr
from ..common.files import write_array
from ..common.rounding import round_to, warn_rounding
from ..iterations.options import SidaChoice, SidaOptions, choose_sida
from ..iterations.outcome import outcome_of_jobs
from ..iterations.report import Rows, finish_iterations
from ..iterations.sequence_session import SequenceRun, run_jobs
from ..iterations.session import MOST_ELEMENTS
from ..iterations.verdict import Verdict
from ..tensors.options import TensorOptions
from .network import Network, Sizes, normalised, read_network

__all__ = ["on_sida"]


def on_sida(
    graph: Path, features: Path, sizes: Sizes, output: Path | None, options: TensorOptions
) -> None:
    """UserError for what the unit does not have."""
    for name, given in (
        ("--dense", options.dense), ("--tile", options.tile), ("--explain", options.explain),
    ):  # fmt: skip
        if given:
            raise UserError(f"{name} is not for {SIDA.name}, which has no tiles")
    chosen = SidaOptions(
        output=output,
        config_file=options.config_file,
        settings=options.settings,
        backend=options.backend,
        memory=options.memory,
        gigahertz=options.gigahertz,
        json_file=options.json_file,
    )
    choice = choose_sida(chosen, "gcn", "mma", floats=True)
    fmt = choice.config.format
    assert isinstance(fmt, FloatFormat)
    adjacency = to_csr(normalised(graph, options))
    choice.check_vertices(graph, adjacency.shape[0])
    rounded = round_to(adjacency.data, fmt)
    warn_rounding(graph, rounded, fmt)
    adjacency.data = np.asarray(rounded.values, np.float64)
    network = read_network(graph, adjacency, features, sizes, fmt)
    _check_weights(choice, network)
    computed = convolutions(
        Rules.of(choice.config), adjacency, network.given.values,
        [one.values for one in network.weights], words=choice.config.program_words,
    )  # fmt: skip
    run = run_jobs(choice, computed.setup, computed.compute)
    names = output_names(len(network.weights), sizes.classes)
    result = np.stack([run.values[name] for name in names], axis=1)
    rows = network.lines
    if output:
        write_array(output, result if choice.config.value == "fp64" else result.astype(np.float32))
        rows.append(("written", str(output)))
    parts = None
    if run.counts["cycles"]:
        parts = _parts(run)
        rows += _in_words(parts, run.found.iterations)
    finish_iterations(
        "gcn", f"graph convolutions on {graph.name}", rows, choice,
        outcome_of_jobs(choice, computed.setup, run), {**network.details, "parts": parts},
        verdict=_verdict(network, result, fmt), residual=None, steps="products",
    )  # fmt: skip


def _check_weights(choice: SidaChoice, network: Network) -> None:
    """UserError if a backend cannot take so many products with weights."""
    count = network.adjacency.shape[0] * sum(one.values.size for one in network.weights)
    most = MOST_ELEMENTS[choice.backend]
    if count > most:
        raise UserError(
            f"{count:,} products with weights are too many for the {choice.backend} backend, which "
            f"takes at most {most:,}"
        )


def _verdict(network: Network, result: Any, fmt: FloatFormat) -> Verdict:
    compared = network.compare(result, fmt)
    return Verdict(
        source="SciPy in float64",
        measure=f"of values up to {compared.scale:.3g} the largest error",
        error=compared.error,
        allowed=compared.allowed,
        wrong=int(compared.wrong),
    )


def _parts(run: SequenceRun) -> dict[str, dict[str, int]]:
    """What jobs over the graph took, with what its bytes would be one product a pass, and what
    those over vectors alone did."""
    over = [counts for job, counts in zip(run.jobs, run.each, strict=True) if job.matrix]
    alone = [counts for job, counts in zip(run.jobs, run.each, strict=True) if not job.matrix]
    twice = [counts for job, counts in zip(run.jobs, run.each, strict=True) if job.second]
    columns, whole, pairs = sum_of(over), sum_of(alone), sum_of(twice)
    streams = [f"bytes_{name}" for name in ("pointers", "rows", "values")]
    once = sum(columns[name] for name in streams)
    return {
        "graph": {
            "jobs": len(over),
            "cycles": columns["cycles"],
            "bytes_matrix": once + columns["bytes_again"],
            "bytes_one_by_one": once + sum(pairs.get(name, 0) for name in streams),
        },
        "weights": {
            "jobs": len(alone), "cycles": whole["cycles"], "bytes_read": whole["bytes_read"],
            "bytes_written": whole["bytes_written"],
        },
    }  # fmt: skip


def _in_words(parts: dict[str, dict[str, int]], products: int) -> Rows:
    """Rows of a report with cycles."""
    graph, weights = parts["graph"], parts["weights"]
    return [
        ("graph read", f"{graph['bytes_matrix']:,} bytes and {graph['cycles']:,} cycles in "
                       f"{graph['jobs']:,} passes; {products:,} passes of one product read "
                       f"{graph['bytes_one_by_one']:,}"),
        ("weights", f"{weights['jobs']:,} jobs over vectors alone: {weights['cycles']:,} cycles, "
                    f"{weights['bytes_read']:,} bytes read"),
    ]  # fmt: skip
