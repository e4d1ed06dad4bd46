"""Configurations of mappings that are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from tilewright.hw.spec.config import Flag, IntRange, OneOf, parameter
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering.design import lowered

from ..random_mappings import KERNELS, random_mapping


@dataclass(frozen=True, kw_only=True)
class DrawnConfig(T2sConfig):
    """An array of a mapping that is drawn. Raises ValueError for one that has no hardware."""

    kernel: str = parameter("gemm", allowed=OneOf(tuple(KERNELS)), doc="what is mapped")
    seed: int = parameter(0, allowed=IntRange(0, 1 << 30), doc="of the mapping")
    words: bool = parameter(False, allowed=Flag(), doc="initial values, functions of words")

    @cached_property
    def plan(self) -> Design:
        rng = np.random.default_rng([self.seed, *self.kernel.encode()])
        words = np.random.default_rng(self.seed) if self.words else None
        return lowered(random_mapping(self.kernel, rng, words), self)


def drawn(kernel: str, count: int, first: int = 0, **changes: Any) -> list[DrawnConfig]:
    """Mappings that have hardware, from a seed on."""
    found: list[DrawnConfig] = []
    for seed in range(first, first + 40 * count):
        if len(found) == count:
            break
        try:
            settings = {"trip_bits": 6, "outstanding": 2, **changes}
            found.append(DrawnConfig(kernel=kernel, seed=seed, **settings))
        except (MappingError, ValueError):
            continue  # Not all that is drawn is legal, or has hardware.
    assert len(found) == count
    return found
