"""The accelerator of sparse products, and beside its RTL the model, with memory for a job."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

from ...errors import UserError
from ...sim.device.placement import NoRoom
from ...sim.matraptor.driver import SparseDevice
from ...sim.matraptor.model import MatRaptorModel
from ..common.memory import available_memory, in_words
from .options import SparseChoice

__all__ = ["Devices", "SparseDevices"]

_FIRST_BYTES = 1 << 20
"""Of the memory that the first job finds."""


class Devices(NamedTuple):
    """What computes, and the model that RTL is compared with, bit for bit."""

    device: SparseDevice
    model: MatRaptorModel | None


class SparseDevices:
    """Makes the devices of a choice, with as much memory as their jobs turn out to need.

    `close` it in the end. Raises UserError if the RTL cannot be built.
    """

    def __init__(self, choice: SparseChoice) -> None:
        self._choice, self._open = choice, ExitStack()
        self._reach = 1 << choice.config.addr_bits
        self._bytes = min(_FIRST_BYTES, self._reach)
        self._native = _native(choice) if choice.backend == "rtl" else None
        self.now = self._make()

    def grow(self, lacking: NoRoom) -> Devices:
        """New devices, after a job did not find enough room in those that there are: ``now``.

        Raises UserError if there is not so much memory, or the accelerator does not reach so far.
        """
        if lacking.end > self._reach:
            raise UserError(str(lacking))
        self.close()
        self._bytes = min(max(lacking.end, 2 * self._bytes), self._reach)
        try:
            self.now = self._make()
        except MemoryError:
            raise UserError(
                f"the product takes {in_words(self._bytes)} of the accelerator's memory; "
                f"{in_words(available_memory())} are available"
            ) from None
        return self.now

    def close(self) -> None:
        """End the simulation of the RTL."""
        self._open.close()

    def _make(self) -> Devices:
        choice = self._choice
        channel = None if choice.backend == "model" else choice.memory
        model = MatRaptorModel(
            choice.config, self._bytes, channel=channel, gigahertz=choice.gigahertz
        )
        if self._native is None:
            return Devices(model, None)
        return Devices(self._open.enter_context(self._native(self._bytes)), model)


def _native(choice: SparseChoice) -> Callable[[int], Any]:
    """From the size of its memory to the RTL as a device, a context manager."""
    from ...hw.emit.unit import emit
    from ...sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
    from ...sim.rtl.streams import BuildError, ToolMissing

    emitted, latency = emit(choice.unit, choice.config), choice.memory.latency
    behaviour = AxiBehaviour(latency=(latency, latency))

    def make(memory_bytes: int) -> Any:
        try:
            return NativeAccelerator(
                emitted,
                choice.config,
                memory_bytes=memory_bytes,
                behaviour=behaviour,
                time_out=1 << 40,
            )
        except ToolMissing as error:
            raise UserError(str(error)) from None
        except BuildError as error:
            said = " ".join(line.strip() for line in str(error).splitlines()[:3])
            raise UserError(f"{choice.unit} could not be built for simulation: {said}") from None

    return make
