"""Vectors and products on joined lanes whose memories are accessed from outside meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.gta.layouts import LaneMemoryName
from tilewright.hw.spec.gta import BANKS, GtaConfig, element_bytes, limbs
from tilewright.hw.spec.jobs.gta_vector import (
    OCTET,
    functions_of,
    operand_memories,
    vector_result_bytes,
)
from tilewright.verif.gta.cluster.cluster_bench import INTEGERS, ClusterBench
from tilewright.verif.gta.cluster.cluster_cycles import Command, check_cycles
from tilewright.verif.gta.cluster.products import Memories, Region
from tilewright.verif.gta.cluster.random_commands import cut, masks_of, mixed, random_elements
from tilewright.verif.gta.cluster.vector_command import MEMORIES, VectorCommand
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
    """Returns ``inner`` in the words in use, of 16, 16 and 32 bytes, and ``outer`` after them."""
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
    """Returns the words of the results that a request addresses."""
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


# Vectors on a lane whose banks they fill to the last word.

HERE = Region(1, 1)


CONFIGS_BANKS = {
    "shared": SHARED,
    "smallest": GtaConfig(lanes=1, vector_bytes=2048),
}
"""Configurations; in the smallest memories an octet of int64 fills a bank of operands."""


def at_the_end(config: GtaConfig, function: str, name: str, **fields: Any) -> VectorCommand:
    """Returns a command whose octets end at the last word of each bank: 16, or fewer if the bank is
    smaller."""
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


@pytest.mark.parametrize("build", slow_but([], CONFIGS_BANKS, ["shared"]))
def test_full_banks(build: str) -> None:
    """Runs every function on every format; operands are equal, zeros, or random."""
    config = CONFIGS_BANKS[build]
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


# Vectors of the ends of the range of integers, in sums as long as elements and banks allow.

CONFIGS_ENDS = {
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


@pytest.mark.parametrize("name", slow_but([], CONFIGS_ENDS, ["shared"]))
def test_ends_of_the_range(name: str) -> None:
    config = CONFIGS_ENDS[name]
    bench = ClusterBench(config)
    bench.arrange(config.lanes.bit_length() - 1, [0] * config.lanes)
    rng = np.random.default_rng(0)
    count = 0
    for format in config.integers:
        for command in commands(config, format):
            check_cycles([command], bench.check([command], rng), config)
            count += 1
    assert count > 10


# Commands of vectors that read each other's results: as if each were over before the next.

CHAINS = ("dot", "sum")

CONFIGS_ORDER = {
    "shared": SHARED,
    "64 adders": GtaConfig(
        lanes=1, formats=("int8", "bf16"), float_adders=64, adder_stages=3, vector_bytes=16384
    ),
    "8 adders": GtaConfig(lanes=1, formats=("int16", "fp32", "fp64"), vector_bytes=65536),
}


def commands_order(
    rng: np.random.Generator, config: GtaConfig, name: str, function: str
) -> list[VectorCommand]:
    """Draws commands whose results start anywhere in a few words and overlap partly."""
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


@pytest.mark.parametrize("name", slow_but([], CONFIGS_ORDER, ["shared"]))
def test_commands_on_each_others_results(name: str) -> None:
    """Repeats one function, so that commands follow each other at once where possible."""
    config = CONFIGS_ORDER[name]
    bench = ClusterBench(config)
    bench.arrange_one()
    count = 0
    for format in config.formats:
        for function in functions_of(format):
            if function not in CHAINS and "result" not in operand_memories(function, format):
                continue
            for seed in range(by_size(2, 2, 200)):
                rng = np.random.default_rng([seed, *function.encode()])
                some = commands_order(rng, config, format, function)
                bench.check(some, rng)
                count += len(some)
    assert count > 30
