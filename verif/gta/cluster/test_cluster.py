"""Tests of joined lanes besides products and vectors."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.gta.layouts import LaneMemoryName, Operation
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.products import Product, Region, exact, random_matrix
from tilewright.verif.gta.devices import SHARED

CONFIG = SHARED
pytestmark = pytest.mark.long

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
