"""The interface of an accelerator that a driver uses: registers, memory, interrupt, errors."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["AcceleratorDevice", "JobError", "OpenDevice", "RegisterError"]


Config = TypeVar("Config", covariant=True)


class AcceleratorDevice(Protocol[Config]):
    """An accelerator of any kind with its memory, which begins at address 0: what a driver needs,
    and what an object of one's own must have to be driven, in front of silicon for example."""

    @property
    def config(self) -> Config:
        """The configuration that the accelerator was generated for."""

    @property
    def memory_bytes(self) -> int:
        """Size of the memory."""

    def read_register(self, offset: int) -> int:
        """The word of 32 bits at an offset. Raises RegisterError if there is none, at offsets that
        the register bus does not reach, too."""

    def write_register(self, offset: int, value: int) -> None:
        """Write the word at an offset. Raises RegisterError if nothing there can be written,
        ValueError if the value does not fit 32 bits."""

    def read_memory(self, address: int, count: int) -> bytes:
        """Bytes of the memory. Raises IndexError if some lie outside."""

    def write_memory(self, address: int, content: bytes) -> None:
        """Put bytes into the memory. Raises IndexError if some lie outside; TypeError for what are
        no bytes, such as arrays of wider items: their ``tobytes()`` are."""

    def wait(self) -> None:
        """Return when the interrupt is high. Raises RuntimeError if it does not come."""


class OpenDevice(AcceleratorDevice[Config], Protocol[Config]):
    """A device in this process, to be closed in the end: a context manager."""

    @property
    def memory(self) -> npt.NDArray[np.uint8]:
        """All of the memory, to read and to write, also when the device is closed."""

    def irq(self) -> bool:
        """The interrupt line."""

    def close(self) -> None:
        """End it; afterwards registers, ``irq`` and ``wait`` raise ValueError."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class RegisterError(Exception):
    """There is no such register, or it cannot be written; in RTL the register bus said so, or does
    not reach it."""


class JobError(RuntimeError):
    """A job failed: ``error``, one of the accelerator's, and ``detail``."""

    def __init__(self, accelerator: str, error: str, detail: int, where: str) -> None:
        super().__init__(f"the {accelerator} stopped with error {error} ({where})")
        self.error, self.detail = error, detail
