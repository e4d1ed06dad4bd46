"""The common part of all drivers: a device, allocation in its memory, jobs."""

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
    accelerator: what to call it
    counts: the counters
    error: the name of the error; "none"
    detail: ERROR_DETAIL, or 0
    where: what that means: a register's name, an address, a row ...
    """

    accelerator: str
    counts: dict[str, int]
    error: str = "none"
    detail: int = 0
    where: str = ""

    def check(self, *allowed: str) -> None:
        """Raise JobError, unless the job ended well or with an error that is ``allowed``."""
        if self.error not in ("none", *allowed):
            raise JobError(self.accelerator, self.error, self.detail, self.where)


class JobRegisters:
    """The registers of an accelerator that runs jobs.

    Parameters
    ----------
    device: the accelerator
    spec: its jobs

    Raises
    ------
    ValueError if register ID does not hold the spec's letters.
    """

    def __init__(self, device: AcceleratorDevice[Any], spec: JobSpec) -> None:
        self._device, self._spec = device, spec
        found, wanted = self.read("ID"), int.from_bytes(spec.letters, "little")
        if found != wanted:
            raise ValueError(f"the device's ID must be {wanted:#x}, not {found:#x}")

    def register(self, name: str) -> Register:
        """A register's description, which packs and unpacks its fields."""
        return self._spec.registers[name]

    def write(self, name: str, value: int) -> None:
        """Write a register by name, all its words.

        Raises TypeError for a value that is not an integer, ValueError for an unknown name or a
        number that the words do not hold; nothing is written then. Bits of the words that the
        register does not have are dropped.
        """
        self.write_all({name: value})

    def write_all(self, values: Mapping[str, int]) -> None:
        """Write registers by name. Raises as :meth:`write`, before anything is written."""
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
        """Read a register by name."""
        register = self.register(name)
        words = [self._device.read_register(register.offset + 4 * w) for w in range(register.words)]
        return sum(word << 32 * index for index, word in enumerate(words))

    def submit(self, job: Mapping[str, int]) -> JobStatus:
        """Write the job's registers, and run it. Raises as :meth:`write`, before anything is
        written."""
        self.write_all(job)
        return self.run()

    def run(self) -> JobStatus:
        """Start the job of the registers, wait for its end, and acknowledge it."""
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
    """Raise TypeError, with what is ``allowed``, if a value is not of a kind."""
    if not isinstance(value, kind):
        raise TypeError(f"`{name}` must be {allowed}, not {type(value).__name__}")


_PARTS = 16
"""Number of equal parts of a span."""

_STEP = 5
"""Parts of a span from one long place's beginning to the next one's: no divisor of ``_PARTS``, so
that all differ."""


class NoRoom(ValueError):
    """There is too little memory: ``end``, the address behind what was asked for."""

    def __init__(self, text: str, end: int) -> None:
        super().__init__(text)
        self.end = end


class Placement:
    """Places in a memory, one behind the other.

    Parameters
    ----------
    first, end: the addresses that may be used, ``end`` excluded
    alignment: what all places are multiples of
    span: bytes of a row in every bank of a memory: places of half of it, or more, begin in turn in
        other sixteenths of it, so that what is used side by side does not meet in a bank; 0: one
        behind the other
    """

    def __init__(self, first: int, end: int, alignment: int, *, span: int = 0) -> None:
        self._next, self._end, self._alignment = first, end, alignment
        self._span = span

    @property
    def left(self) -> int:
        """Bytes behind the last place."""
        return max(0, self._end - self._aligned(self._next))

    def _aligned(self, address: int) -> int:
        return -(-address // self._alignment) * self._alignment

    def fit(self, sizes: Mapping[str, int], what: str) -> dict[str, int]:
        """The addresses that places of these sizes would have, by name, one behind the other.

        Raises NoRoom, with ``what`` they are for, if there is too little of it.
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
        """The address of a place that nobody else will have. Raises as :meth:`fit`."""
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
