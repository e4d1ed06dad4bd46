"""Regions of lanes, and products for them, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.gta import BANKS, GtaConfig, element_bytes, is_float, result_bytes
from tilewright.hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    operand_memories,
)
from tilewright.sim.numbers.values import Patterns
from tilewright.verif.gta.float.exact_sums import random_floats
from tilewright.verif.kit.sampling import draw_until

from .cluster_cycles import Command
from .float_products import FloatProduct
from .products import Product, Region, random_matrix
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


def cut(rng: np.random.Generator, config: GtaConfig, layout: int, cuts: int) -> list[Region]:
    """The lanes, ``1 << layout`` across, cut into rectangles so many times, with any groups."""
    across = 1 << layout
    pieces = [(0, 0, config.lanes // across, across)]
    for _ in range(cuts):
        row, column, rows, columns = pieces.pop(int(rng.integers(len(pieces))))
        if rows > 1 and (columns == 1 or rng.random() < 0.5):
            at = int(rng.integers(1, rows))
            pieces += [(row, column, at, columns), (row + at, column, rows - at, columns)]
        elif columns > 1:
            at = int(rng.integers(1, columns))
            pieces += [(row, column, rows, at), (row, column + at, rows, columns - at)]
        else:
            pieces.append((row, column, rows, columns))
    groups = rng.permutation(1 << config.mask_bits)[: len(pieces)].tolist()
    return [
        Region(rows, columns, group, row * across + column, across)
        for group, (row, column, rows, columns) in zip(groups, pieces, strict=True)
    ]


def masks_of(config: GtaConfig, regions: Sequence[Region]) -> list[int]:
    """Masks of lanes."""
    masks = [0] * config.lanes
    for region in regions:
        for lane in region.lanes:
            masks[lane] = region.group
    return masks


def random_products(
    rng: np.random.Generator,
    config: GtaConfig,
    regions: Sequence[Region],
    count: int,
    *,
    names: Sequence[str] = (),
    **fixed: object,
) -> list[Product | FloatProduct]:
    """Draws products with separate places for operands and results, or products that continue from
    the previous one's result (another segment of K)."""
    free = {region.group: [0, 0, 0] for region in regions}
    limits = (config.edge_bytes // 16, config.edge_bytes // 16, config.bank_bytes // 32)
    last: dict[int, Product | FloatProduct] = {}
    found: list[Product | FloatProduct] = []
    drawn: Any
    for _ in range(count):
        region = regions[int(rng.integers(len(regions)))]
        used, before = free[region.group], last.get(region.group)
        if before is not None and rng.random() < 0.3:
            k = int(rng.integers(1, 20))
            shape = (len(before.a), k), (k, before.b.shape[1])
            a, b = (_operand(rng, before.name, s) for s in shape)
            bases = (used[0], used[1], before.bases[2])
            drawn = replace(before, a=a, b=b, c=None, use_c=True, bases=bases)
            used = [*used[:2], before.bases[2]]
        else:
            drawn = draw_until(partial(_draw, rng, config, region, used, names, fixed))
        need = [begin + words for begin, words in zip(used, drawn.words, strict=True)]
        if any(n > limit for n, limit in zip(need, limits, strict=True)):
            continue
        free[region.group] = [max(n, f) for n, f in zip(need, free[region.group], strict=True)]
        last[region.group] = drawn
        found.append(drawn)
    return found


def _operand(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> Any:
    """Integers, or patterns of floats."""
    draw = random_floats if is_float(name) else random_matrix
    return draw(rng, name, shape)


def _draw(
    rng: np.random.Generator,
    config: GtaConfig,
    region: Region,
    used: Sequence[int],
    names: Sequence[str],
    fixed: dict[str, Any],
) -> Product | FloatProduct | None:
    """A product that fits in memories of this size, if they were empty."""
    name = str(rng.choice(list(names or config.integers)))
    size = result_bytes(name)
    if rng.random() < 0.2:
        size = 16 if element_bytes(name) > 2 and "int64" in config.formats else 8
    most = [int(rng.choice([3, 12, 40])) for _ in range(3)]
    m, n, k = (int(rng.integers(1, limit + 1)) for limit in most)
    drawn: dict[str, Any] = {
        "mode": Operation(int(rng.integers(2))),
        "lateral": bool(rng.integers(2)),
        "overlap": bool(rng.random() < 0.7),
        "use_c": bool(rng.integers(2)),
        **fixed,
    }
    drawn |= {
        "region": region,
        "name": name,
        "a": _operand(rng, name, (m, k)),
        "b": _operand(rng, name, (k, n)),
        "bases": tuple(used),
    }
    product: Product | FloatProduct
    if is_float(name):
        del drawn["mode"]
        product = FloatProduct(config=config, **drawn)
    else:
        product = Product(size=size, **drawn)
    edge, bank = config.edge_bytes // 16, config.bank_bytes // 32
    fits = all(w <= n // 2 for w, n in zip(product.words, (edge, edge, bank), strict=True))
    return product if fits else None


def mixed(
    rng: np.random.Generator, config: GtaConfig, regions: Sequence[Region], products: int
) -> list[Command]:
    """Commands of vectors, and so many products at most, in any order."""
    names = rng.choice(config.formats, int(rng.integers(1, 4))).tolist()
    of_matrices = random_products(rng, config, regions, products, names=names) if products else []
    used = {
        region.group: [
            max((p.bases[n] + p.words[n] for p in of_matrices if p.region == region), default=0)
            for n in range(3)
        ]
        for region in regions
    }
    vectors = random_vectors(rng, config, regions, 12, names=names, used=used)
    # The kinds are mixed at random; each keeps its own order.
    turns = rng.permutation([0] * len(of_matrices) + [1] * len(vectors)).tolist()
    kinds = iter(of_matrices), iter(vectors)
    return [next(kinds[turn]) for turn in turns]
