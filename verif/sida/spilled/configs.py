"""Accelerators with few rows of w on chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.hw.spec.config import IntRange, like
from tilewright.hw.spec.sida import SidaConfig

__all__ = ["DEVICES", "FewRows"]


@dataclass(frozen=True, kw_only=True)
class FewRows(SidaConfig):
    """A SIDA with less on chip than is built: two rows of w are enough for its part of it."""

    vector_words: int = like(
        SidaConfig, "vector_words", allowed=IntRange(8, 1 << 20, power_of_two=True)
    )

    @property
    def window_elements(self) -> int:
        return self.pes


def few(**changes: Any) -> FewRows:
    given: dict[str, Any] = {
        "pes": 4,
        "subtensor": 4,
        "buffer_words": 64,
        "vector_words": 8,
        "rows_limit": 64,
        "value": "int32",
        "semirings": ("mma",),
    }
    return FewRows(**{**given, **changes})


DEVICES = {
    "two rows": few(value="fp16"),
    "floats": few(value="fp32", buffer_words=256, vector_words=16),
    "semirings": few(
        semirings=("mma", "minplus", "orand"), adder_stages=1, vector_words=32, buffer_words=128
    ),
    "all rows": few(vector_words=64, value="fp16", multiplier_stages=1),
    "two rows a step": few(subtensor=8, vector_words=16, adder_stages=2),
    "eight": few(pes=8, subtensor=16, vector_words=16, value="fp16", semirings=("mma", "orand")),
}
"""By what is particular about each."""
