"""Small accelerators of every kind for the benches of the whole."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.sida import SidaConfig

CONFIGS: dict[str, dict[str, Any]] = {
    "small": {},
    # The waiting elements do not fit into the buffer.
    "tiny": {"buffer_words": 64, "subtensor": 16, "channels": 1, "window": 4, "outstanding": 4},
    "int32": {"value": "int32", "channels": 3, "semirings": ("mma", "minplus", "maxmin"),
              "subtensor": 4},
    "fp16": {"value": "fp16", "data_bits": 64, "interleave": 128, "adder_stages": 1,
             "multiplier_stages": 1, "semirings": ("mma", "addnorm", "orand")},
    "fp64": {"value": "fp64", "subtensor": 8, "channels": 4, "buffer_words": 128},
    # Everything as small as it may be, but for the channels.
    "least": {"value": "fp16", "subtensor": 4, "buffer_words": 64, "window": 2, "outstanding": 2,
              "channels": 3, "adder_stages": 1, "multiplier_stages": 1},
    "wide": {"pes": 16, "subtensor": 32, "channels": 4, "buffer_words": 256, "vector_words": 256},
    "all": {"semirings": ("mma", "minplus", "maxplus", "minmul", "maxmul", "minmax", "maxmin",
                          "orand", "addnorm", "aril-add")},
}  # fmt: skip


WINDOWED: dict[str, dict[str, Any]] = {
    # A few times as many rows as there is room for on chip.
    "windowed": {"subtensor": 16, "vector_words": 64, "rows_limit": 512},
    "windowed, tiny": {"buffer_words": 64, "subtensor": 32, "vector_words": 64, "rows_limit": 512,
                       "channels": 1, "window": 4, "outstanding": 4},
    "windowed, int32": {"value": "int32", "channels": 3, "semirings": ("mma", "minplus", "maxmin"),
                        "subtensor": 16, "vector_words": 64, "rows_limit": 1024},
    "windowed, fp64": {"value": "fp64", "subtensor": 8, "channels": 4, "buffer_words": 128,
                       "vector_words": 64, "rows_limit": 256},
    "windowed, wide": {"pes": 16, "subtensor": 64, "channels": 4, "buffer_words": 256,
                       "vector_words": 64, "rows_limit": 1024, "value": "fp16"},
    "windowed, all on chip": {"subtensor": 16, "vector_words": 256, "rows_limit": 256},
}  # fmt: skip
"""Accelerators whose vectors are in memory, and a window of them on chip."""


def small(**changes: Any) -> SidaConfig:
    """Four elements a cycle, matrices of up to 128 rows."""
    given: dict[str, Any] = {
        "pes": 4, "subtensor": 8, "buffer_words": 512, "vector_words": 128, "channels": 2,
        "data_bits": 64, "outstanding": 8, "program_words": 64,
    }  # fmt: skip
    return SidaConfig(**{**given, **changes})
