"""Pipeline stages of the operators on values."""

from __future__ import annotations

from dataclasses import dataclass

from .config import Config, IntRange, parameter

__all__ = ["OperatorStages"]


@dataclass(frozen=True, kw_only=True)
class OperatorStages(Config):
    """Latencies of the operators of values; each begins an operation a cycle."""

    adder_stages: int = parameter(3, allowed=IntRange(1, 3), doc="latency of an adder, in cycles")
    multiplier_stages: int = parameter(
        3, allowed=IntRange(1, 3), doc="latency of a multiplier, in cycles"
    )
