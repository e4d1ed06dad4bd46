"""Accelerators with rows of all sizes beside a line."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.sida import SidaConfig


def _config(pes: int, subtensor: int, **others: Any) -> SidaConfig:
    sizes = {"vector_words": 256, "addr_bits": 32, "outstanding": 16}
    return SidaConfig(pes=pes, subtensor=subtensor, **{**sizes, **others})


CONFIGS = {
    "four rows a line": _config(4, 8, channels=1, data_bits=64),
    "16 rows a line": _config(4, 16, channels=3, interleave=128, value="fp16"),
    "lines of two blocks": _config(4, 64, channels=4, data_bits=256, value="int32"),
    "two lines a row": _config(16, 64, channels=3, data_bits=128, value="fp64"),
    "eight lines a row": _config(64, 128, channels=1, data_bits=64, outstanding=4, value="fp64"),
    "default": SidaConfig(addr_bits=32, vector_words=1024),
}

WINDOWED = {
    "four rows a line": _config(4, 16, channels=1, data_bits=64, rows_limit=1024),
    "16 rows a line": _config(4, 64, channels=3, interleave=128, value="fp16", rows_limit=512),
    "two lines a row": _config(16, 64, channels=3, data_bits=128, value="fp64", rows_limit=1024),
    "default": SidaConfig(addr_bits=32, vector_words=64, rows_limit=1024),
}
"""The same whose vectors are in memory."""
