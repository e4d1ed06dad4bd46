"""Commands of vectors, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.gta import BANKS, GtaConfig, element_bytes, is_float
from tilewright.hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    operand_memories,
)
from tilewright.sim.numbers.values import Patterns
from tilewright.verif.gta.float.random_floats import random_floats

from .products import Region
from .vector_command import MEMORIES, VectorCommand


def random_elements(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Patterns:
    """Patterns of a format; of integers a share the ends of its range."""
    if name in FLOAT_FORMATS:
        flat = random_floats(rng, name, (shape[0], int(np.prod(shape[1:]))))
        return flat.reshape(shape)
    bits = 8 * element_bytes(name)
    mask = (1 << bits) - 1
    special = np.array([1 << (bits - 1), (1 << (bits - 1)) - 1, mask, 0, 1], np.uint64)
    plain = rng.integers(0, mask, shape, np.uint64, endpoint=True)
    return np.where(rng.random(shape) < 0.2, rng.choice(special, shape), plain)


def random_vectors(
    rng: np.random.Generator,
    config: GtaConfig,
    regions: Sequence[Region],
    count: int,
    *,
    names: Sequence[str],
    functions: Sequence[str] = tuple(VECTOR_FUNCTIONS),
    used: Mapping[int, Sequence[int]] | None = None,
) -> list[VectorCommand]:
    """Draws commands with separate places, often of the previous one's kind, after the ``used``
    words of a group."""
    free = {region.group: list((used or {}).get(region.group, (0, 0, 0))) for region in regions}
    limits = (config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32)
    last: dict[int, VectorCommand] = {}
    found: list[VectorCommand] = []
    for _ in range(count):
        region = regions[int(rng.integers(len(regions)))]
        before = last.get(region.group)
        name = str(rng.choice(list(names)))
        function = str(rng.choice([one for one in functions_of(name) if one in functions]))
        amount = int(rng.integers(8)) if function == "slide" else 0
        if before is not None and rng.random() < 0.6:
            function, name, amount = before.kind
        sums = function in ("dot", "sum")
        chain = int(rng.choice([1, 1, 2, 3, 5, 12])) if sums else 1
        drawn = VectorCommand(
            config=config,
            region=region,
            function=function,
            name=name,
            time=int(rng.choice([1, 1, 2, 3, 8, 20])),
            chain=chain if is_float(name) else min(chain, _most_chain(config, name)),
            amount=amount,
            starts=sums and bool(rng.integers(2)),
        )
        # Operands without words may start after the last word, where no base can point.
        begins = zip(free[region.group], drawn.words, strict=True)
        left, top, result = (begin if words else 0 for begin, words in begins)
        drawn.bases = left, top, result
        need = [begin + n for begin, n in zip(free[region.group], drawn.words, strict=True)]
        if any(n > limit for n, limit in zip(need, limits, strict=True)):
            continue
        # The base of a memory without operands has no effect, but must be in range.
        bases = (min(n, limit - 1) for n, limit in zip(drawn.bases, limits, strict=True))
        left, top, result = bases
        drawn.bases = left, top, result
        for memory in MEMORIES:
            if memory == "result":
                if drawn.use_c:
                    drawn.operands[memory] = _start(rng, drawn)
            elif memory in operand_memories(function, name):
                shape = len(region.lanes), BANKS, drawn.time * drawn.chain, OCTET
                drawn.operands[memory] = random_elements(rng, name, shape)
        if {"left", "top"} <= drawn.operands.keys():
            # Some are to be equal.
            x, y = drawn.operands["left"], drawn.operands["top"]
            drawn.operands["top"] = np.where(rng.random(y.shape) < 0.1, x, y)
        free[region.group] = need
        last[region.group] = drawn
        found.append(drawn)
    return found


def _most_chain(config: GtaConfig, name: str) -> int:
    return max(1, config.most_products // element_bytes(name))


def _start(rng: np.random.Generator, command: VectorCommand) -> Patterns:
    """Draws the initial content of the results' place."""
    shape = len(command.region.lanes), BANKS, command.time, OCTET
    name = command.name
    if command.function == "dot":
        integers = {4: "int32", 8: "int64"}
        floats = {4: "fp32", 8: "fp64"}
        name = (floats if is_float(name) else integers)[command.width]
    words = random_elements(rng, name, shape)
    if command.function == "select":
        words[rng.random(shape) < 0.4] = 0
    return words
