"""Compressed sparse fibers (CSF)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.sim.sparse.tensor import Tensor, canonical, modes_from

Ints = npt.NDArray[np.int64]


class Csf(NamedTuple):
    """A tree whose leaves are a tensor's entries.

    shape: indices of each mode; mode: that of the first level, the others follow in their order
    indices: of each level the nodes' indices, all children of a node together
    pointers: of each level but the last where each node's children begin, and the last one's end
    values: of the leaves, float64 or int64
    """

    shape: tuple[int, ...]
    mode: int
    indices: tuple[Ints, ...]
    pointers: tuple[Ints, ...]
    values: npt.NDArray[Any]


def to_csf(tensor: Tensor, mode: int = 0) -> Csf:
    """The tree of a tensor: each place once, indices ascend in every node."""
    found = canonical(tensor, mode)
    new = np.zeros(found.nnz, np.bool_)
    new[:1] = True
    indices, heads = [], []
    for one in modes_from(tensor.order, mode):
        column = found.indices[:, one]
        new[1:] |= column[1:] != column[:-1]
        heads.append(np.flatnonzero(new))
        indices.append(column[heads[-1]])
    pointers = [
        np.append(np.searchsorted(below, above), len(below)) for above, below in pairwise(heads)
    ]
    return Csf(tensor.shape, mode, tuple(indices), tuple(pointers), found.values)


def from_csf(csf: Csf) -> Tensor:
    """The tensor of a tree, its entries as the leaves are.

    Raises ValueError if the arrays do not fit each other.
    """
    order = len(csf.shape)
    modes = modes_from(order, csf.mode)
    for name, parts, count in (
        ("indices", csf.indices, order), ("pointers", csf.pointers, order - 1)
    ):  # fmt: skip
        if len(parts) != count:
            raise ValueError(f"`{name}` must be of {count} levels, not {len(parts)}")
    for level, pointers in enumerate(csf.pointers):
        nodes, below = len(csf.indices[level]), len(csf.indices[level + 1])
        lengths = np.diff(pointers)
        fits = len(pointers) == nodes + 1 and not pointers[0] and pointers[-1] == below
        if not fits or (lengths < 0).any():
            raise ValueError(
                f"`pointers` of level {level} must be {nodes + 1} that ascend from 0 to {below}"
            )
    indices = np.empty((len(csf.values), order), np.int64)
    leaves = np.arange(len(csf.indices[-1]) + 1)
    for level in reversed(range(order)):
        if level < order - 1:
            leaves = leaves[csf.pointers[level]]
        column = np.repeat(csf.indices[level], np.diff(leaves))
        if len(column) != len(csf.values):
            raise ValueError(f"`values` must be {len(column)}, not {len(csf.values)}")
        indices[:, modes[level]] = column
    return Tensor(shape=csf.shape, indices=indices, values=csf.values)
