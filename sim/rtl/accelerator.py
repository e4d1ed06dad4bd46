"""An accelerator's RTL under Verilator at native speed, as a device that any program can drive.

The unit's managers share a memory in C++, which checks the rules of AXI; a program reads and writes
the registers. Nothing about the unit is known but its sidecar.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..device.model import bytes_of
from ..device.protocol import Closing, RegisterError
from .accelerator_glue import ACCELERATOR, INTERRUPT, managers_of, registers_of
from .behaviour import AxiBehaviour, BehaviourStruct, ManagerTraffic, Traffic
from .build import build_library
from .streams import HasVerilog
from .waves import check_waves, wave_format

__all__ = ["AcceleratorTimeout", "AxiBehaviour", "AxiRuleError", "NativeAccelerator"]

Config = TypeVar("Config")

_TIME_OUT, _FAULT, _WAVES_LOST = 1, 2, 3
_STRETCH = 1 << 16
"""Cycles between looks at the keyboard."""
_IDEAL = AxiBehaviour()
"""A memory that answers in the next cycle."""


class AcceleratorTimeout(RuntimeError):
    """Something did not come: ``cycle`` says when that was noticed."""

    def __init__(self, what: str, cycle: int) -> None:
        super().__init__(f"{what}, in cycle {cycle}")
        self.cycle = cycle


class AxiRuleError(RuntimeError):
    """The unit broke a rule of AXI; the text says which, where, and in which cycle."""


class _Manager(ctypes.Structure):
    _fields_ = [("prefix", ctypes.c_char_p), ("width", ctypes.c_uint64), ("id", ctypes.c_uint64)]


class _Settings(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_char_p) for name in ("registers", "interrupt")),
        ("managers", ctypes.POINTER(_Manager)),
        ("manager_count", ctypes.c_uint64),
        ("memory", ctypes.c_void_p),
        *((name, ctypes.c_uint64) for name in ("base", "size")),
    ]


def _load(path: Path) -> ctypes.CDLL:
    """The library, with the types that are not integers of C."""
    library = ctypes.CDLL(str(path))
    library.native_create.restype = ctypes.c_void_p
    library.native_cycle.restype = ctypes.c_uint64
    library.native_fault_count.restype = ctypes.c_uint64
    library.native_fault.restype = ctypes.c_char_p
    return library


class NativeAccelerator(Closing, Generic[Config]):
    """One accelerator with its memory; time passes only in register accesses, `wait` and `run`.

    It is reset when it is made. Use it in a ``with`` statement, or `close` it.

    Parameters
    ----------
    emitted: the unit's Verilog and sidecar
    config: the unit's configuration, for the driver
    memory_bytes: size of the memory that all managers share; the bus fails outside of it. It takes
        only the host's memory that is touched
    base: address of its first byte
    behaviour: how it answers, see :class:`AxiBehaviour`
    time_out: cycles that `wait` waits at most
    register_time_out: cycles that a register access takes at most
    waves: VCD or, by its suffix, FST file to write (a slower build of its own); read it after
        `close`
    wave_depth: levels of modules in it, 1 for the top module alone

    Raises
    ------
    `ToolMissing` or `BuildError` when the library cannot be built, ValueError for a unit without
    manager, registers or interrupt. Whatever lets time pass raises `AxiRuleError` at the end of
    the cycle in which the unit breaks a rule: a valid or payload that changes before ready, a
    valid in reset, a burst that is not INCR of whole beats within 4 KiB, a wrong WLAST, a reply
    on the register bus to nothing; and `WaveError` when the waves cannot be written: the
    simulation has ended, and their file is removed.
    """

    def __init__(
        self,
        emitted: HasVerilog,
        config: Config,
        *,
        memory_bytes: int = 1 << 20,
        base: int = 0,
        behaviour: AxiBehaviour = _IDEAL,
        time_out: int = 10_000_000,
        register_time_out: int = 10_000,
        waves: Path | None = None,
        wave_depth: int = 2,
    ) -> None:
        if memory_bytes < 1 or base < 0 or base + memory_bytes > 1 << 64:
            raise ValueError(f"{memory_bytes} bytes from {base:#x} on are not memory")
        self.config: Final = config
        self._base = base
        self._time_out, self._register_time_out = time_out, register_time_out
        self._managers = managers_of(emitted.sidecar)
        self._registers = registers_of(emitted.sidecar)
        path = build_library(
            emitted.verilog, emitted.sidecar,
            waves=wave_format(waves), wave_depth=wave_depth, harness=ACCELERATOR,
        )  # fmt: skip
        self._library = _load(path)
        self._memory: NDArray[np.uint8] = np.zeros(memory_bytes, np.uint8)
        self._known_faults = 0
        self._handle = ctypes.c_void_p(self._create())
        self._finish = weakref.finalize(self, self._library.native_destroy, self._handle)
        self._waves = waves
        if waves is not None and self._library.native_trace(self._handle, os.fsencode(waves)):
            self.close()
        self.behave(behaviour)
        self.reset()

    def _create(self) -> int:
        managers = (_Manager * len(self._managers))(
            *(
                _Manager(port["prefix"].encode(), port["data_bits"] // 8, port["id_bits"])
                for port in self._managers
            )
        )
        settings = _Settings(
            self._registers["prefix"].encode(),
            INTERRUPT.encode(),
            managers,
            len(managers),
            self._memory.ctypes.data,
            self._base,
            len(self._memory),
        )
        return int(self._library.native_create(ctypes.byref(settings)))

    def close(self) -> None:
        """End the simulation and complete the wave file; only the memory is of use afterwards."""
        check_waves(self._waves, self._finish())

    @property
    def _open(self) -> ctypes.c_void_p:
        if not self._finish.alive:
            raise ValueError("the accelerator is closed")
        return self._handle

    # Memory

    @property
    def memory(self) -> NDArray[np.uint8]:
        """All of the memory, to read and to write."""
        return self._memory

    @property
    def memory_bytes(self) -> int:
        return len(self._memory)

    def _span(self, address: int, count: int) -> slice:
        start = address - self._base
        if start < 0 or count < 0 or start + count > len(self._memory):
            raise IndexError(
                f"{count} bytes at {address:#x} lie outside of {self._base:#x}.."
                f"{self._base + len(self._memory) - 1:#x}"
            )
        return slice(start, start + count)

    def read_memory(self, address: int, count: int) -> bytes:
        """Bytes of the memory. Raises IndexError if some lie outside."""
        return self._memory[self._span(address, count)].tobytes()

    def write_memory(self, address: int, content: bytes) -> None:
        """Put bytes into the memory. Raises IndexError if some lie outside, TypeError for what are
        no bytes."""
        row = bytes_of(content)
        self._memory[self._span(address, len(row))] = row

    # Registers

    def read_register(self, offset: int) -> int:
        """The word at an offset. Raises RegisterError if the bus says so, or does not reach it."""
        return self._access(f"read at offset {offset:#x}", offset)

    def write_register(self, offset: int, value: int) -> None:
        """Write the word at an offset. Raises RegisterError as `read_register`."""
        if not 0 <= value < 1 << 32:
            raise ValueError(f"`value` must fit 32 bits, not {value:#x}")
        self._access(f"write at offset {offset:#x}", offset, value)

    def _access(self, what: str, offset: int, value: int | None = None) -> int:
        """Read, or write a value."""
        handle, limit = self._open, self._register_time_out
        if not 0 <= offset < 1 << self._registers["addr_bits"] or offset % 4:
            raise RegisterError(f"there is no register at offset {offset:#x}")
        response, word = ctypes.c_uint32(), ctypes.c_uint32(value or 0)
        access = self._library.native_read if value is None else self._library.native_write
        status = access(
            handle,
            ctypes.c_uint64(offset),
            ctypes.byref(word),
            ctypes.c_uint64(limit),
            ctypes.byref(response),
        )
        self._check(status, f"no answer to a {what} in {limit} cycles")
        if response.value:
            raise RegisterError(f"response {response.value} to a {what}")
        return word.value

    # Time

    @property
    def cycles(self) -> int:
        """Clock cycles since the last reset, but for the first without it, in which nothing may be
        valid."""
        return int(self._library.native_cycle(self._open))

    def irq(self) -> bool:
        """The interrupt line."""
        return bool(self._library.native_interrupt(self._open))

    def wait(self, max_cycles: int | None = None) -> None:
        """Until the interrupt.

        Raises AcceleratorTimeout if it does not come in ``max_cycles`` (default: ``time_out``).
        """
        limit = self._time_out if max_cycles is None else max_cycles
        status = self._run(limit, until_interrupt=True)
        owed = ", ".join(
            f"{name}: {side.read.under_way} reads and {side.write.under_way} writes under way"
            for name, side in self.traffic.items()
        )
        self._check(status, f"no interrupt after {limit} cycles ({owed})")

    def run(self, cycles: int) -> None:
        """Let time pass."""
        self._check(self._run(cycles, until_interrupt=False), "")

    def _run(self, cycles: int, *, until_interrupt: bool) -> int:
        end, status = self.cycles + cycles, 0
        while True:
            stretch = min(_STRETCH, end - self.cycles)
            status = self._library.native_run(
                self._open, ctypes.c_uint64(stretch), int(until_interrupt)
            )
            expected = _TIME_OUT if until_interrupt else 0
            if status != expected or self.cycles >= end:
                return int(status)

    def reset(self) -> None:
        """Apply the reset: cycles and traffic count from 0, random numbers begin anew."""
        self._check(self._library.native_reset(self._open), "")

    def behave(self, behaviour: AxiBehaviour) -> None:
        """Sets the memory's behaviour from now on. Raises ValueError if a burst is in flight."""
        if self.under_way:
            raise ValueError(f"{self.under_way} bursts are under way")
        self._library.native_behave(self._open, ctypes.byref(BehaviourStruct.of(behaviour)))

    def _check(self, status: int, late: str) -> None:
        if status == _FAULT:
            new = self.faults[self._known_faults :]
            self._known_faults += len(new)
            raise AxiRuleError("; ".join(new))
        if status == _WAVES_LOST:
            self.close()
        if status == _TIME_OUT:
            raise AcceleratorTimeout(late, self.cycles)

    # Observations

    @property
    def faults(self) -> list[str]:
        """All rules of AXI that the unit broke, one line each; resets do not clear them."""
        count = self._library.native_fault_count(self._open)
        texts = (self._library.native_fault(self._open, ctypes.c_uint64(n)) for n in range(count))
        return [text.decode() for text in texts]

    @property
    def traffic(self) -> dict[str, ManagerTraffic]:
        """The traffic of each manager since the last reset, by the manager's prefix."""
        found = {}
        for number, port in enumerate(self._managers):
            numbers = (ctypes.c_uint64 * 14)()
            self._library.native_traffic(self._open, ctypes.c_uint64(number), numbers)
            names = Traffic.__dataclass_fields__
            sides = (numbers[:7], numbers[7:])
            read, write = (Traffic(**dict(zip(names, side, strict=True))) for side in sides)
            found[port["prefix"]] = ManagerTraffic(read, write)
        return found

    @property
    def under_way(self) -> int:
        """Bursts of all managers that wait for their last response."""
        return sum(t.read.under_way + t.write.under_way for t in self.traffic.values())

    @property
    def moved(self) -> list[tuple[int, int]]:
        """Bytes read and written over each manager since the last reset."""
        return [(side.read.bytes, side.write.bytes) for side in self.traffic.values()]
