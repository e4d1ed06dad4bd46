"""Golden model of the tile engine: a register file and a memory, jobs done in no time.

What a job leaves in memory and in the registers is the hardware's, bit for bit, but for what
depends on time: CYCLES, BUSY_CYCLES and STALLS read as zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hw.spec.engine import OPERANDS, EngineConfig
from ..hw.spec.engine_registers import register_map
from .device import RegisterError
from .engine_job import Bytes, Job, JobFailure, Outcome, run_job

__all__ = ["EngineModel"]


class EngineModel:
    """The engine as software sees it. A job is over as soon as it is started.

    Parameters
    ----------
    config: see :class:`EngineConfig`
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it

    Members
    -------
    memory: the memory, uint8
    """

    def __init__(self, config: EngineConfig, memory_bytes: int = 1 << 22) -> None:
        self._config = config
        self.memory: Bytes = np.zeros(memory_bytes, np.uint8)
        self._map = register_map(config)
        self._values = {
            register.name: sum(field.reset << field.low for field in register.fields)
            for register in self._map
        }

    @property
    def config(self) -> EngineConfig:
        return self._config

    @property
    def memory_bytes(self) -> int:
        return len(self.memory)

    def irq(self) -> bool:
        """The interrupt line."""
        status, control = self._map["STATUS"], self._map["CTRL"]
        set_bits = (status.get(self._values["STATUS"], name) for name in ("done", "error"))
        return any(set_bits) and bool(control.get(self._values["CTRL"], "irq_enable"))

    def read_memory(self, address: int, count: int) -> bytes:
        """Bytes of the memory. Raises IndexError if some lie outside."""
        self._check_range(address, count)
        return self.memory[address : address + count].tobytes()

    def write_memory(self, address: int, content: bytes) -> None:
        """Put bytes into the memory. Raises IndexError if some lie outside."""
        self._check_range(address, len(content))
        self.memory[address : address + len(content)] = np.frombuffer(content, np.uint8)

    def _check_range(self, address: int, count: int) -> None:
        if address < 0 or address + count > len(self.memory):
            raise IndexError(f"{count} bytes at {address:#x} lie outside of {len(self.memory):#x}")

    def read_register(self, offset: int) -> int:
        """The word at an offset. Raises RegisterError if there is none."""
        register, word = self._find(offset)
        return self._values[register.name] >> 32 * word & 0xFFFF_FFFF

    def write_register(self, offset: int, value: int) -> None:
        """Write the word at an offset. Raises RegisterError if nothing there can be written."""
        register, word = self._find(offset)
        shifted, reach = (value & 0xFFFF_FFFF) << 32 * word, 0xFFFF_FFFF << 32 * word
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
        if register is control and control.get(pulses, "start") and not resets:
            self._start()

    def wait(self) -> None:
        """Until the interrupt; jobs are over at once here."""

    def _find(self, offset: int) -> tuple[Any, int]:
        for register in self._map:
            word = offset - register.offset
            if 0 <= word < register.bits // 8 and word % 4 == 0:
                return register, word // 4
        raise RegisterError(f"there is no register at offset {offset:#x}")

    def job(self) -> Job:
        """The job registers as they are."""
        flags, values = self._map["FLAGS"], self._values
        return Job(
            op=values["OP"],
            m=values["M"],
            n=values["N"],
            k=values["K"],
            base={x: values[f"{x.upper()}_BASE"] for x in OPERANDS},
            stride={x: values[f"{x.upper()}_STRIDE"] for x in OPERANDS},
            transposed_b=bool(flags.get(values["FLAGS"], "transposed_b")),
            use_c=bool(flags.get(values["FLAGS"], "use_c")),
        )

    def _start(self) -> None:
        status, values = self._map["STATUS"], self._values
        outcome = Outcome(operations=0, bytes_read=0, bytes_written=0)
        code = values["ERROR_DETAIL"] = 0
        try:
            outcome = run_job(self._config, self.memory, self.job())
        except JobFailure as failure:
            code, values["ERROR_DETAIL"] = failure.code, failure.detail
        for name in ("operations", "bytes_read", "bytes_written"):
            values[name.upper()] = getattr(outcome, name)
        ended = status.put(error=1) if code else status.put(done=1)
        kept = values["STATUS"] & ~status.field("error_code").mask
        values["STATUS"] = kept | ended | status.put(error_code=code)
