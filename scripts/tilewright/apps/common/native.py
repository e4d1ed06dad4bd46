"""An accelerator's RTL as a device with memory, built when an application asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import UserError
from ...hw.spec.unit import Unit

__all__ = ["native"]


def native(unit: Unit, config: Any, latency: int) -> Callable[[int], Any]:
    """From the size of its memory to the RTL as a device, a context manager.

    ``latency``: of the memory, in cycles. Raises UserError if the unit cannot be built, so does
    what is returned.
    """
    from ...hw.emit.unit import emit
    from ...sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
    from ...sim.rtl.streams import BuildError, ToolMissing

    emitted = emit(unit, config)
    behaviour = AxiBehaviour(latency=(latency, latency))

    def make(memory_bytes: int) -> Any:
        try:
            return NativeAccelerator(
                emitted,
                config,
                memory_bytes=memory_bytes,
                behaviour=behaviour,
                time_out=1 << 40,
            )
        except ToolMissing as error:
            raise UserError(str(error)) from None
        except BuildError as error:
            said = " ".join(line.strip() for line in str(error).splitlines()[:3])
            raise UserError(f"{unit.name} could not be built for simulation: {said}") from None

    return make
