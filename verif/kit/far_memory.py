"""Places the memory of a natively simulated accelerator at high addresses, unseen by its bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from tilewright.hw.spec.registers.job_spec import JobSpec
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.rtl.streams import HasVerilog

Config = TypeVar("Config")

_PATTERN = 0xB4D2_6A59_C5A3_96E4
_WORD = 0xFFFF_FFFF


class FarAccelerator(NativeAccelerator[Config]):
    """An accelerator whose memory uses every bit of an address. A bench and a model still count
    its addresses from 0: they are translated on their way into registers and out of them.

    A job register is translated if a rule of the job limits it to the address width, but for
    strides. The content of memory is not translated: it must not hold addresses.

    Parameters
    ----------
    spec: the registers, and the rules of a job
    addr_bits: width of an address
    inverted: the complement of the usual high bits; two benches see both values of each bit
    settings: those of `NativeAccelerator`, without ``base``

    Members
    -------
    translates: whether registers are translated; a bench may clear it
    """

    def __init__(
        self,
        emitted: HasVerilog,
        config: Config,
        spec: JobSpec,
        addr_bits: int,
        *,
        memory_bytes: int,
        inverted: bool = False,
        behaviour: AxiBehaviour | None = None,
        **settings: Any,
    ) -> None:
        # The bit above the memory is 0: an address behind its end is not in it.
        low = memory_bytes.bit_length()
        pattern = ~_PATTERN if inverted else _PATTERN
        self._high = pattern % (1 << addr_bits) >> low << low
        self._low, self.translates = low, True
        ranged = {check.register for check in spec.checks if check.error == "address_range"}
        bases = {name for name in ranged if "STRIDE" not in name}
        self._flips = {
            spec.registers[name].offset + 4 * word: self._high >> 32 * word & _WORD
            for name in bases
            for word in range(2)
        }
        self._detail = spec.registers["ERROR_DETAIL"].offset
        super().__init__(emitted, config, memory_bytes=memory_bytes, base=self._high, **settings)
        if behaviour is not None:
            self.behave(behaviour)

    def read_memory(self, address: int, count: int) -> bytes:
        return super().read_memory(self._high + address, count)

    def write_memory(self, address: int, content: bytes) -> None:
        super().write_memory(self._high + address, content)

    def write_register(self, offset: int, value: int) -> None:
        super().write_register(offset, value ^ self._flip(offset))

    def read_register(self, offset: int) -> int:
        word = super().read_register(offset) ^ self._flip(offset)
        if not self.translates or offset not in (self._detail, self._detail + 4):
            return word
        read = super().read_register
        detail = read(self._detail) | read(self._detail + 4) << 32
        is_address = detail >> self._low == self._high >> self._low > 0
        return word ^ (self._high >> 8 * (offset - self._detail) & _WORD if is_address else 0)

    def _flip(self, offset: int) -> int:
        return self._flips.get(offset, 0) if self.translates else 0

    def behave(self, behaviour: AxiBehaviour) -> None:
        def far(errors: Mapping[int, int]) -> dict[int, int]:
            return {self._high + address: response for address, response in errors.items()}

        reads, writes = far(behaviour.read_errors), far(behaviour.write_errors)
        super().behave(replace(behaviour, read_errors=reads, write_errors=writes))
