"""Vectors of the ends of the range of integers, in sums as long as elements and banks allow."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tilewright.hw.spec.gta import BANKS, GtaConfig, element_bytes, limbs
from tilewright.hw.spec.jobs.gta_vector import OCTET, functions_of, operand_memories
from tilewright.verif.gta.cluster.cluster_bench import INTEGERS, ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.products import Region
from tilewright.verif.gta.cluster.vector_command import VectorCommand
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.long

CONFIGS = {
    "shared": SHARED,
    "int8": GtaConfig(lanes=1, formats=("int8",), partial_bits=20, vector_bytes=8192),
    "int32": GtaConfig(lanes=1, formats=("int32",), partial_bits=22, vector_bytes=8192),
    "int64": GtaConfig(lanes=2, formats=("int16", "int64"), partial_bits=24, vector_bytes=32768),
    "int64 of 20 bits": GtaConfig(lanes=1, formats=("int64",), partial_bits=20, vector_bytes=8192),
    "integers": GtaConfig(lanes=1, formats=INTEGERS, partial_bits=24, vector_bytes=32768),
}


def commands(config: GtaConfig, name: str) -> list[VectorCommand]:
    """Each function, of each two of a few numbers, in every element of an octet."""
    bits = 8 * element_bytes(name)
    numbers = [1 << bits - 1, (1 << bits - 1) - 1, (1 << bits) - 1, 0, 1, bits - 1]
    pairs = np.array(list(product(numbers, numbers)), np.uint64)
    chain = min(config.most_products // limbs(name), config.edge_bytes // (OCTET * bits // 8))
    found = []
    for function in functions_of(name):
        chained = function == "dot"
        if chained and not chain:
            continue
        octets = len(pairs) if chained else -(-len(pairs) // OCTET)
        for first in range(0, octets, BANKS):
            shape = config.lanes, BANKS, chain if chained else 1, OCTET
            numbers_of = np.arange(first, first + BANKS) % octets
            places = numbers_of[:, np.newaxis, np.newaxis] * (1 if chained else OCTET)
            places = (places + (0 if chained else np.arange(OCTET))) % len(pairs)
            words = [np.broadcast_to(pairs[places, n], shape).copy() for n in range(2)]
            memories = operand_memories(function, name)
            operands = dict(zip(memories, [*words, words[0]], strict=False))
            found.append(
                VectorCommand(
                    config=config,
                    region=Region(1, config.lanes, across=config.lanes),
                    function=function,
                    name=name,
                    time=1,
                    chain=shape[2],
                    amount=3 if function == "slide" else 0,
                    operands=operands,
                )
            )
    return found


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_ends_of_the_range(name: str) -> None:
    config = CONFIGS[name]
    bench = ClusterBench(config)
    bench.arrange(config.lanes.bit_length() - 1, [0] * config.lanes)
    rng = np.random.default_rng(0)
    count = 0
    for format in config.integers:
        for command in commands(config, format):
            check_cycles([command], bench.check([command], rng), config)
            count += 1
    assert count > 10
