"""Vectors and products on joined lanes whose memories are accessed from outside meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.gta.layouts import LaneMemoryName
from tilewright.hw.spec.gta import BANKS, GtaConfig
from tilewright.verif.gta.cluster.cluster_bench import ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import Command, check_cycles
from tilewright.verif.gta.cluster.mixed_commands import mixed
from tilewright.verif.gta.cluster.products import Memories
from tilewright.verif.gta.cluster.random_products import cut, masks_of
from tilewright.verif.gta.devices import SHARED
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long

CONFIGS = {
    "shared": SHARED,
    "int8 and int16": GtaConfig(lanes=2, formats=("int8", "int16"), vector_bytes=8192),
    "bf16 and int16": GtaConfig(lanes=2, formats=("bf16", "int16"), vector_bytes=8192),
    "one lane": GtaConfig(lanes=1, vector_bytes=16384),
    "two lanes": GtaConfig(lanes=2, vector_bytes=32768),
    "four lanes": GtaConfig(lanes=4, formats=("int8", "int64", "fp32"), vector_bytes=16384),
}


def merged(used: Sequence[int], inner: Memories, outer: Memories) -> Memories:
    """Below the words in use, of 16, 16 and 32 bytes, one content, behind them another one."""
    found = []
    for name, words, size in zip(("left", "top", "result"), used, (16, 16, 32), strict=True):
        content = getattr(outer, name).copy()
        content[:, :, : words * size] = getattr(inner, name)[:, :, : words * size]
        found.append(content)
    return Memories(*found)


def _asked(request: Mapping[str, int]) -> list[int]:
    """The banks that a read asks for."""
    return [bank for bank in range(BANKS) if request["banks"] >> bank & 1]


def _words(memories: Memories, request: Mapping[str, int]) -> npt.NDArray[np.uint8]:
    """What they have of results."""
    at = 16 * request["address"]
    return memories.result[request["lane"], _asked(request), at : at + 16]


def run_beside(bench: ClusterBench, seed: int) -> int:
    """Commands while all words that they do not use are written, in any order, and any are read.
    The number of commands."""
    rng = np.random.default_rng(seed)
    config = bench.config
    layout = int(rng.integers(config.lanes.bit_length()))
    regions = cut(rng, config, layout, int(rng.integers(0, 3)))
    bench.arrange(layout, masks_of(config, regions))
    commands: list[Command] = mixed(rng, config, regions, int(rng.integers(0, 3)))
    memories, others = bench.memories(rng), bench.memories(rng)
    for command in commands:
        command.load(memories)
    bench.fill(memories)
    used = [max((c.bases[n] + c.words[n] for c in commands), default=0) for n in range(3)]
    first = {
        LaneMemoryName.LEFT: used[0],
        LaneMemoryName.TOP: used[1],
        LaneMemoryName.RESULT: 2 * used[2],
    }
    lines = [
        line
        for line in bench.writes(others)
        if line["address"] >= first[LaneMemoryName(line["memory"])]
    ]
    lines = [lines[n] for n in rng.permutation(len(lines))]
    words = config.bank_bytes // 16
    asked = [
        {
            "lane": int(rng.integers(config.lanes)),
            "banks": int(
                rng.integers(1, 1 << BANKS) if rng.integers(2) else 1 << rng.integers(BANKS)
            ),
            "address": int(rng.integers(words)),
        }
        for _ in range(200)
    ]
    times, read = bench.run_beside(commands, writes=lines, reads=asked)
    check_cycles(commands, times, config)
    want = merged(used, memories, others).result
    for command in commands:
        old = command.found(want) if command.use_c else None
        command.store(want, command.computed(old))  # type: ignore[arg-type]
    found = bench.results()
    for command in commands:
        command.spare(want)
        command.spare(found)
    assert np.array_equal(found, want), f"seed {seed}"
    for request, part in zip(asked, read, strict=True):
        if request["address"] >= first[LaneMemoryName.RESULT]:
            given = part[_asked(request)]
            before, after = (_words(memory, request) for memory in (memories, others))
            assert np.array_equal(given, before) or np.array_equal(given, after), f"seed {seed}"
    return len(commands)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["shared"]))
def test_accesses_from_outside_cost_the_array_nothing(name: str) -> None:
    bench = ClusterBench(CONFIGS[name])
    runs = by_size(2, 5, 60)
    assert sum(run_beside(bench, seed) for seed in range(runs)) > 4 * runs
