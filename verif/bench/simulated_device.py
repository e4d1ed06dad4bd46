"""Base of the devices that are RTL in a separate simulator process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, Generic, TypeVar

from tilewright.sim.device.protocol import RegisterError

Config = TypeVar("Config")


class SimulatedDevice(ABC, Generic[Config]):
    """The half of a device's protocol that is the same in any simulator.

    Parameters
    ----------
    config: the unit's, for the driver
    memory_bytes: size of the memory
    """

    def __init__(self, config: Config, memory_bytes: int) -> None:
        self.config: Final = config
        self._memory_bytes = memory_bytes

    @property
    def memory_bytes(self) -> int:
        return self._memory_bytes

    @abstractmethod
    def _read(self, offset: int) -> tuple[int, int]:
        """The response to a read on the register bus, and the word."""

    @abstractmethod
    def _write(self, offset: int, value: int) -> int:
        """The response to a write on the register bus."""

    def read_register(self, offset: int) -> int:
        """The word at an offset. Raises RegisterError if the bus says so."""
        response, value = self._read(offset)
        if response:
            raise RegisterError(f"response {response} to a read at offset {offset:#x}")
        return value

    def write_register(self, offset: int, value: int) -> None:
        """Write the word at an offset. Raises RegisterError if the bus says so."""
        response = self._write(offset, value)
        if response:
            raise RegisterError(f"response {response} to a write at offset {offset:#x}")
