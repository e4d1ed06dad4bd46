"""What the row writer's bench builds a writer from, as it can be written to a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.hw.spec.c2sr import C2srLayout
from tilewright.hw.spec.channels import ChannelGeometry, LaneMap

__all__ = ["WriterSettings"]


@dataclass(frozen=True, kw_only=True)
class WriterSettings:
    """Parameters of ``LaneMap``, ``ChannelGeometry`` and ``C2srLayout``, and of a burst writer
    how many bursts may be under way."""

    lanes: int
    channels: int
    data_bits: int
    interleave: int = 64
    addr_bits: int = 40
    value: str = "fp32"
    index_bits: int = 32
    outstanding: int = 64

    def _of(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("channels", *names)}

    @property
    def geometry(self) -> ChannelGeometry:
        return ChannelGeometry(**self._of("interleave", "data_bits", "addr_bits"))

    @property
    def layout(self) -> C2srLayout:
        return C2srLayout(**self._of("interleave", "value", "index_bits"))

    @property
    def lane_map(self) -> LaneMap:
        return LaneMap(**self._of("lanes"))
