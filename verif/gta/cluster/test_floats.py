"""Products of floats on joined lanes, bit for bit, and their cycles; integers before and after."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.float_products import FloatProduct
from tilewright.verif.gta.cluster.products import Product, Region
from tilewright.verif.gta.cluster.random_products import cut, masks_of, random_products
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long


def config_of(
    formats: tuple[str, ...] = FORMATS_OF_GTA,
    *,
    lanes: int = 1,
    adders: int = 8,
    stages: int = 2,
    kib: int = 32,
) -> GtaConfig:
    return GtaConfig(
        formats=formats,
        lanes=lanes,
        float_adders=adders,
        adder_stages=stages,
        vector_bytes=1024 * kib,
    )


FLOATS = ("bf16", "fp16", "fp32", "fp64")

CONFIGS = {
    "shared": SHARED,
    "bf16 on two lanes": config_of(("bf16",), lanes=2, kib=4),
    "two lanes": config_of(lanes=2),
    "four lanes": config_of(lanes=4, stages=3),
    "floats alone": config_of(FLOATS, lanes=2, adders=16, stages=1),
    "64 adders": config_of(adders=64),
    "64 adders of bf16": config_of(("int16", "bf16"), lanes=2, adders=64, stages=1),
    "fp64 alone": config_of(("fp64",), lanes=2),
    "eight lanes": config_of(("int8", "bf16", "fp32"), lanes=8, adders=32),
}


def run_random(bench: ClusterBench, seed: int, *, pauses: Pauses | None = None) -> int:
    """Runs products of floats and integers on the regions of a random arrangement; returns their
    number."""
    rng = np.random.default_rng(seed)
    config = bench.config
    layout = int(rng.integers(config.lanes.bit_length()))
    regions = cut(rng, config, layout, int(rng.integers(0, 3)))
    bench.arrange(layout, masks_of(config, regions))
    names = [str(rng.choice(config.floats)), str(rng.choice(config.formats))]
    products = random_products(rng, config, regions, 6, names=names)
    times = bench.check(products, rng, pauses=pauses or Pauses())
    check_cycles(products, times, config, pauses=pauses is not None)
    return sum(isinstance(product, FloatProduct) for product in products)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_random_products(name: str) -> None:
    """Runs every arrangement with regions side by side and segments of K; commands follow at once
    or after random gaps; chains are compared with SoftFloat."""
    bench = ClusterBench(CONFIGS[name])
    total, runs = 0, by_size(4, 8, 60)
    for seed in range(runs):
        pauses = Pauses(seed=seed, gap=0.99) if seed % 3 == 2 else None
        total += run_random(bench, 3000 + seed, pauses=pauses)
    assert total > runs


def tour(count: int) -> list[int]:
    """Returns an order in which each of ``count`` follows each, itself too."""
    found, seen = [0], {(0, 0)}
    found.append(0)
    while len(seen) < count * count:
        last = found[-1]
        following = [n for n in range(count) if (last, n) not in seen]
        if not following:
            following = [next(a for a, b in np.ndindex(count, count) if (a, b) not in seen)]
        seen.add((last, following[-1]))
        found.append(following[-1])
    return found


EVERY = {"shared": SHARED, **{f"{n} adders": config_of(adders=n) for n in (8, 16, 64)}}


@pytest.mark.parametrize("name", slow_but([], EVERY, ["shared"]))
def test_every_format_behind_every_other(name: str) -> None:
    """Runs the formats, integers too, back to back in every order of two, and counts the cycles."""
    config = EVERY[name]
    bench = ClusterBench(config)
    bench.arrange_one()
    rng = np.random.default_rng(3200 + config.float_adders)
    order = tour(len(config.formats))
    pairs = set()
    for begin in range(0, len(order) - 1, 4):
        products: list[Product | FloatProduct] = []
        for number in order[begin : begin + 5]:
            names = [config.formats[number]]
            (product,) = random_products(rng, config, [Region(1, 1)], 1, names=names)
            places = tuple(12 * len(products) for _ in range(3))
            products.append(_cut(product, 12, bases=places))
        times = bench.check(products, rng)
        check_cycles(products, times, config)
        pairs |= {(a.name, b.name) for a, b in pairwise(products)}
    assert len(pairs) == len(config.formats) ** 2


def _cut(product: Any, words: int, **changed: object) -> Any:
    """Cuts a product until it needs at most ``words`` words of a bank."""
    while max(product.words) > words:
        m, k, n = (-(-size // 2) for size in (*product.a.shape, product.b.shape[1]))
        product = replace(product, a=product.a[:m, :k], b=product.b[:k, :n])
    return replace(product, **changed)
