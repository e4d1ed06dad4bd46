"""Products of integers on joined lanes, bit for bit, and their cycles, by a formula."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import by_size, slow_but

from .cluster_bench import INTEGERS, ClusterBench
from .cluster_cycles import GroupCycles
from .products import Product
from .random_products import cut, masks_of, random_products


def config_of(lanes: int, **parameters: object) -> GtaConfig:
    """Integers alone."""
    defaults: dict[str, object] = {"formats": INTEGERS, "vector_bytes": 32768}
    return GtaConfig(lanes=lanes, **{**defaults, **parameters})  # type: ignore[arg-type]


def check_cycles(
    products: Sequence[Product],
    times: tuple[list[int], list[tuple[int, int]]],
    *,
    pauses: bool = False,
) -> None:
    """Commands are taken, and complete, exactly when they should."""
    taken, ends = times
    groups: dict[int, GroupCycles] = defaultdict(GroupCycles)
    arrival = taken[0]
    for product, cycle in zip(products, taken, strict=True):
        group = groups[product.region.group]
        if pauses:
            assert cycle >= group.earliest(product, arrival)
        else:
            assert cycle == group.earliest(product, arrival), "taken"
        group.take(product, cycle)
        arrival = cycle + 1
    found: dict[int, list[int]] = defaultdict(list)
    for number, cycle in ends:
        found[number].append(cycle)
    assert found == {number: group.finish() for number, group in groups.items()}


def run_random(bench: ClusterBench, seed: int, *, pauses: Pauses | None = None) -> int:
    """Any arrangement, and products for its regions; the number of these."""
    rng = np.random.default_rng(seed)
    config = bench.config
    layout = int(rng.integers(config.lanes.bit_length()))
    regions = cut(rng, config, layout, int(rng.integers(0, 3)))
    bench.arrange(layout, masks_of(config, regions))
    names = rng.choice(INTEGERS, int(rng.integers(1, 3))).tolist()
    products = random_products(rng, config, regions, 8, names=names)
    times = bench.check(products, rng, pauses=pauses or Pauses())
    check_cycles(products, times, pauses=pauses is not None)
    return len(products)


LANES = [1, 2, 4, 8]


@pytest.mark.parametrize("lanes", slow_but([2], LANES, [1, 4]))
def test_random_products(lanes: int) -> None:
    """Both operations, four formats, every arrangement, regions beside each other, segments of K;
    commands that follow each other at once, and ones that come when they like."""
    bench = ClusterBench(config_of(lanes))
    total = 0
    for seed in range(by_size(30, 100, 1000)):
        pauses = Pauses(seed=seed, gap=0.99) if seed % 3 == 2 else None
        total += run_random(bench, 1000 * lanes + seed, pauses=pauses)
    assert total > by_size(60, 200, 2000)
