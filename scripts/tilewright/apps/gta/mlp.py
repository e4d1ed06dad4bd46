"""Full layers on GTA: a p-GEMM each, its bias as C; what is below 0 becomes 0 between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ..common.limits import check_size
from ..common.matrix_files import write_array
from .agreement import Agreement, compare_product, together
from .network import Layer, drawn_network, encoded_points, read_network
from .operands import Operand, numbers_in, operand_of, read_numbers, result_format
from .options import GtaChoice
from .products import GtaProducts, check_products
from .report import finish_gta

__all__ = ["Drawn", "run_network"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What is drawn where no files are given: ``layers`` of ``width`` before the last one, and
    ``samples``, by ``seed``."""

    layers: int
    width: int
    samples: int
    seed: int


@dataclass(kw_only=True)
class _Passed:
    """What has gone through some layers.

    Parameters
    ----------
    found: on GTA, as numbers
    reference: in float64, weights and samples as they were given
    rounded: values that became others in the format on entering layers, and in weights
    layers: of each, its p-GEMM beside NumPy's product of what entered it
    """

    found: Floats
    reference: Floats
    rounded: int = 0
    layers: list[Agreement] = field(default_factory=list)


def run_network(
    choice: GtaChoice, weights: Path | None, points: Path | None, drawn: Drawn, output: Path | None
) -> None:
    """Pass samples through a network, write what leaves it, (samples, outputs), if that is asked
    for, and report. Raises UserError for samples that do not fit the network."""
    layers = read_network(weights) if weights else drawn_network(drawn.seed, drawn.layers,
                                                                 drawn.width)  # fmt: skip
    inputs = layers[0].weights.shape[0]
    samples = _samples(points, drawn, inputs, weights)
    widest = max(max(layer.weights.shape) for layer in layers)
    check_size("what passes the widest layer", len(samples), widest)
    what = f"{len(samples)} samples"
    check_products(what, choice, len(samples) * sum(layer.weights.size for layer in layers))
    entering = operand_of(points or "the samples", samples, choice.format)
    passed = _Passed(found=samples, reference=samples)
    with GtaProducts(choice) as products:
        for number, layer in enumerate(layers):
            _pass(choice.format, products, passed, layer, number, entering, samples)
            if number < len(layers) - 1:
                passed.found = np.maximum(passed.found, 0)
                passed.reference = np.maximum(passed.reference, 0)
    largest, mean = _error(passed)
    widths = [inputs, *(layer.weights.shape[1] for layer in layers)]
    again = [number for number, layer in enumerate(layers) if layer.again]
    lines = [
        ("network", " - ".join(map(str, widths)) + "".join(f", inputs again into w{n}"
                                                           for n in again)),
        ("weights", str(weights) if weights else f"drawn, seed {drawn.seed}"),
        ("samples", f"{len(samples):,}, {points or f'drawn, seed {drawn.seed}'}"),
        ("rounded", f"{passed.rounded:,} values to {choice.format}, of weights and on entering "
                    f"layers"),
        ("error", "no result is finite" if largest is None else
                  f"max {largest:.2e}, mean {mean:.2e} of the network in double precision"),
    ]  # fmt: skip
    if output:
        write_array(output, passed.found.astype(np.float32 if choice.format != "fp64" else float))
        lines.append(("written", str(output)))
    details = {
        "weights": str(weights) if weights else None, "points": str(points) if points else None,
        "samples": len(samples), "widths": widths, "again": again, "rounded": passed.rounded,
        "error": {"max": largest, "mean": mean},
    }  # fmt: skip
    title = f"{len(layers)} layers over {len(samples):,} samples"
    finish_gta("mlp", title, lines, choice, products.tally, [together(passed.layers)], details)


def _error(passed: _Passed) -> tuple[float | None, float | None]:
    """The largest and the mean of those that are finite; None if none is."""
    with np.errstate(invalid="ignore"):
        error = np.abs(passed.found - passed.reference)
    usable = error[np.isfinite(error)]
    return (float(usable.max()), float(usable.mean())) if usable.size else (None, None)


def _samples(points: Path | None, drawn: Drawn, inputs: int, weights: Path | None) -> Floats:
    if points is None:
        found = encoded_points(drawn.seed, drawn.samples)
        if found.shape[1] != inputs:
            raise UserError(f"{weights}: w0 must have {found.shape[1]} rows for samples that are "
                            f"drawn, not {inputs}: give samples, too")  # fmt: skip
        return found
    samples: Floats = read_numbers(points).astype(np.float64)
    if samples.shape[1] != inputs:
        raise UserError(f"{points}: must have {inputs} columns, as the network has inputs, not "
                        f"{samples.shape[1]}")  # fmt: skip
    if not np.isfinite(samples).all():
        raise UserError(f"{points}: samples must be finite")
    return samples


def _pass(
    format: str,
    products: GtaProducts,
    passed: _Passed,
    layer: Layer,
    number: int,
    first: Operand,
    samples: Floats,
) -> None:
    """Through one more layer; ``first`` and ``samples`` enter the network."""
    entering = operand_of(f"what enters layer {number}", passed.found, format)
    words, values, reference = entering.words, entering.values, passed.reference
    if layer.again:
        words = np.concatenate([words, first.words], axis=1)
        values = np.concatenate([values, first.values], axis=1)
        reference = np.concatenate([reference, samples], axis=1)
    weights = operand_of(f"w{number}", layer.weights, format)
    bias = operand_of(f"b{number}", layer.bias, result_format(format))
    passed.rounded += entering.rounded + weights.rounded + bias.rounded
    addend = np.broadcast_to(bias.words, (len(values), len(bias.words)))
    sums = products.multiply(words, weights.words, addend)
    start = np.broadcast_to(bias.values, addend.shape)
    passed.layers.append(compare_product(format, sums, values, weights.values, start))
    passed.found = numbers_in(sums, result_format(format)).astype(np.float64)
    passed.reference = reference @ layer.weights + layer.bias
