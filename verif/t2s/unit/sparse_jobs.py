"""Random sparse operands of jobs, and how much memory they may take."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.sim.t2s.sizes import shape_of
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.image import most_bytes

from .random_words import random_words

__all__ = ["largest_images", "random_sparse"]

_MOST = 300
"""Entries of a tensor: each costs the Verilog some cycles."""


def random_sparse(
    rng: np.random.Generator, design: Design, bounds: Mapping[str, int]
) -> dict[str, Entries]:
    """Entries of all sparse tensors: none, all, or some, of which one row may have most. Two
    tensors have some places in common."""
    found = {}
    common = np.zeros(0, np.int64)
    for name in design.program.sparse:
        shape = shape_of(design.program.tensor(name).dimensions, bounds)
        places = rng.permutation(prod(shape))
        if rng.random() < 0.3:
            row, others = int(rng.integers(shape[0])), prod(shape[1:])
            first = row * others + rng.permutation(others)
            places = np.concatenate([first, np.setdiff1d(places, first)])
        count = int(rng.choice([0, 1, len(places) // 8, len(places) // 3, len(places)]))
        mine = places[: min(count, _MOST)]
        mine = np.union1d(mine, rng.permutation(common)[: _MOST - len(mine)])
        common = mine
        words = random_words(rng, design.word_format(name), (len(mine),))
        where = np.stack(np.unravel_index(mine, shape), axis=1).astype(np.int64)
        found[name] = Entries(shape=shape, places=where, words=words)
    return found


def largest_images(config: T2sConfig, bounds: Mapping[str, int]) -> int:
    """Bytes of the images of sparse operands at most."""
    plan = config.plan.sparse
    if plan is None:
        return 0
    beat = config.beat_bytes
    return sum(most_bytes(plan, part, bounds, _MOST, beat) for part in plan.entries)
