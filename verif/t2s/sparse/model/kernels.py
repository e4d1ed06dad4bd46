"""Kernels of sparse tensors by the letters of their indices, and random operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tilewright.sim.t2s.sparse.entries import Entries

from .plans import random_entries

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Kernel:
    """Sparse and dense tensors with their indices, and the result's."""

    sparse: Mapping[str, str]
    dense: Mapping[str, str]
    result: str
    merge: str = ""


KERNELS = {
    "spmv": Kernel({"A": "ik"}, {"x": "k"}, "i"),
    "spmm": Kernel({"A": "ik"}, {"B": "kj"}, "ij"),
    "turned": Kernel({"A": "ki"}, {"B": "jk"}, "ji"),
    "spmttkrp": Kernel({"A": "ikl"}, {"B": "kj", "C": "lj"}, "ij"),
    "spttv": Kernel({"A": "ilk"}, {"x": "kl"}, "i"),
    "spttm": Kernel({"A": "ik"}, {"B": "kjm"}, "mij"),
    "row_sums": Kernel({"A": "ik"}, {}, "i"),
    "hadamard": Kernel({"A": "ik", "B": "ik"}, {"x": "k"}, "i", "intersection"),
    "inner": Kernel({"A": "ik", "B": "ki"}, {}, "i", "intersection"),
    "union": Kernel({"A": "ik", "B": "ik"}, {"x": "k"}, "i", "union"),
    "union_sums": Kernel({"A": "ikl", "B": "ilk"}, {}, "i", "union"),
}


def operands(
    kernel: Kernel,
    bounds: Mapping[str, int],
    rng: np.random.Generator,
    words: Words,
    count: int,
) -> tuple[dict[str, Entries], dict[str, Words]]:
    """Sparse tensors of up to so many entries, and dense ones; words drawn from these."""
    sparse = {
        name: random_entries(rng, tuple(bounds[one] for one in letters), count, words)
        for name, letters in kernel.sparse.items()
    }
    dense = {
        name: rng.choice(words, tuple(bounds[one] for one in letters))
        for name, letters in kernel.dense.items()
    }
    return sparse, dense
