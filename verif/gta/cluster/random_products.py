"""Regions of lanes, and products for them, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import GtaConfig, element_bytes, is_float, result_bytes
from tilewright.verif.gta.float.random_floats import random_floats
from tilewright.verif.kit.sampling import draw_until

from .float_products import FloatProduct
from .products import Product, Region, random_matrix


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
