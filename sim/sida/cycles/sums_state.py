"""State of the cycle model of BothSums: fields of the machine's record."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.sida import SidaConfig
from .shared import fields

__all__ = ["SUMS", "set_up_sums"]

_MOST_LATENCY = 64

SUMS: list[tuple[Any, ...]] = [
    # Of what comes in in a cycle the results leave so much later; the place of this cycle.
    *fields("sums_latency", "sums_at"),
    ("sums_base", np.int64, (_MOST_LATENCY,)),
    ("sums_columns", np.int64, (_MOST_LATENCY,)),
    # What leaves in this cycle, of both products.
    ("results", np.dtype(fields("valid", "base", "columns"))),
]
"""Fields of the machine."""


def set_up_sums(m: Any, config: SidaConfig) -> None:
    """A machine of zeros gets its sums behind a reset."""
    m["sums_latency"] = config.sums_latency
