"""What a driver needs of an accelerator: registers, memory, interrupt; how they report errors."""

from __future__ import annotations

from typing import Protocol, TypeVar

__all__ = ["AcceleratorDevice", "JobError", "RegisterError"]


Config = TypeVar("Config", covariant=True)


class AcceleratorDevice(Protocol[Config]):
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


class RegisterError(Exception):
    """The register bus answered with an error: no such register, or it cannot be written."""


class JobError(RuntimeError):
    """A job failed: ``error``, one of the accelerator's, and ``detail``."""

    def __init__(self, accelerator: str, error: str, detail: int, where: str) -> None:
        super().__init__(f"the {accelerator} stopped with error {error} ({where})")
        self.error, self.detail = error, detail
