"""Defines the interface of an accelerator for its driver: registers, memory, interrupt, errors."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["AcceleratorDevice", "Closing", "JobError", "OpenDevice", "RegisterError"]


Config = TypeVar("Config", covariant=True)


class AcceleratorDevice(Protocol[Config]):
    """The interface of an accelerator and its memory, which begins at address 0, for a driver.

    A class of your own with these members can be driven, for example one in front of silicon;
    ``docs/python.md`` has an example.
    """

    @property
    def config(self) -> Config:
        """The configuration that the accelerator was generated for."""

    @property
    def memory_bytes(self) -> int:
        """Size of the memory in bytes."""

    def read_register(self, offset: int) -> int:
        """Returns the 32-bit word at a byte offset. Raises RegisterError for an offset without a
        register, and for one that the register bus does not reach."""

    def write_register(self, offset: int, value: int) -> None:
        """Writes the 32-bit word at a byte offset. Raises RegisterError for an offset without a
        writable register, ValueError for a value that does not fit 32 bits."""

    def read_memory(self, address: int, count: int) -> bytes:
        """Returns ``count`` bytes of the memory from a byte address. Raises IndexError if some lie
        outside."""

    def write_memory(self, address: int, content: bytes) -> None:
        """Writes bytes into the memory from a byte address. Raises IndexError if some lie outside,
        TypeError for an array of wider items: pass its ``tobytes()``."""

    def wait(self) -> None:
        """Returns when the interrupt is high. Raises RuntimeError if it does not become high."""


class Closing:
    """What has a ``close``, as a context manager that ends with it."""

    def close(self) -> None:
        """Ends the use of it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class OpenDevice(AcceleratorDevice[Config], Protocol[Config]):
    """A device of this process, as :func:`tilewright.device` returns it: a context manager."""

    @property
    def memory(self) -> npt.NDArray[np.uint8]:
        """The whole memory, uint8, one element per byte. It can be read and written, and it stays
        valid after ``close``."""

    def irq(self) -> bool:
        """Returns the level of the interrupt line."""

    def close(self) -> None:
        """Ends the simulation and completes the waveform file. Afterwards registers, ``irq`` and
        ``wait`` raise ValueError; ``memory`` can still be read."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class RegisterError(Exception):
    """The accelerator has no such register, or the register cannot be written; in RTL the register
    bus reports it, or does not reach the offset."""


class JobError(RuntimeError):
    """A job failed.

    Members
    -------
    error: name of the error, as on the accelerator's page
    detail: value of the register ERROR_DETAIL
    """

    def __init__(self, accelerator: str, error: str, detail: int, where: str) -> None:
        super().__init__(f"the {accelerator} stopped with error {error} ({where})")
        self.error, self.detail = error, detail
