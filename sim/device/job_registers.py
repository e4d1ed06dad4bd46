"""The registers of an accelerator by name, and how a job goes through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, SupportsIndex

from ...hw.spec.registers.job_spec import Error, JobSpec
from ...hw.spec.registers.register_map import Register
from .protocol import AcceleratorDevice, JobError

__all__ = ["JobRegisters", "JobStatus"]


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
