"""Vectors on a lane whose banks they fill to the last word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import BANKS, GtaConfig, element_bytes
from tilewright.hw.spec.jobs.gta_vector import (
    OCTET,
    functions_of,
    operand_memories,
    vector_result_bytes,
)
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import check_cycles
from tilewright.verif.gta.cluster.products import Region
from tilewright.verif.gta.cluster.random_vectors import random_elements
from tilewright.verif.gta.cluster.vector_command import MEMORIES, VectorCommand
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long

HERE = Region(1, 1)


CONFIGS = {
    "shared": SHARED,
    "smallest": GtaConfig(lanes=1, vector_bytes=2048),
}
"""Of the smallest memories an octet of int64 fills a bank of operands."""


def at_the_end(config: GtaConfig, function: str, name: str, **fields: Any) -> VectorCommand:
    """Octets to the last word of each bank, as many as there is room for, but not too many."""
    operand = OCTET * element_bytes(name) * fields.get("chain", 1)
    result = OCTET * vector_result_bytes(function, name)
    time = min(16, config.edge_bytes // operand, config.bank_bytes // result)
    command = VectorCommand(
        config=config, region=HERE, function=function, name=name, time=time, **fields
    )
    limits = (config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32)
    left, top, words = (end - n for end, n in zip(limits, command.words, strict=True))
    # A base is less than the words of a bank, even where there is no operand.
    command.bases = (min(left, limits[0] - 1), min(top, limits[1] - 1), words)
    return command


@pytest.mark.parametrize("build", slow_but([], CONFIGS, ["shared"]))
def test_full_banks(build: str) -> None:
    """Of every function on every format; operands are alike, zeros, or any."""
    config = CONFIGS[build]
    bench = ClusterBench(config)
    bench.arrange_one()
    jobs = [(name, function) for name in config.formats for function in functions_of(name)]
    for name, function in jobs:
        for seed in range(by_size(1, 1, 10)):
            rng = np.random.default_rng([seed, *function.encode()])
            starts = function in ("dot", "sum") and bool(seed % 2)
            amount = int(rng.integers(OCTET)) if function == "slide" else 0
            command = at_the_end(config, function, name, starts=starts, amount=amount)
            shape = 1, BANKS, command.time, OCTET
            x, y = (random_elements(rng, name, shape) for _ in range(2))
            kind = rng.random(shape)
            y = np.where(kind < 0.3, x, np.where(kind < 0.4, np.uint64(0), y))
            given = {"left": x, "top": y, "result": np.where(kind < 0.5, 0, y).astype(np.uint64)}
            used = {*operand_memories(function, name), *(["result"] if starts else [])}
            command.operands = {memory: given[memory] for memory in MEMORIES if memory in used}
            check_cycles([command], bench.check([command], rng), config)
