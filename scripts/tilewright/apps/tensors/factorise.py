"""CP-ALS and HOOI: the loops around MTTKRP and TTMc, and small dense solves, in float64.

Source: Kolda and Bader, "Tensor Decompositions and Applications", figures 3.3 and 4.4. The normal
matrix of CP-ALS is the Hadamard product of the Gram matrices; the thesis prints a minus. Missing
values: Tomasi and Bro, "PARAFAC and missing values", the method that imputes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cp", "Tucker", "cp_als", "hooi", "leading_vectors"]

Floats = NDArray[np.float64]
Kernel = Callable[[int, Sequence[Floats]], Floats]
"""MTTKRP or TTMc along a mode, given the matrices of the other modes in their order."""
Fill = Callable[[Floats, list[Floats]], tuple[float, float]]
"""Sets a tensor's missing values to those of weights and factors. Returns its norm then, and what
that adds to the inner product of the two."""


@dataclass(frozen=True)
class Cp:
    """A sum of ``weights[r]`` times outer products of columns ``r`` of the factors.

    fits: after each iteration 1 - the norm of what is left / that of the tensor
    """

    weights: Floats
    factors: list[Floats]
    fits: list[float]


@dataclass(frozen=True)
class Tucker:
    """A core times a matrix with orthonormal columns in each mode; ``fits`` as of ``Cp``."""

    core: Floats
    factors: list[Floats]
    fits: list[float]


def _others(order: int, mode: int) -> list[int]:
    return [other for other in range(order) if other != mode]


def _stops(fits: list[float], tolerance: float) -> bool:
    return len(fits) > 1 and abs(fits[-1] - fits[-2]) < tolerance


def cp_als(
    mttkrp: Kernel, start: Sequence[Floats], norm: float, *, iterations: int, tolerance: float,
    fill: Fill | None = None,
) -> Cp:  # fmt: skip
    """Alternating least squares.

    Parameters
    ----------
    mttkrp: with the tensor
    start: a matrix for each mode, of as many columns as there are terms; that of mode 0 is not used
    norm: of the tensor
    iterations: at most; before, it stops if the fit changes by less than ``tolerance``
    fill: of a tensor with missing values: after each iteration these become the factors' own, so
        that they do not count; the fit is that to the tensor so filled
    """
    factors = [np.array(factor, np.float64) for factor in start]
    order = len(factors)
    weights: Floats = np.ones(factors[0].shape[1])
    fits: list[float] = []
    while len(fits) < iterations and not _stops(fits, tolerance):
        product = factors[0]
        for mode in range(order):
            others = _others(order, mode)
            product = mttkrp(mode, [factors[other] for other in others])
            normal = np.ones((len(weights), len(weights)))
            for other in others:
                normal *= factors[other].T @ factors[other]
            solved = _solve(normal, product)
            weights = np.maximum(np.abs(solved).max(axis=0), 1.0) if fits else _lengths(solved)
            factors[mode] = _divided(solved, weights)
        gram = np.outer(weights, weights)
        for factor in factors:
            gram *= factor.T @ factor
        inner = float(((factors[-1] * product).sum(axis=0) * weights).sum())
        if fill is not None:
            norm, more = fill(weights, factors)
            inner += more
        left = max(0.0, norm**2 + float(gram.sum()) - 2 * inner)
        fits.append(1 - sqrt(left) / norm if norm else 1.0)
    return _arranged(weights, factors, fits)


def _solve(normal: Floats, product: Floats) -> Floats:
    """X with X normal = product; of the least norm if there are many."""
    try:
        found: Any = np.linalg.solve(normal.T, product.T)
    except np.linalg.LinAlgError:
        found = np.linalg.lstsq(normal.T, product.T, rcond=None)[0]
    return np.asarray(found.T, np.float64)


def _lengths(factor: Floats) -> Floats:
    """Returns the 2-norms of the columns."""
    found: Floats = np.sqrt((factor**2).sum(axis=0))
    return found


def _divided(factor: Floats, lengths: Floats) -> Floats:
    """Columns of zeros stay."""
    found: Floats = factor / np.where(lengths == 0, 1.0, lengths)
    return found


def _arranged(weights: Floats, factors: list[Floats], fits: list[float]) -> Cp:
    """Columns of length 1, the heaviest first."""
    weights = weights.copy()
    for mode, factor in enumerate(factors):
        lengths = _lengths(factor)
        weights *= lengths
        factors[mode] = _divided(factor, lengths)
    order = np.argsort(-np.abs(weights), kind="stable")
    return Cp(weights[order], [factor[:, order] for factor in factors], fits)


def hooi(
    ttmc: Kernel, start: Sequence[Floats], norm: float, *, iterations: int, tolerance: float
) -> Tucker:
    """Higher-order orthogonal iteration; see :func:`cp_als`. ``ttmc``: the tensor times the
    transposes of the other modes' matrices, that mode first."""
    factors = [np.array(factor, np.float64) for factor in start]
    order = len(factors)
    core = np.zeros(0)
    fits: list[float] = []
    while len(fits) < iterations and not _stops(fits, tolerance):
        for mode in range(order):
            product = ttmc(mode, [factors[other] for other in _others(order, mode)])
            unfolded = product.reshape(len(product), -1)
            factors[mode] = leading_vectors(unfolded, factors[mode].shape[1])
            core = np.tensordot(factors[mode].T, product, axes=1)
        left = max(0.0, norm**2 - float((core**2).sum()))
        fits.append(1 - sqrt(left) / norm if norm else 1.0)
    return Tucker(np.moveaxis(core, 0, -1), factors, fits)


def leading_vectors(matrix: Floats, count: int) -> Floats:
    """The left singular vectors of the largest singular values, each with its largest element
    positive."""
    left: Any = np.linalg.svd(matrix, full_matrices=matrix.shape[1] < count)[0][:, :count]
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(count)])
    found: Floats = left * np.where(signs == 0, 1.0, signs)
    return found
