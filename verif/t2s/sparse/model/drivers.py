"""Designs with sparse operands that ship, and drivers of their models."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.model import T2sModel

NAMES = ["spmv", "spmv_ciss", "spmm", "spmttkrp", "hadamard", "union"]


def config_of(name: str, largest: int = 4, **changes: Any) -> T2sConfig:
    return T2sConfig(design=f"sparse/{name}", largest=largest, **changes)


def driver_of(config: T2sConfig, memory_bytes: int = 1 << 22) -> Driver:
    return Driver(T2sModel(config, memory_bytes))
