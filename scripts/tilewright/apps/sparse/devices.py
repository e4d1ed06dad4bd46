"""The accelerator of sparse products, and beside its RTL the model, with memory for a job."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from ...errors import UserError
from ...hw.spec.matraptor import MATRAPTOR
from ...sim.device.placement import NoRoom
from ...sim.matraptor.driver import SparseDevice
from ...sim.matraptor.model import MatRaptorModel
from ..common.memory import available_memory, in_words
from ..common.native import native
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
        self._native = (
            native(MATRAPTOR, choice.config, choice.memory.latency)
            if choice.backend == "rtl"
            else None
        )
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
