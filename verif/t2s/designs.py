"""The designs that ship, and how each is checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tilewright.hw.t2s.designs
from scipy.ndimage import correlate

FOLDER = Path(tilewright.hw.t2s.designs.__file__).parent


class Design(NamedTuple):
    """Limits and bounds with which a design is checked.

    Parameters
    ----------
    lines: that its file may have, without blank ones and its docstring
    bounds: that no tile of factors of 3 at most divides
    einsum: what NumPy calls it; empty if that has no name for it
    """

    lines: int
    bounds: str
    einsum: str = ""


DESIGNS = {
    "gemm": Design(20, "i=10 j=11 k=13", "ik,kj->ij"),
    "mttkrp": Design(28, "i=10 j=11 k=4 l=5", "ikl,kj,lj->ij"),
    "ttm": Design(30, "i=4 j=10 k=11 l=5", "ijl,lk->ijk"),
    "ttmc": Design(37, "i=4 j=5 k=7 l=4 m=5", "ilm,lj,mk->ijk"),
    "conv2d": Design(40, "o=4 y=5 x=10 c=4 r=3 s=2"),
    "fir": Design(40, "n=19 t=7"),
    "gemv": Design(40, "i=19 k=7", "ik,k->i"),
    "ttv": Design(40, "i=4 j=10 k=7", "ijk,k->ij"),
    "apsp": Design(40, "i=10 j=11 k=7"),
    "stencil3d": Design(40, "z=4 y=5 x=10 a=3 b=2 c=3"),
}


CGRA = {
    "gemm": Design(40, "i=9 j=10 k=7", "ik,kj->ij"),
    "mttkrp": Design(32, "i=5 j=6 k=3 l=5", "ikl,kj,lj->ij"),
    "ttm": Design(47, "i=2 j=5 k=6 l=5", "ijl,lk->ijk"),
    "ttmc": Design(38, "i=2 j=5 k=4 l=3 m=5", "ilm,lj,mk->ijk"),
}
"""Designs in the folder ``cgra``, whose sums start from a tensor T."""

IN_HARDWARE = DESIGNS | {f"cgra/{name}": one for name, one in CGRA.items()}
"""All that are designs of the unit and have dense operands only, by the names that it has for
them."""

SPARSE = {
    "sparse/spmv": Design(8, "i=10 k=11", "ik,k->i"),
    "sparse/spmv_ciss": Design(8, "i=10 k=11", "ik,k->i"),
    "sparse/spmm": Design(10, "i=10 j=11 k=13", "ik,kj->ij"),
    "sparse/spmttkrp": Design(9, "i=10 j=11 k=4 l=5", "ikl,kj,lj->ij"),
    "sparse/hadamard": Design(9, "i=10 k=11", "ik,ik,k->i"),
    "sparse/union": Design(9, "i=10 k=11"),
}
"""Designs with sparse operands."""


def bounds_of(design: Design) -> dict[str, int]:
    """Returns the bounds of a design by index."""
    return {name: int(bound) for name, bound in (word.split("=") for word in design.bounds.split())}


def by_numpy(name: str, operands: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The result of whole numbers, in the order of the definition's tensors."""
    given = [one.astype(np.int64) for one in operands.values()]
    if name.startswith("cgra/"):
        *factors, start = given
        return start + np.einsum(IN_HARDWARE[name].einsum, *factors)
    if IN_HARDWARE[name].einsum:
        return np.einsum(IN_HARDWARE[name].einsum, *given)
    if name == "apsp":
        return np.min(given[0][:, :, None] + given[1][None, :, :], axis=1)
    if name == "fir":
        return np.correlate(given[0], given[1], mode="valid")
    if name == "stencil3d":
        return _valid(*given)
    images, filters = given
    return np.stack([_valid(images, one)[0] for one in filters])


def _valid(image: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The correlation of an image with weights that lie inside it."""
    whole = correlate(image, weights, mode="constant", origin=[-(n // 2) for n in weights.shape])
    return whole[tuple(slice(n - k + 1) for n, k in zip(image.shape, weights.shape, strict=True))]
