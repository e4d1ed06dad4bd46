"""Draws settings of the memory of a natively simulated accelerator at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from tilewright.sim.rtl.accelerator import AxiBehaviour

HANDSHAKES = ("aw_after_w", "w_after_aw", "ready_after_valid", "one_read")
"""Parameters of :class:`AxiBehaviour` that say for what a READY waits."""


def any_behaviour(rng: np.random.Generator, **fixed: Any) -> AxiBehaviour:
    """A memory that is quick or slow, stalls or not, in order or mixed, with or without a limit on
    its bandwidth, whose READY waits for any VALID that AXI lets it wait for; ``fixed`` are
    parameters of :class:`AxiBehaviour` that are not left to chance."""
    drawn: dict[str, Any] = {
        "seed": int(rng.integers(1 << 40)),
        "latency": (1, int(rng.choice([1, 10, 200]))),
        "stall": float(rng.choice([0, 0.3, 0.7])),
        "mixed": bool(rng.integers(2)),
        "beat_cycles": float(rng.choice([0, 0, 1, 2.5])),
        "register_stall": float(rng.choice([0, 0.5])),
        "register_order": str(rng.choice(["together", "address", "data"])),
        "write_latency": (1, 300) if rng.integers(3) == 0 else None,
        **{mode: bool(rng.integers(2)) for mode in HANDSHAKES},
    }
    return AxiBehaviour(**drawn | fixed)
