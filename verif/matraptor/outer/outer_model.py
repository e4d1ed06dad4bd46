"""Outer products in models: small operands, results, and bytes that are read, counted once more."""

from __future__ import annotations

from typing import Any

import numpy as np
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.result.outer import by_columns, outer_product
from tilewright.sim.sparse.c2sr import C2sr
from tilewright.verif.channels.lane_rows import walk
from tilewright.verif.matraptor.cases import random_matrix
from tilewright.verif.matraptor.outer.outer_cases import OuterCase

PARALLEL = [(1, 1), (2, 2), (4, 2), (2, 4), (3, 3), (6, 2), (1, 8), (2, 6), (16, 1), (8, 8)]
MEMORY_BYTES = 1 << 18


def config(**given: Any) -> MatRaptorConfig:
    return MatRaptorConfig(**{"outer_product": True, "lanes": 2, "channels": 2, **given})


def operands(
    rng: np.random.Generator, cfg: MatRaptorConfig, shape: tuple[int, int, int], density: float,
    **how: Any,
) -> tuple[C2sr, C2sr]:  # fmt: skip
    rows, inner, columns = shape
    return (
        random_matrix(rng, cfg, (rows, inner), density, **how),
        random_matrix(rng, cfg, (inner, columns), density, **how),
    )


def product(cfg: MatRaptorConfig, a: C2sr, b: C2sr) -> C2sr:
    found = outer_product(cfg, by_columns(cfg, a), b, a.shape[0])
    assert found.c is not None
    return found.c


def slow_bytes(case: OuterCase) -> dict[str, int]:
    """Lane by lane, row by row."""
    cfg, t, b = case.config, case.a, case.b
    size, beat = cfg.layout.entry_bytes, cfg.beat_bytes
    found = dict.fromkeys(
        ("bytes_a_pairs", "bytes_a_entries", "bytes_b_pairs", "bytes_b_entries"), 0
    )
    # A lane without rows of C has nothing to do.
    for lane in range(min(cfg.lanes, case.left.shape[0])):
        pairs, held = set(), (-1, -1)
        for place in walk(cfg.layout, cfg.lane_map, lane, t.shape[0]):
            pairs.add((place.slot, place.index // cfg.layout.block_pairs))
            length, pointer = int(t.lengths[place.i]), int(t.pointers[place.i])
            if not length:
                continue
            for entry in range(pointer, pointer + length):
                block = place.slot, entry // cfg.layout.block_entries
                found["bytes_a_entries"] += (block != held) * cfg.interleave
                held = block
            k = place.i // cfg.lanes
            begin, end = int(b.pointers[k]) * size, int(b.pointers[k] + b.lengths[k]) * size
            found["bytes_b_pairs"] += beat
            found["bytes_b_entries"] += len({byte // beat for byte in range(begin, end)}) * beat
        found["bytes_a_pairs"] += len(pairs) * cfg.interleave
    return found | {"bytes_read": sum(found.values())}
