"""What the parts around the vectors hand to each other."""

from __future__ import annotations

from amaranth.lib import data

from ...spec.sida import SidaConfig
from ..layouts import count_bits

__all__ = ["WAYS", "pair_layout", "row_request_layout", "vector_write_layout"]

WAYS = 2
"""Sets are dealt out to so many lanes of each leaf, so that one waits less for another."""


def vector_write_layout(config: SidaConfig) -> data.StructLayout:
    """``values`` for the elements from ``base`` on, a multiple of their number, of those whose bit
    is set in ``mask``, if ``valid``."""
    return data.StructLayout(
        {
            "valid": 1,
            "base": count_bits(config),
            "values": data.ArrayLayout(config.format.bits, config.pes),
            "mask": config.pes,
        }
    )


def pair_layout(config: SidaConfig) -> data.StructLayout:
    """An element of both vectors."""
    return data.StructLayout({"x": config.format.bits, "z": config.format.bits})


def row_request_layout(config: SidaConfig) -> data.StructLayout:
    """The element of the vectors that a lane wants: which ``line`` of which ``bank``, if
    ``valid``; where vectors are in memory, whether that of ``z``, too."""
    return data.StructLayout(
        {
            "valid": 1,
            "bank": range(config.gather_banks),
            "line": range(max(2, config.most_rows // config.gather_banks)),
            **({"z": 1} if config.windowed else {}),
        }
    )
