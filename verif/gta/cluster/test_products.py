"""Products of integers on joined lanes, bit for bit, and their cycles, by a formula."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import GtaConfig, element_bytes
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.gta.cluster.cluster_bench import INTEGERS, ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.products import Product, Region
from tilewright.verif.gta.cluster.random_products import cut, masks_of, random_products
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long


def config_of(**parameters: object) -> GtaConfig:
    """Integers alone."""
    defaults: dict[str, object] = {"formats": INTEGERS, "vector_bytes": 32768}
    return GtaConfig(**{**defaults, **parameters})  # type: ignore[arg-type]


def run_random(bench: ClusterBench, seed: int, *, pauses: Pauses | None = None) -> int:
    """Runs products on the regions of a random arrangement and returns their number."""
    rng = np.random.default_rng(seed)
    config = bench.config
    layout = int(rng.integers(config.lanes.bit_length()))
    regions = cut(rng, config, layout, int(rng.integers(0, 3)))
    bench.arrange(layout, masks_of(config, regions))
    names = rng.choice(config.integers, int(rng.integers(1, 3))).tolist()
    products = random_products(rng, config, regions, 8, names=names)
    times = bench.check(products, rng, pauses=pauses or Pauses())
    check_cycles(products, times, config, pauses=pauses is not None)
    return len(products)


CONFIGS = {
    "shared": SHARED,
    "two lanes, two formats": config_of(lanes=2, formats=("int8", "int16"), vector_bytes=8192),
    "one lane": config_of(lanes=1),
    "two lanes": config_of(lanes=2),
    "four lanes": config_of(lanes=4, vector_bytes=16384),
    "eight lanes": config_of(lanes=8),
    "sixteen lanes": config_of(lanes=16, formats=("int16",), mask_bits=5),
}


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_random_products(name: str) -> None:
    """Runs both operations in every arrangement, with regions side by side and segments of K;
    commands follow at once or after random gaps."""
    bench = ClusterBench(CONFIGS[name])
    many = by_size(20, 20, 400)
    total, runs = 0, many * 2 // max(2, bench.config.lanes)
    for seed in range(runs):
        pauses = Pauses(seed=seed, gap=0.99) if seed % 3 == 2 else None
        total += run_random(bench, 1000 + seed, pauses=pauses)
    assert total > 3 * runs


NARROW = {
    "shared": SHARED,
    "int8": config_of(lanes=1, formats=("int8",), partial_bits=20, vector_bytes=8192),
    "int32": config_of(lanes=1, formats=("int32",), partial_bits=22, vector_bytes=8192),
    "int64": config_of(lanes=2, formats=("int16", "int64"), partial_bits=24),
}


def ends(config: GtaConfig, region: Region, name: str) -> list[Product]:
    """Products of the most negative and of the largest numbers, each alone, in both operations."""
    bits = 8 * element_bytes(name)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    k = config.most_products
    return [
        Product(
            region=region,
            mode=mode,
            name=name,
            a=np.full((9, k), left, object),
            b=np.full((k, 3), right, object),
            size=16 if bits > 16 and "int64" in config.formats else 8,
        )
        for mode in (Operation.WS, Operation.OS)
        for left, right in ((low, low), (low, high), (high, high), (-1, low), (-1, -1))
    ]


@pytest.mark.parametrize("name", slow_but([], NARROW, ["shared"]))
def test_ends_of_the_range(name: str) -> None:
    """Uses segments of the greatest length that the sums of an element allow."""
    config = NARROW[name]
    bench = ClusterBench(config)
    region = Region(1, config.lanes, across=config.lanes)
    for format in config.integers:
        rng = np.random.default_rng(8 * element_bytes(format))
        bench.arrange(config.lanes.bit_length() - 1, [0] * config.lanes)
        for product in ends(config, region, format):
            check_cycles([product], bench.check([product], rng), config)
    run_random(bench, config.lanes)
