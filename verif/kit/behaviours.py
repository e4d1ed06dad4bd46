"""How the memory of a natively simulated accelerator may behave: settings at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from tilewright.sim.rtl.accelerator import AxiBehaviour

__all__ = ["any_behaviour"]


def any_behaviour(rng: np.random.Generator, **fixed: Any) -> AxiBehaviour:
    """A memory that is quick or slow, stalls or not, in order or mixed, with or without a limit on
    its bandwidth; ``fixed`` are parameters of :class:`AxiBehaviour` that are not left to chance."""
    drawn: dict[str, Any] = {
        "seed": int(rng.integers(1 << 40)),
        "latency": (1, int(rng.choice([1, 10, 200]))),
        "stall": float(rng.choice([0, 0.3, 0.7])),
        "mixed": bool(rng.integers(2)),
        "beat_cycles": float(rng.choice([0, 0, 1, 2.5])),
        "register_stall": float(rng.choice([0, 0.5])),
    }
    return AxiBehaviour(**drawn | fixed)
