"""Accelerators whose sets and lines are of all sizes beside each other."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.sida import SidaConfig


def _config(pes: int, subtensor: int, **others: Any) -> SidaConfig:
    sizes = {"vector_words": 256, "addr_bits": 32, "outstanding": 8}
    return SidaConfig(pes=pes, subtensor=subtensor, **{**sizes, **others})


CONFIGS = {
    "small": _config(4, 8, channels=1, data_bits=64),
    "three channels": _config(8, 8, channels=3, interleave=128, value="fp16", semirings=("mma",)),
    "wide": _config(32, 32, channels=1, data_bits=64, outstanding=4, value="fp64"),
    "a set a step": _config(4, 4, channels=2, data_bits=256, value="int32"),
    "default": SidaConfig(addr_bits=32, vector_words=1024),
}
