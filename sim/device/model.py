"""The common part of all behavioural models: registers, a memory, an interrupt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.registers.job_spec import Check, Condition, JobSpec, Rule
from .protocol import Closing, RegisterError


def bytes_of(content: object) -> npt.NDArray[np.uint8]:
    """The bytes of ``bytes``, or of another row of items of one byte each.

    Raises TypeError for anything else: how many bytes it has, and in which order, would depend on
    its type.
    """
    try:
        given: Any = memoryview(content)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"`content` must be bytes, not {type(content).__name__}") from None
    if given.ndim != 1 or given.itemsize != 1 or not given.c_contiguous:
        kind, apart = type(content).__name__, "" if given.c_contiguous else ", apart"
        found = f"{kind} of {given.ndim} dimensions, {given.itemsize} bytes an item{apart}"
        raise TypeError(f"`content` must be bytes, not {found}")
    return np.frombuffer(given, np.uint8)


_BREAKS: dict[Rule, Callable[[int, Check], bool]] = {
    Rule.ONE_OF: lambda value, check: value not in check.choices,
    Rule.NON_ZERO: lambda value, check: value == 0,
    Rule.AT_MOST: lambda value, check: value > check.number,
    Rule.BELOW: lambda value, check: value >= check.number,
    Rule.MULTIPLE_OF: lambda value, check: value % check.number != 0,
}


def counts(spec: JobSpec, when: Condition | None, values: Mapping[str, int]) -> bool:
    """Returns whether a rule with a condition applies to a job, see :func:`first_broken`."""
    if when is None:
        return True
    return all(
        spec.registers[part.register].get(values[part.register], part.field) == part.value
        for part in when.parts
    )


def breaks(spec: JobSpec, check: Check, values: Mapping[str, int]) -> bool:
    """Returns whether a rule applies to a job and the job breaks it; see :func:`first_broken`."""
    number = prod(values[name] for name in (check.register, *check.factors))
    return counts(spec, check.when, values) and _BREAKS[check.rule](number, check)


def first_broken(spec: JobSpec, values: Mapping[str, int]) -> Check | None:
    """The first rule that a job breaks; None if it may run.

    Parameters
    ----------
    values: of the job's registers, by name
    """
    return next((check for check in spec.checks if breaks(spec, check, values)), None)


class ModelDevice(Closing, ABC):
    """Registers and memory of an accelerator whose jobs are over as soon as they are started.

    A job that breaks a rule ends as the spec says. A subclass has `_job`, which does one that does
    not.

    Parameters
    ----------
    spec: its jobs
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it

    Members
    -------
    memory: the memory, uint8
    """

    _closed = False

    def __init__(self, spec: JobSpec, memory_bytes: int) -> None:
        self.memory: npt.NDArray[np.uint8] = np.zeros(memory_bytes, np.uint8)
        self._spec, self._map = spec, spec.registers
        self._values = {
            register.name: sum(field.reset << field.low for field in register.fields)
            for register in self._map
        }

    @abstractmethod
    def _job(self) -> tuple[str, int, dict[str, int]]:
        """Do the job of the registers; returns the error's name ("none"), ERROR_DETAIL, and the
        counters that are not zero."""

    def close(self) -> None:
        """End it; only the memory is of use afterwards."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the accelerator is closed")

    @property
    def memory_bytes(self) -> int:
        return len(self.memory)

    def irq(self) -> bool:
        """The interrupt line."""
        self._check_open()
        status, control = self._map["STATUS"], self._map["CTRL"]
        set_bits = (status.get(self._values["STATUS"], name) for name in ("done", "error"))
        return any(set_bits) and bool(control.get(self._values["CTRL"], "irq_enable"))

    def read_memory(self, address: int, count: int) -> bytes:
        """Bytes of the memory. Raises IndexError if some lie outside."""
        self._check_range(address, count)
        return self.memory[address : address + count].tobytes()

    def write_memory(self, address: int, content: bytes) -> None:
        """Put bytes into the memory. Raises IndexError if some lie outside, TypeError for what are
        no bytes."""
        row = bytes_of(content)
        self._check_range(address, len(row))
        self.memory[address : address + len(row)] = row

    def _check_range(self, address: int, count: int) -> None:
        if address < 0 or count < 0 or address + count > len(self.memory):
            raise IndexError(f"{count} bytes at {address:#x} lie outside of {len(self.memory):#x}")

    def read_register(self, offset: int) -> int:
        """The word at an offset. Raises RegisterError if there is none."""
        register, word = self._find(offset)
        return self._values[register.name] >> 32 * word & 0xFFFF_FFFF

    def write_register(self, offset: int, value: int) -> None:
        """Write the word at an offset. Raises RegisterError if nothing there can be written."""
        if not 0 <= value < 1 << 32:
            raise ValueError(f"`value` must fit 32 bits, not {value:#x}")
        register, word = self._find(offset)
        shifted, reach = value << 32 * word, 0xFFFF_FFFF << 32 * word
        old, pulses, writable = self._values[register.name], 0, False
        for field in register.fields:
            access, bits = register.access_of(field), field.mask & reach
            writable |= bool(bits) and access != "ro"
            if access == "rw":
                old = (old & ~bits) | (shifted & bits)
            elif access == "w1c":
                old &= ~(shifted & bits)
            elif access == "wo":
                pulses |= shifted & bits
        if not writable:
            raise RegisterError(f"nothing can be written at offset {offset:#x}")
        self._values[register.name] = old
        control = self._map["CTRL"]
        resets = control.get(pulses, "soft_reset")
        if register is control and resets:
            self._soft_reset()
        if register is control and control.get(pulses, "start") and not resets:
            self._start()

    def wait(self) -> None:
        """Until the interrupt. Jobs are over at once here; RuntimeError if it will never come."""
        if not self.irq():
            raise RuntimeError("the interrupt will never come: no job has ended with it enabled")

    def _soft_reset(self) -> None:
        """A soft reset; of a model whose jobs leave nothing but memory it changes nothing."""

    def _find(self, offset: int) -> tuple[Any, int]:
        self._check_open()
        for register in self._map:
            word = offset - register.offset
            if 0 <= word < register.bits // 8 and word % 4 == 0:
                return register, word // 4
        raise RegisterError(f"there is no register at offset {offset:#x}")

    def _start(self) -> None:
        status, values = self._map["STATUS"], self._values
        broken = first_broken(self._spec, values)
        if broken is None:
            error, detail, counts = self._job()
        else:
            error, detail, counts = broken.error, self._map[broken.register].offset, {}
        code = self._spec.code(error) if error != "none" else 0
        for name in self._spec.counters:
            values[name.upper()] = counts.get(name, 0)
        values["ERROR_DETAIL"] = detail
        # A start that is taken clears what the job before has left.
        ended = status.put(error=1) if code else status.put(done=1)
        values["STATUS"] = ended | status.put(error_code=code)
