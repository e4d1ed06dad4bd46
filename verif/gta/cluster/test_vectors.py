"""Vectors on joined lanes, bit for bit, and their cycles, by a formula; products of matrices
before and behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_vector import functions_of
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.mixed_commands import mixed
from tilewright.verif.gta.cluster.products import Region
from tilewright.verif.gta.cluster.random_products import cut, masks_of
from tilewright.verif.gta.cluster.random_vectors import random_vectors
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long


def config_of(formats: Sequence[str], lanes: int = 2, kib: int = 8, **others: Any) -> GtaConfig:
    return GtaConfig(formats=tuple(formats), lanes=lanes, vector_bytes=1024 * kib, **others)


INTEGERS = FORMATS_OF_GTA[:4]

CONFIGS = {
    "shared": SHARED,
    "two lanes, two formats": config_of(["int8", "int16"]),
    "integers": config_of(INTEGERS, kib=32),
    "one lane": config_of(INTEGERS, lanes=1, kib=32, partial_bits=24),
    "int64 alone": config_of(["int64"], partial_bits=22),
    "all": config_of(FORMATS_OF_GTA, kib=32),
    "four lanes": config_of(["int8", "int32", "fp16"], lanes=4, kib=16),
    "eight lanes": config_of(["int16"], lanes=8),
    "floats alone": config_of(FORMATS_OF_GTA[4:], kib=16, adder_stages=1),
    "bf16 alone": config_of(["bf16"], lanes=1),
}


def run_random(bench: ClusterBench, seed: int, *, pauses: Pauses | None = None) -> int:
    """Any arrangement, and commands for its regions; the number of these on vectors."""
    rng = np.random.default_rng(seed)
    config = bench.config
    layout = int(rng.integers(config.lanes.bit_length()))
    regions = cut(rng, config, layout, int(rng.integers(0, 3)))
    bench.arrange(layout, masks_of(config, regions))
    commands = mixed(rng, config, regions, int(rng.integers(0, 4)))
    times = bench.check(commands, rng, pauses=pauses or Pauses())
    check_cycles(commands, times, config, pauses=pauses is not None)
    return len(commands)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_random_commands(name: str) -> None:
    """Any functions in any order, alike ones at once behind each other, among products."""
    bench = ClusterBench(CONFIGS[name])
    runs = by_size(12, 24, 150) // max(1, bench.config.lanes // 2)
    total = 0
    for seed in range(runs):
        pauses = Pauses(seed=seed, gap=0.99) if seed % 3 == 2 else None
        total += run_random(bench, 3000 + seed, pauses=pauses)
    assert total > 3 * runs


@pytest.mark.parametrize("name", slow_but([], ["one lane", "all"], []))
def test_every_function(name: str) -> None:
    """On every format, with many octets."""
    config = CONFIGS[name]
    bench = ClusterBench(config)
    regions = [Region(1, config.lanes, across=config.lanes)]
    bench.arrange(config.lanes.bit_length() - 1, [0] * config.lanes)
    for number, format in enumerate(config.formats):
        for function in functions_of(format):
            for seed in range(by_size(1, 2, 20)):
                rng = np.random.default_rng([number, seed, *function.encode()])
                commands = random_vectors(
                    rng, config, regions, 10, names=[format], functions=[function]
                )
                check_cycles(commands, bench.check(commands, rng), config)
                assert commands
