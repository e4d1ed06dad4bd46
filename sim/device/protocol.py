"""What a driver needs of an accelerator: registers, memory, interrupt; how they report errors."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol, TypeVar

from ...hw.spec.engine import EngineConfig
from ...hw.spec.engine_registers import COUNTERS

__all__ = ["Accelerator", "Counts", "Device", "JobError", "RegisterError"]


Config = TypeVar("Config", covariant=True)


class Accelerator(Protocol[Config]):
    """An accelerator of any kind with its memory, which begins at address 0."""

    @property
    def config(self) -> Config: ...
    @property
    def memory_bytes(self) -> int: ...
    def read_register(self, offset: int) -> int: ...
    def write_register(self, offset: int, value: int) -> None: ...
    def read_memory(self, address: int, count: int) -> bytes: ...
    def write_memory(self, address: int, content: bytes) -> None: ...
    def wait(self) -> None:
        """Return when the interrupt is high."""


Device = Accelerator[EngineConfig]
"""An engine with its memory."""


class RegisterError(Exception):
    """The register bus answered with an error: no such register, or it cannot be written."""


class JobError(RuntimeError):
    """A job failed: ``error``, a name of the accelerator's ERRORS, and ``detail``."""

    def __init__(self, accelerator: str, error: str, detail: int, where: str) -> None:
        super().__init__(f"the {accelerator} stopped with error {error} ({where})")
        self.error, self.detail = error, detail


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The counters after a job."""

    cycles: int
    busy_cycles: int
    stalls: int
    operations: int
    bytes_read: int
    bytes_written: int

    @property
    def utilisation(self) -> float:
        """Share of the cycles from the first to the last operation in which the unit had one."""
        return self.busy_cycles / max(1, self.busy_cycles + self.stalls)


assert [item.name for item in fields(Counts)] == list(COUNTERS)
