"""The common part of all drivers: a device, allocation in its memory, jobs."""

from __future__ import annotations

from operator import index
from typing import Generic, SupportsIndex, TypeVar

from ...hw.spec.registers.job_spec import JobSpec
from .job_registers import JobRegisters
from .placement import Placement
from .protocol import AcceleratorDevice

__all__ = ["JobDriver"]

Config = TypeVar("Config")


class JobDriver(Generic[Config]):
    """Base of the drivers.

    Where an operand goes is asked of ``_memory``, a job is submitted to ``_registers``; what is in
    either is the subclass's.

    Parameters
    ----------
    device: the accelerator and its memory
    spec: its jobs
    first_address: where the memory that the driver may use begins
    alignment: what all places there are multiples of
    addr_bits: width of an address: no place ends behind what it reaches
    span: see :class:`Placement`

    Raises
    ------
    ValueError if the device's ID is not the spec's, or ``first_address`` is negative; TypeError if
    that is no integer.
    """

    def __init__(
        self,
        device: AcceleratorDevice[Config],
        spec: JobSpec,
        first_address: int,
        *,
        alignment: int,
        addr_bits: int,
        span: int = 0,
    ) -> None:
        self._device = device
        self._registers = JobRegisters(device, spec)
        if not isinstance(first_address, SupportsIndex):
            raise TypeError(f"`first_address` must be an integer, not {first_address!r}")
        if index(first_address) < 0:
            raise ValueError(f"`first_address` must be at least 0, not {first_address}")
        end = min(device.memory_bytes, 1 << addr_bits)
        self._memory = Placement(index(first_address), end, alignment, span=span)

    @property
    def config(self) -> Config:
        return self._device.config
