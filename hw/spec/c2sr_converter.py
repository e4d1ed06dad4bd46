"""Configuration of the converter between CSR and C2SR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .c2sr import C2srLayout
from .config import Config, like
from .matraptor import MatRaptorConfig

__all__ = ["POINTER_BYTES", "C2srConverterConfig"]

POINTER_BYTES = 4
"""A row pointer of plain CSR."""

_READERS = 2


@dataclass(frozen=True, kw_only=True)
class C2srConverterConfig(Config):
    """Sparse matrices from CSR to C2SR and back, from memory to memory."""

    channels: int = like(MatRaptorConfig, "channels", doc="memory channels")
    value: str = like(MatRaptorConfig, "value", doc="format of the values")
    outstanding: int = like(
        MatRaptorConfig, "outstanding", doc="bursts that each of two readers may have under way"
    )
    data_bits: int = like(MatRaptorConfig, "data_bits")
    interleave: int = like(MatRaptorConfig, "interleave")
    addr_bits: int = like(MatRaptorConfig, "addr_bits")
    index_bits: int = like(MatRaptorConfig, "index_bits")

    def __post_init__(self) -> None:
        super().__post_init__()
        # What it allows is allowed here.
        _ = self.lane

    @property
    def lane(self) -> MatRaptorConfig:
        """Of parts of MatRaptor, which see the matrix as that of one lane in all channels."""
        return self._parts(self.channels)

    @property
    def flat(self) -> MatRaptorConfig:
        """Of parts that see an array at consecutive addresses, as one in a single channel."""
        return self._parts(1)

    def _parts(self, channels: int) -> MatRaptorConfig:
        mine: dict[str, Any] = {item.name: getattr(self, item.name) for item in self.parameters()}
        return MatRaptorConfig(**{**mine, "lanes": 1, "channels": channels})

    @property
    def layout(self) -> C2srLayout:
        """How a matrix in C2SR lies in memory."""
        return self.lane.layout

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    @property
    def id_bits(self) -> int:
        """Width of an AXI ID: which reader, and the burst's number."""
        return self.lane.slot_bits + (_READERS - 1).bit_length()
