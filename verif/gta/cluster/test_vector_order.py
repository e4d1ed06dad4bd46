"""Commands of vectors that read each other's results: as if each were over before the next."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.gta import BANKS, GtaConfig
from tilewright.hw.spec.jobs.gta_vector import OCTET, functions_of, operand_memories
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.products import Region
from tilewright.verif.gta.cluster.random_vectors import random_elements
from tilewright.verif.gta.cluster.vector_command import VectorCommand
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long

CHAINS = ("dot", "sum")

CONFIGS = {
    "shared": SHARED,
    "64 adders": GtaConfig(
        lanes=1, formats=("int8", "bf16"), float_adders=64, adder_stages=3, vector_bytes=16384
    ),
    "8 adders": GtaConfig(lanes=1, formats=("int16", "fp32", "fp64"), vector_bytes=65536),
}


def commands(
    rng: np.random.Generator, config: GtaConfig, name: str, function: str
) -> list[VectorCommand]:
    """Some whose results begin anywhere in a few words, and lie partly in each other's."""
    found: list[VectorCommand] = []
    places = [0, 0]
    used = operand_memories(function, name)
    for _ in range(4):
        time = int(rng.integers(1, 14))
        shape = 1, BANKS, time, OCTET
        memories = [memory for memory in ("left", "top") if memory in used]
        command = VectorCommand(
            config=config,
            region=Region(1, 1),
            function=function,
            name=name,
            time=time,
            starts=function in CHAINS,
            bases=(places[0], places[1], int(rng.integers(12))),
            operands={memory: random_elements(rng, name, shape) for memory in memories},
        )
        places = [at + words for at, words in zip(places, command.words[:2], strict=True)]
        if 16 * max(places) <= config.edge_bytes:
            found.append(command)
    return found


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_commands_on_each_others_results(name: str) -> None:
    """Of one function, so that they follow each other at once where they may."""
    config = CONFIGS[name]
    bench = ClusterBench(config)
    bench.arrange_one()
    count = 0
    for format in config.formats:
        for function in functions_of(format):
            if function not in CHAINS and "result" not in operand_memories(function, format):
                continue
            for seed in range(by_size(2, 2, 200)):
                rng = np.random.default_rng([seed, *function.encode()])
                some = commands(rng, config, format, function)
                bench.check(some, rng)
                count += len(some)
    assert count > 30
