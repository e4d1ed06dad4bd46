"""Graph convolutional network: its inputs, its result in float64, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...sim.sparse.tensor import Tensor, from_csr, to_csr
from ..common.matrix_files import read_matrix
from ..common.rounding import Rounded, largest, round_to, warn_rounding

__all__ = ["Given", "Network", "Sizes", "normalised", "read_network"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Columns between the layers, and of the result; the seed of the weights."""

    hidden: int
    classes: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Given:
    """Files and sizes that the user gives.

    Parameters
    ----------
    graph, features: the files
    edges: what is in the first
    sizes: of the layers
    """

    graph: Path
    edges: Tensor
    features: Path
    sizes: Sizes


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network of two layers.

    Parameters
    ----------
    graph, features: the files
    adjacency: SciPy CSR, normalised, rounded to the format
    given: the features
    weights: of each layer
    expected: the result by SciPy in float64, of what the accelerator is given
    sizes: what the user asks for
    """

    graph: Path
    features: Path
    adjacency: Any
    given: Rounded
    weights: tuple[Rounded, ...]
    expected: Floats
    sizes: Sizes

    @property
    def columns(self) -> int:
        return int(self.given.values.shape[1])

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Rows of the printed report."""
        rows, sizes = self.adjacency.shape[0], self.sizes
        return [
            ("graph", f"{rows:,} vertices, {self.adjacency.nnz:,} values with the loops"),
            ("layers", f"{self.columns:,} to {sizes.hidden} to {sizes.classes} columns"),
        ]

    @property
    def details(self) -> dict[str, Any]:
        """Fields of the JSON report."""
        rows, sizes = self.adjacency.shape[0], self.sizes
        return {
            "graph": {"file": str(self.graph), "vertices": rows, "values": self.adjacency.nnz},
            "features": {"file": str(self.features), "columns": self.columns},
            "hidden": sizes.hidden, "classes": sizes.classes, "seed": sizes.seed,
        }  # fmt: skip

    def compare(self, result: Floats, fmt: FloatFormat) -> Compared:
        """A result in the format."""
        scale = float(np.abs(self.expected).max(initial=0.0))
        row = int(np.diff(self.adjacency.indptr).max(initial=0))
        # Sums of positive and negative terms: a share of the largest value, of the format's places.
        longest = row + self.columns + self.sizes.hidden
        return Compared(
            error=float(np.abs(result - self.expected).max(initial=0.0)),
            scale=scale,
            allowed=8 * longest * 2.0**-fmt.significand_bits * max(scale, 1e-30),
        )


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The largest error, the largest value that is expected, and what roundings explain."""

    error: float
    scale: float
    allowed: float

    @property
    def wrong(self) -> bool:
        return not self.error <= self.allowed


def normalised(found: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, each edge of weight 1 whatever the file says."""
    from scipy.sparse import csr_array, diags_array, eye_array

    matrix = to_csr(found)
    matrix = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix = (matrix + eye_array(matrix.shape[0], format="csr")).tocsr()
    matrix.data[:] = 1.0
    roots = diags_array(1 / np.sqrt(matrix.sum(axis=1)))
    return from_csr((roots @ matrix @ roots).tocsr())


def read_network(of: Given, adjacency: Any, fmt: FloatFormat) -> Network:
    """The features of a graph, and weights that are drawn. UserError for what are no features of
    it, or numbers that the format does not hold."""
    rows, features, sizes = adjacency.shape[0], of.features, of.sizes
    given = read_matrix(features)
    wrong = np.argwhere((np.imag(given) != 0) | ~np.isfinite(given))
    if len(wrong):
        row, column = wrong[0]
        raise UserError(f"{features}: values must be real and finite, not {given[row, column]} as "
                        f"in row {row}, column {column}, from 0")  # fmt: skip
    given = given.real
    if len(given) != rows:
        raise UserError(f"{features}: must have {rows} rows, as {of.graph} has vertices, "
                        f"not {len(given)}")  # fmt: skip
    rounded = round_to(given, fmt)
    if rounded.overflows:
        raise UserError(
            f"{features}: {rounded.overflows} of {given.size} values exceed the largest "
            f"{fmt.name} value {largest(fmt):.6g}"
        )
    warn_rounding(features, rounded, fmt)
    rng = np.random.default_rng(sizes.seed)
    layers = ((given.shape[1], sizes.hidden), (sizes.hidden, sizes.classes))
    weights = tuple(round_to(rng.standard_normal(shape) / np.sqrt(shape[0]), fmt)
                    for shape in layers)  # fmt: skip
    return Network(
        graph=of.graph, features=features, adjacency=adjacency, given=rounded, weights=weights,
        expected=_expected(features, adjacency, rounded, weights, fmt), sizes=sizes,
    )  # fmt: skip


def _expected(
    features: Path, adjacency: Any, given: Rounded, weights: tuple[Rounded, ...], fmt: FloatFormat
) -> Floats:
    """Computes the network with SciPy; UserError if an intermediate sum exceeds the format."""
    found = np.asarray(given.values, np.float64)
    for layer, one in enumerate(weights, 1):
        with np.errstate(all="ignore"):
            turned = found @ one.values
            found = np.asarray(adjacency @ turned, np.float64)
        for sums in (turned, found):
            most = float(np.abs(sums).max(initial=0.0))
            if not most <= largest(fmt):
                raise UserError(
                    f"{features}: sums of layer {layer} reach {most:.4g}, more than the largest "
                    f"{fmt.name} value {largest(fmt):.6g}"
                )
        if layer < len(weights):
            found = np.maximum(found, 0.0)
    return found
