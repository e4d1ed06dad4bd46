"""Products of integers on joined lanes, bit for bit, and their cycles, by a formula."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tilewright.hw.gta.layouts import LaneMemoryName, Operation
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, element_bytes
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.gta.cluster.cluster_bench import INTEGERS, ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.float_products import FloatProduct
from tilewright.verif.gta.cluster.products import Product, Region, exact, random_matrix
from tilewright.verif.gta.cluster.random_commands import cut, masks_of, random_products
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


# Products of floats on joined lanes, bit for bit, and their cycles; integers before and after.


def config_of_floats(
    formats: tuple[str, ...] = FORMATS_OF_GTA,
    *,
    lanes: int = 1,
    adders: int = 8,
    stages: int = 4,
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

CONFIGS_FLOATS = {
    "shared": SHARED,
    "bf16 on two lanes": config_of_floats(("bf16",), lanes=2, kib=4),
    "two lanes": config_of_floats(lanes=2),
    "four lanes": config_of_floats(lanes=4, stages=5),
    "floats alone": config_of_floats(FLOATS, lanes=2, adders=16, stages=1),
    "64 adders": config_of_floats(adders=64),
    "64 adders of bf16": config_of_floats(("int16", "bf16"), lanes=2, adders=64, stages=1),
    "fp64 alone": config_of_floats(("fp64",), lanes=2),
    "eight lanes": config_of_floats(("int8", "bf16", "fp32"), lanes=8, adders=32),
}


def run_random_floats(bench: ClusterBench, seed: int, *, pauses: Pauses | None = None) -> int:
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


@pytest.mark.parametrize("name", slow_but([], CONFIGS_FLOATS, ["shared"]))
def test_floats_random_products(name: str) -> None:
    """Runs every arrangement with regions side by side and segments of K; commands follow at once
    or after random gaps; chains are compared with SoftFloat."""
    bench = ClusterBench(CONFIGS_FLOATS[name])
    total, runs = 0, by_size(4, 8, 60)
    for seed in range(runs):
        pauses = Pauses(seed=seed, gap=0.99) if seed % 3 == 2 else None
        total += run_random_floats(bench, 3000 + seed, pauses=pauses)
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


EVERY = {"shared": SHARED, **{f"{n} adders": config_of_floats(adders=n) for n in (8, 16, 64)}}


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


# Tests of joined lanes besides products and vectors.

CONFIG = SHARED

SIDE_BY_SIDE = [Region(1, 1, 3, 0, 2), Region(1, 1, 9, 1, 2)]


def segments(rng: np.random.Generator, region: Region, mode: Operation) -> list[Product]:
    """Returns a product whose K has several segments, each added to the previous ones; all have
    separate places for operands."""
    found: list[Product] = []
    m, n, k = (96, 8, 8) if mode == Operation.WS else (8, 8, 128)
    for piece in range(2):
        product = Product(
            region=region,
            mode=mode,
            name="int8",
            a=random_matrix(rng, "int8", (m, k)),
            b=random_matrix(rng, "int8", (k, n)),
            use_c=piece > 0,
        )
        left, top, _ = product.words
        product.bases = (piece * left, piece * top, 0)
        found.append(product)
    return found


def test_accesses_from_outside_cost_the_array_nothing() -> None:
    """Meanwhile other words are written, and the memory is read, as often as it allows."""
    bench = ClusterBench(CONFIG)
    bench.arrange(1, [3, 9])
    words = CONFIG.bank_bytes // 16
    for seed, mode in enumerate((Operation.WS, Operation.OS)):
        rng = np.random.default_rng(seed)
        products = [p for region in SIDE_BY_SIDE for p in segments(rng, region, mode)]
        memories = bench.memories(rng)
        for product in products:
            product.load(memories)
        bench.fill(memories)
        used = 2 * max(product.words[2] for product in products)
        others = bench.memories(rng)
        lines = [
            line
            for line in bench.writes(others)
            if line["memory"] == LaneMemoryName.RESULT and line["address"] >= used
        ]
        asked = [{"lane": n % 2, "banks": 1 << n % 8, "address": n % words} for n in range(80)]
        times, read = bench.run_beside(products, writes=lines, reads=asked)
        check_cycles(products, times, CONFIG)
        want = others.result.copy()
        want[:, :, : 16 * used] = memories.result[:, :, : 16 * used]
        for product in products:
            old = product.found(want) if product.use_c else None
            product.store(want, exact(product.a, product.b, old, product.size))
        assert len(read) == len(asked)
        assert np.array_equal(bench.results(), want)


def test_a_command_of_a_group_without_lanes() -> None:
    """Accepts the command and does nothing; the next one is not affected."""
    bench = ClusterBench(CONFIG)
    bench.arrange(0, [3, 9])
    rng = np.random.default_rng(5)
    product = segments(rng, Region(1, 1, 3), Operation.OS)[0]
    memories = bench.memories(rng)
    product.load(memories)
    bench.fill(memories)
    nobody = {**product.command(), "group": 4}
    taken, ends = bench.run([nobody, product.command()], ends=1)
    assert taken[1] == taken[0] + 1
    check_cycles([product], (taken[1:], ends), CONFIG)
    want = memories.result.copy()
    product.store(want, exact(product.a, product.b, None, product.size))
    product.spare(want)
    found = bench.results()
    product.spare(found)
    assert np.array_equal(found, want)


def test_utilisation() -> None:
    """Commands in a row keep the elements busy, whose work covers the array and lasts 12 times its
    longer side."""
    bench = ClusterBench(CONFIG)
    bench.arrange(1, [3, 9])
    for seed, mode in enumerate((Operation.WS, Operation.OS)):
        products = segments(np.random.default_rng(seed), SIDE_BY_SIDE[0], mode)
        assert all(product.cycles >= 12 * product.region.height for product in products)
        taken, ends = bench.run([product.command() for product in products] * 10)
        busy = 20 * products[0].cycles
        assert busy / (ends[-1][1] - taken[0]) >= 0.95
