"""Commands of vectors among products of matrices, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tilewright.hw.spec.gta import GtaConfig

from .cluster_cycles import Command
from .products import Region
from .random_products import random_products
from .random_products import random_vectors


def mixed(
    rng: np.random.Generator, config: GtaConfig, regions: Sequence[Region], products: int
) -> list[Command]:
    """Commands of vectors, and so many products at most, in any order."""
    names = rng.choice(config.formats, int(rng.integers(1, 4))).tolist()
    of_matrices = random_products(rng, config, regions, products, names=names) if products else []
    used = {
        region.group: [
            max((p.bases[n] + p.words[n] for p in of_matrices if p.region == region), default=0)
            for n in range(3)
        ]
        for region in regions
    }
    vectors = random_vectors(rng, config, regions, 12, names=names, used=used)
    # The kinds are mixed at random; each keeps its own order.
    turns = rng.permutation([0] * len(of_matrices) + [1] * len(vectors)).tolist()
    kinds = iter(of_matrices), iter(vectors)
    return [next(kinds[turn]) for turn in turns]
