"""Holds the common part of all drivers: registers, allocation in a device's memory, jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from typing import Any, Generic, SupportsIndex, TypeVar

from ...hw.spec.registers.job_spec import Error, JobSpec
from ...hw.spec.registers.register_map import Register
from .protocol import AcceleratorDevice, JobError


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """The outcome of a job.

    Parameters
    ----------
    accelerator: name of the accelerator in messages
    counts: values of the counters by name
    error: name of the error; "none" without one
    detail: value of the register ERROR_DETAIL; 0 without an error
    where: meaning of the detail: a register's name, an address, a row, ...
    """

    accelerator: str
    counts: dict[str, int]
    error: str = "none"
    detail: int = 0
    where: str = ""

    def check(self, *allowed: str) -> None:
        """Raises JobError unless the job ended without an error, or with one that is
        ``allowed``."""
        if self.error not in ("none", *allowed):
            raise JobError(self.accelerator, self.error, self.detail, self.where)


class JobRegisters:
    """The registers of an accelerator by name, and its jobs.

    Parameters
    ----------
    device: the accelerator
    spec: description of its jobs

    Raises
    ------
    ValueError: the register ID does not hold the letters of ``spec``
    """

    def __init__(self, device: AcceleratorDevice[Any], spec: JobSpec) -> None:
        self._device, self._spec = device, spec
        found, wanted = self.read("ID"), int.from_bytes(spec.letters, "little")
        if found != wanted:
            raise ValueError(f"the device's ID must be {wanted:#x}, not {found:#x}")

    def register(self, name: str) -> Register:
        """Returns a register's description, which packs and unpacks its fields."""
        return self._spec.registers[name]

    def write(self, name: str, value: int) -> None:
        """Writes a register by name, all its words.

        Bits of the words that the register does not have are dropped. Raises TypeError for a value
        that is not an integer, ValueError for an unknown name or a number that the words do not
        hold; nothing is written then.
        """
        self.write_all({name: value})

    def write_all(self, values: Mapping[str, int]) -> None:
        """Writes registers by name. Raises as :meth:`write`, before anything is written."""
        checked = [self._checked(self.register(name), value) for name, value in values.items()]
        for register, value in checked:
            for word in range(register.words):
                part = value >> 32 * word & 0xFFFF_FFFF
                self._device.write_register(register.offset + 4 * word, part)

    @staticmethod
    def _checked(register: Register, value: object) -> tuple[Register, int]:
        if not isinstance(value, SupportsIndex):
            raise TypeError(f"`{register.name}` must be an integer, not {value!r}")
        number, most = index(value), (1 << register.bits) - 1
        if not 0 <= number <= most:
            raise ValueError(f"`{register.name}` takes 0..{most}, not {number}")
        return register, number

    def read(self, name: str) -> int:
        """Returns the value of a register by name, one or two words."""
        register = self.register(name)
        words = [self._device.read_register(register.offset + 4 * w) for w in range(register.words)]
        return sum(word << 32 * index for index, word in enumerate(words))

    def submit(self, job: Mapping[str, int]) -> JobStatus:
        """Writes the registers of a job by name, and runs it as :meth:`run`. Raises as
        :meth:`write`, before anything is written."""
        self.write_all(job)
        return self.run()

    def run(self) -> JobStatus:
        """Starts the job of the registers, waits for its end, acknowledges it, and returns its
        outcome."""
        control, status = self.register("CTRL"), self.register("STATUS")
        self.write("CTRL", control.put(start=1, irq_enable=1))
        self._device.wait()
        word = self.read("STATUS")
        self.write("STATUS", status.put(done=1, error=1))
        name = self._spec.accelerator
        counts = {counter: self.read(counter.upper()) for counter in self._spec.counters}
        if not status.get(word, "error"):
            return JobStatus(accelerator=name, counts=counts)
        error = self._spec.error_of(status.get(word, "error_code"))
        detail = self.read("ERROR_DETAIL")
        where = self._where(error, detail)
        return JobStatus(
            accelerator=name, counts=counts, error=error.name, detail=detail, where=where
        )

    def _where(self, error: Error, detail: int) -> str:
        if error.detail == "register":
            return next(x.name for x in self._spec.registers if x.offset == detail)
        number = f"{detail:#x}" if error.detail == "address" else detail
        return f"{error.detail} {number}"


def check_type(name: str, value: object, kind: type, allowed: str) -> None:
    """Raises TypeError, which names what is ``allowed``, if a value is not of a type."""
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` must be {allowed}, not {type(value).__name__}")


_PARTS = 16
"""Number of equal parts of a span."""

_STEP = 5
"""Parts of a span from the start of one large region to the start of the next one. It is coprime to
``_PARTS``, so all starts differ."""


class NoRoom(ValueError):
    """The memory is too small; ``end`` is the address after the requested bytes."""

    def __init__(self, text: str, end: int) -> None:
        super().__init__(text)
        self.end = end


class Placement:
    """Allocates regions of a memory in ascending order.

    Parameters
    ----------
    first, end: range of addresses that may be used, ``end`` excluded
    alignment: all regions start at multiples of it
    span: bytes of one row in every bank of a memory. Regions of at least half of it start in turn
        in different sixteenths of it, so that those used together do not meet in a bank. 0: regions
        are placed one after the other
    """

    def __init__(self, first: int, end: int, alignment: int, *, span: int = 0) -> None:
        self._next, self._end, self._alignment = first, end, alignment
        self._span = span

    @property
    def left(self) -> int:
        """Bytes after the last region."""
        return max(0, self._end - self._aligned(self._next))

    def _aligned(self, address: int) -> int:
        return -(-address // self._alignment) * self._alignment

    def fit(self, sizes: Mapping[str, int], what: str) -> dict[str, int]:
        """Returns the addresses of regions of these sizes by name, without allocating them.

        Raises NoRoom, which names ``what`` they are for, if the memory is too small.
        """
        places, address, long = {}, self._next, 0
        for name, size in sizes.items():
            address = self._aligned(address)
            if self._span and 2 * size >= self._span:
                begin = long * _STEP % _PARTS * (self._span // _PARTS)
                address = self._aligned(address + (begin - address) % self._span)
                long += 1
            places[name] = address
            address += size
        if address > self._end:
            need = address - self._aligned(self._next)
            text = f"{need} bytes of memory are needed for {what}; {self.left} are left"
            raise NoRoom(text, address)
        return places

    def take(self, size: int, what: str) -> int:
        """Allocates a region and returns its address. Raises as :meth:`fit`."""
        address = self.fit({what: size}, what)[what]
        self._next = address + size
        return address

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Frees at the end of the ``with`` block all memory that was allocated inside."""
        mark = self._next
        try:
            yield
        finally:
            self._next = mark


Config = TypeVar("Config")


class JobDriver(Generic[Config]):
    """The base class of the drivers.

    A subclass asks ``_memory`` for addresses and submits jobs to ``_registers``.

    Parameters
    ----------
    device: the accelerator and its memory
    spec: description of its jobs
    first_address: lowest address that the driver may use
    alignment: all allocated regions start at multiples of it
    addr_bits: width of an address; no region ends after the last address
    span: see :class:`Placement`

    Raises
    ------
    ValueError: the device's register ID is not that of ``spec``; ``first_address`` is negative
    TypeError: ``first_address`` is no integer
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
