"""How far apart the vectors of a problem should begin in memory."""

from __future__ import annotations

from ...hw.spec.sida import SidaConfig
from ..timing.dram import HBM

__all__ = ["bank_span"]


def bank_span(config: SidaConfig) -> int:
    """Bytes of a row of every bank of all channels, of an HBM: the vectors of a pass are read and
    written side by side, and those that begin a multiple of it apart want other rows of the same
    bank all along."""
    return config.channels * HBM.banks * HBM.page_bytes
