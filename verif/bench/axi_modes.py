"""The modes of a memory: which READY it ties to which VALID, drawn at random."""

from __future__ import annotations

import random
from typing import Any

FLAGS = ("aw_after_w", "w_after_aw", "ready_after_valid", "one_read")
"""Fields of ``axi_memory.Behaviour`` that AXI4 leaves to a memory, each on or off."""

MODES = (*FLAGS, "write_latency")


def any_modes(seed: Any) -> dict[str, Any]:
    """Each flag on or off, responses to writes as soon as all others or long after."""
    generator = random.Random(f"modes {seed}")
    drawn: dict[str, Any] = {name: generator.random() < 0.5 for name in FLAGS}
    drawn["write_latency"] = generator.choice([None, None, (1, 1), (60, 120)])
    return drawn
