"""Octets cut into planes, and operands to make octets of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.jobs.gta_vector import OCTET
from tilewright.sim.numbers.values import Patterns
from tilewright.verif.kit.sampling import value_pairs

__all__ = ["Bytes", "operands_of", "planes_of"]

Bytes = npt.NDArray[np.uint8]


def planes_of(words: Patterns, count: int) -> Bytes:
    """Words (n, 8) as planes (n, count, 8), their lowest bytes first."""
    split = words.astype("<u8").view(np.uint8).reshape(len(words), OCTET, 8)
    return split[..., :count].swapaxes(1, 2)


def operands_of(format: str, count: int, seed: int) -> tuple[Patterns, Patterns, Patterns]:
    """At least ``count`` octets (n, 8) of each of three operands: each special value with each,
    and others; of the third many are 0, and many a single bit."""
    rng = np.random.default_rng(seed)
    a, b = value_pairs(FORMATS[format], OCTET * count, seed)
    used = len(a) // OCTET * OCTET
    order = rng.permutation(len(a))[:used]
    x, y = a[order], b[order]
    y = np.where(rng.random(used) < 0.1, x, y)
    bits = rng.integers(0, FORMATS[format].bits, used).astype(np.uint64)
    c = np.where(rng.random(used) < 0.3, np.uint64(1) << bits, rng.permutation(x))
    c = np.where(rng.random(used) < 0.4, np.uint64(0), c)
    return x.reshape(-1, OCTET), y.reshape(-1, OCTET), c.reshape(-1, OCTET)
