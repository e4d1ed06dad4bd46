"""The toy's golden model and its driver. A system's: ``sim/<name>``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.sim.device.driver import JobDriver
from tilewright.sim.device.protocol import AcceleratorDevice
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig, job_spec

Words = npt.NDArray[np.uint32]


def added(values: Words, constant: int) -> Words:
    """Computes the accelerator's result: sums modulo 2 ** 32."""
    return values + np.uint32(constant)


def golden(
    config: ToyAdderConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job, source and constant to target; see :class:`tilewright.registry.Entry`."""
    sums = added(operands["source"].astype(np.uint32), int(operands["constant"][0, 0]))
    return {"target": sums.astype(np.uint64)}


class ToyAdderDriver(JobDriver[ToyAdderConfig]):
    """Adds a constant to arrays on a device.

    Parameters
    ----------
    device: the accelerator and its memory

    Members
    -------
    counts: the counters of the last job

    Raises
    ------
    ValueError if the device's ID is not a toy adder's.
    """

    def __init__(self, device: AcceleratorDevice[ToyAdderConfig]) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            0,
            alignment=config.beat_bytes,
            addr_bits=config.addr_bits,
        )
        self.counts: dict[str, int] = {}

    def add(self, values: Words, constant: int) -> Words:
        """The sums. Raises ValueError if the memory is too small, JobError if the device reports
        an error."""
        beats = -(-values.nbytes // self.config.beat_bytes)
        size = beats * self.config.beat_bytes
        places = self._memory.fit({"SOURCE": size, "TARGET": size}, "both arrays")
        # Whole beats are read and added to: none of their bytes may be unknown.
        self._device.write_memory(places["SOURCE"], values.tobytes().ljust(size, b"\0"))
        status = self._registers.submit({**places, "BEATS": beats, "CONSTANT": constant})
        status.check()
        self.counts = status.counts
        return np.frombuffer(self._device.read_memory(places["TARGET"], values.nbytes), np.uint32)
