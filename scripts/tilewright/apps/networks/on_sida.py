"""A graph convolutional network, two columns a pass over the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...sim.sida.iterations.convolutions import GIVEN, GRAPH, block_in, convolutions, output_names
from ...sim.sida.iterations.jobs import Job
from ...sim.sida.references import POINTER_BYTES
from ...sim.sida.result.products import Rules
from ...sim.sida.sequence_driver import sum_of
from ...sim.sparse.tensor import to_csr
from ..common.limits import other_backend
from ..common.matrix_files import write_array
from ..common.report import Rows
from ..common.rounding import round_to, warn_rounding
from ..common.units.sida import SidaChoice
from ..common.units.sida_report import Verdict, iteration_report, outcome_of_jobs
from ..common.units.sida_runs import MOST_ELEMENTS, SequenceRun, run_jobs
from .network import Given, Network, normalised, read_network

__all__ = ["on_sida"]


def on_sida(choice: SidaChoice, given: Given) -> None:
    """Run a network on the unit, write the requested files, and report.

    Raises UserError for what is too large for a backend.
    """
    fmt = choice.config.format
    assert isinstance(fmt, FloatFormat)
    graph, sizes, output = given.graph, given.sizes, choice.output
    adjacency = to_csr(normalised(given.edges))
    rounded = round_to(adjacency.data, fmt)
    warn_rounding(graph, rounded, fmt)
    adjacency.data = np.asarray(rounded.values, np.float64)
    network = read_network(given, adjacency, fmt)
    over_matrix = _over_matrix(choice, network)
    _check_weights(choice, network, int(over_matrix))
    computed = convolutions(
        Rules.of(choice.config), adjacency, network.given.values,
        [one.values for one in network.weights], words=choice.config.program_words,
        over_matrix=over_matrix,
    )  # fmt: skip
    run = run_jobs(choice, computed.setup, computed.compute)
    names = output_names(len(network.weights), sizes.classes)
    result = np.stack([run.values[name] for name in names], axis=1)
    values = int(np.count_nonzero(network.given.words))
    how = "a matrix, two columns of weights a pass" if over_matrix else "columns"
    rows = [*network.lines, ("features", f"{values:,} that are not 0; read as {how}")]
    details = network.details
    details["features"] |= {"values": values, "over_matrix": over_matrix}
    if output:
        write_array(output, result if choice.config.value == "fp64" else result.astype(np.float32))
        rows.append(("written", str(output)))
    parts = None
    if run.counts["cycles"]:
        parts = _parts(run)
        rows += _in_words(parts)
    iteration_report(
        "gcn", f"graph convolutions on {graph.name}", rows, choice,
        outcome_of_jobs(choice, computed.setup, run), {**details, "parts": parts},
        verdict=_verdict(network, result, fmt), residual=None, steps="products",
    ).finish()  # fmt: skip


def _over_matrix(choice: SidaChoice, network: Network) -> bool:
    """Tells whether the features are read as a matrix. They are where its passes take less time
    than jobs over columns; passes are measured by bytes or elements, jobs by instructions."""
    config, (size, columns) = choice.config, network.given.values.shape
    leave = network.weights[0].values.shape[1]
    elements = int(np.count_nonzero(network.given.words))
    if columns > size or not elements:
        return False
    value_bytes = config.format.bits // 8
    # Bytes of a pass: the elements, the columns' ends, and four vectors.
    moved = elements * (value_bytes + POINTER_BYTES) + size * (POINTER_BYTES + 4 * value_bytes)
    width = config.channels * config.geometry.beat_bytes
    a_pass = max(moved / width, elements / config.pes)
    words = sum(part.words for _, _, part in block_in(config.program_words).parts(columns, leave))
    return -(-leave // 2) * a_pass < -(-size // config.pes) * words


def _check_weights(choice: SidaChoice, network: Network, first: int) -> None:
    """UserError if a backend cannot take so many products with weights from a layer on."""
    layers = network.weights[first:]
    count = network.adjacency.shape[0] * sum(one.values.size for one in layers)
    most = MOST_ELEMENTS[choice.backend]
    if count > most:
        raise UserError(
            f"{count:,} products with weights are too many for the {choice.backend} backend, which "
            f"takes at most {most:,}{other_backend(MOST_ELEMENTS, choice.backend, count)}"
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
    """Sums the counters of jobs over each matrix, with the bytes of one product a pass, and the
    counters of jobs over vectors alone."""
    jobs = list(zip(run.jobs, run.each, strict=True))
    alone = sum_of([counts for job, counts in jobs if job.matrix is None])
    return {
        "graph": _over(jobs, GRAPH),
        "features": _over(jobs, GIVEN),
        "weights": {
            "jobs": len(run.jobs) - run.passes,
            **{name: alone.get(name, 0) for name in ("cycles", "bytes_read", "bytes_written")},
        },
    }


def _over(jobs: list[tuple[Job, Mapping[str, int]]], matrix: str) -> dict[str, int]:
    """Sums the counters of jobs over one matrix."""
    every = [(job.second, counts) for job, counts in jobs if job.matrix == matrix]
    streams = [f"bytes_{name}" for name in ("pointers", "rows", "values")]
    return {
        "jobs": len(every),
        "products": sum(1 + second for second, _ in every),
        "cycles": sum(counts["cycles"] for _, counts in every),
        "bytes_matrix": sum(
            counts[name] for _, counts in every for name in (*streams, "bytes_again")
        ),
        "bytes_one_by_one": sum(
            (1 + second) * counts[name] for second, counts in every for name in streams
        ),
    }


def _in_words(parts: dict[str, dict[str, int]]) -> Rows:
    """Rows of a report with cycles."""
    rows, weights = [], parts["weights"]
    for name in ("graph", "features"):
        part = parts[name]
        if part["jobs"]:
            text = (
                f"{part['bytes_matrix']:,} bytes and {part['cycles']:,} cycles in {part['jobs']:,} "
                f"passes; {part['products']:,} passes of one product read "
                f"{part['bytes_one_by_one']:,}"
            )
            rows.append((f"{name} read", text))
    if weights["jobs"]:
        text = (
            f"{weights['jobs']:,} jobs over vectors alone: {weights['cycles']:,} cycles, "
            f"{weights['bytes_read']:,} bytes read"
        )
        rows.append(("weights", text))
    return rows
