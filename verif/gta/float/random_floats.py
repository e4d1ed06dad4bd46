"""Operands of floats drawn at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.verif.oracles import stimuli


def random_floats(
    rng: np.random.Generator, name: str, shape: tuple[int, int]
) -> npt.NDArray[np.uint64]:
    """Draws numbers whose sums lose bits, and a share of numbers of any kind."""
    fmt = FLOAT_FORMATS[name]
    found = stimuli.values(rng, "moderate", shape, fmt)
    kind = str(rng.choice(stimuli.VALUE_KINDS))
    return np.where(rng.random(shape) < 0.1, stimuli.values(rng, kind, shape, fmt), found)
