"""Registers by name, and the way every accelerator's job runs through them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...hw.spec.registers import Register, RegisterMap
from .protocol import AcceleratorDevice, JobError

__all__ = ["JobRegisters", "JobStatus"]


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """How a job ended.

    Parameters
    ----------
    counts: the counters
    error: a name of the accelerator's errors; "none"
    detail: ERROR_DETAIL
    where: the register of that offset, if ``detail`` is one
    """

    counts: dict[str, int]
    error: str
    detail: int
    where: str | None

    def failure(self, accelerator: str, of_rows: Collection[str] = ()) -> JobError:
        """The error, to raise.

        Parameters
        ----------
        accelerator: what to call it
        of_rows: errors whose detail is the number of a row
        """
        where = str(self.where)
        if self.error in ("bus_read", "bus_write"):
            where = f"address {self.detail:#x}"
        elif self.error in of_rows:
            where = f"row {self.detail}"
        return JobError(accelerator, self.error, self.detail, where)


class JobRegisters:
    """The registers of an accelerator with CTRL, STATUS, ERROR_DETAIL and counters.

    Parameters
    ----------
    device: the accelerator
    registers: its register map
    identity: what register ID must hold

    Raises
    ------
    ValueError if ID holds something else.
    """

    def __init__(
        self, device: AcceleratorDevice[Any], registers: RegisterMap, identity: int
    ) -> None:
        self._device = device
        self._map = registers
        found = self.read("ID")
        if found != identity:
            raise ValueError(f"the device's ID must be {identity:#x}, not {found:#x}")

    def register(self, name: str) -> Register:
        """A register's description, which packs and unpacks its fields."""
        return self._map[name]

    def write(self, name: str, value: int) -> None:
        """Write a register by name."""
        register = self._map[name]
        for word in range(register.words):
            part = value >> 32 * word & 0xFFFF_FFFF
            self._device.write_register(register.offset + 4 * word, part)

    def read(self, name: str) -> int:
        """Read a register by name."""
        register = self._map[name]
        words = [self._device.read_register(register.offset + 4 * w) for w in range(register.words)]
        return sum(word << 32 * index for index, word in enumerate(words))

    def run(self, counters: Sequence[str], errors: Mapping[str, int]) -> JobStatus:
        """Start the job of the registers, wait for its end, and acknowledge it."""
        control, status = self._map["CTRL"], self._map["STATUS"]
        self.write("CTRL", control.put(start=1, irq_enable=1))
        self._device.wait()
        word = self.read("STATUS")
        self.write("STATUS", status.put(done=1, error=1))
        counts = {name: self.read(name.upper()) for name in counters}
        if not status.get(word, "error"):
            return JobStatus(counts=counts, error="none", detail=0, where=None)
        code, detail = status.get(word, "error_code"), self.read("ERROR_DETAIL")
        name = next(name for name, number in errors.items() if number == code)
        where = next((register.name for register in self._map if register.offset == detail), None)
        return JobStatus(counts=counts, error=name, detail=detail, where=where)
