"""Vectors on joined lanes, bit for bit, and their cycles, by a formula; products of matrices before
and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.gta import BANKS, FORMATS_OF_GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_vector import OCTET, functions_of, operand_memories
from tilewright.sim.numbers.values import Patterns
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.products import Region
from tilewright.verif.gta.cluster.random_commands import cut, masks_of, mixed, random_vectors
from tilewright.verif.gta.cluster.vector_command import PRODUCTS, VectorCommand
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.gta.float.exact_sums import representatives
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
    """Runs commands on the regions of a random arrangement; returns the number of vector
    commands."""
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
    """Runs functions in any order, equal ones back to back, among products."""
    bench = ClusterBench(CONFIGS[name])
    runs = by_size(12, 24, 150) // max(1, bench.config.lanes // 2)
    total = 0
    for seed in range(runs):
        pauses = Pauses(seed=seed, gap=0.99) if seed % 3 == 2 else None
        total += run_random(bench, 3000 + seed, pauses=pauses)
    assert total > 3 * runs


@pytest.mark.parametrize("name", slow_but([], ["one lane", "all"], []))
def test_every_function(name: str) -> None:
    """Runs every function on every format, with many octets."""
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


# Vectors of floats: products and sums of every class of values, in every width of adders.

FLOATS = FORMATS_OF_GTA[4:]
ALL = ",".join(FLOATS)

BUILDS = [
    "shared",
    *(f"{ALL} {adders} {stages}" for adders in (8, 16, 32, 64) for stages in (1, 2, 3)),
    *("bf16 64 1", "fp16 8 2", "fp64 64 1", "int8,fp16,fp64 32 3", "int16,bf16,fp32 16 1"),
]
"""Formats, fused adders, stages; or the shared ones."""

REGION = Region(1, 1)


def bench_of(build: str) -> ClusterBench:
    config = SHARED
    if build != "shared":
        formats, adders, stages = build.split()
        config = GtaConfig(
            lanes=1,
            formats=tuple(formats.split(",")),
            float_adders=int(adders),
            adder_stages=int(stages),
            vector_bytes=32768,
        )
    bench = ClusterBench(config)
    bench.arrange_one()
    return bench


def octets(words: Patterns, time: int, chain: int) -> Patterns:
    """A word for each element of results, in all octets of its chain."""
    shaped = words.reshape(1, BANKS, time, 1, OCTET)
    return np.broadcast_to(shaped, (1, BANKS, time, chain, OCTET)).reshape(1, BANKS, -1, OCTET)


def commands(config: GtaConfig, name: str, function: str) -> list[VectorCommand]:
    """Each class of values with each; but for the long test, some of them."""
    fmt = FLOAT_FORMATS[name]
    used = operand_memories(function, name)
    chain = 2 if function in ("dot", "sum") else 1
    starts = "result" in used or chain > 1
    result = FLOAT_FORMATS["fp64" if name == "fp64" else "fp32"] if function == "dot" else fmt
    kinds = [representatives(fmt)] * (len(used) - ("result" in used))
    kinds += [representatives(result)] * starts
    lines = np.array(list(product(*(kind.tolist() for kind in kinds))), np.uint64)
    lines = np.random.default_rng(1).permutation(lines)[: len(lines) // by_size(4, 4, 1)]
    found = []
    time = 8
    size = BANKS * time * OCTET
    for first in range(0, len(lines), size):
        some = np.resize(lines[first : first + size], (size, len(kinds)))
        memories = [memory for memory in ("left", "top") if memory in used]
        operands: dict[str, Patterns] = {
            memory: octets(some[:, n].copy(), time, chain) for n, memory in enumerate(memories)
        }
        if starts:
            operands["result"] = octets(some[:, -1].copy(), time, 1)
        found.append(
            VectorCommand(
                config=config,
                region=REGION,
                function=function,
                name=name,
                time=time,
                chain=chain,
                starts=chain > 1,
                operands=operands,
            )
        )
    return found


@pytest.mark.parametrize("build", slow_but([], BUILDS, ["shared"]))
def test_every_class_of_values(build: str) -> None:
    """Products of all of them, to which all are added; sums of each with each and itself."""
    bench = bench_of(build)
    rng = np.random.default_rng(0)
    count = 0
    for name in bench.config.floats:
        for function in PRODUCTS:
            for command in commands(bench.config, name, function):
                check_cycles([command], bench.check([command], rng), bench.config)
                count += 1
    assert count >= by_size(8, 8, 25) * len(bench.config.floats)


@pytest.mark.parametrize("build", slow_but([], BUILDS, ["shared"]))
def test_vector_floats_random_commands(build: str) -> None:
    """Runs commands of each function back to back; all octets take the expected cycles."""
    bench = bench_of(build)
    config = bench.config
    for number, name in enumerate(config.floats):
        for function in PRODUCTS:
            for seed in range(by_size(1, 1, 20)):
                rng = np.random.default_rng([number, seed, *function.encode()])
                some = random_vectors(rng, config, [REGION], 8, names=[name], functions=[function])
                check_cycles(some, bench.check(some, rng), config)
                assert some


@pytest.mark.parametrize("build", slow_but([], [f"{ALL} 64 3", "bf16 64 1"], []))
def test_products_a_cycle(build: str) -> None:
    """A lane with 64 adders gives 64 products of bf16 a cycle, one for each element; of longer
    significands each element takes L x L cycles."""
    bench = bench_of(build)
    cycles = {"bf16": 1, "fp16": 4, "fp32": 9, "fp64": 49}
    zeros = np.zeros((1, BANKS, 16, OCTET), np.uint64)
    for name in bench.config.floats:
        took = []
        for time in (2, 16):
            command = VectorCommand(
                config=bench.config,
                region=REGION,
                function="mul",
                name=name,
                time=time,
                operands=dict.fromkeys(("left", "top"), zeros[:, :, :time]),
            )
            taken, ends = bench.check([command], np.random.default_rng(0))
            took.append(ends[0][1] - taken[0])
        assert took[1] - took[0] == 14 * cycles[name]
