"""The toy as software sees it: registers and a memory. A system's: ``sim/<name>``."""

from __future__ import annotations

from typing import Final

import numpy as np
from tilewright.sim.device.model import ModelDevice
from tilewright.verif.catalogue.toy.driver import added
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig, job_spec


class ToyAdderModel(ModelDevice):
    """A toy adder whose jobs are over as soon as they are started; CYCLES reads as zero.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it
    """

    def __init__(self, config: ToyAdderConfig, memory_bytes: int = 1 << 20) -> None:
        self.config: Final = config
        super().__init__(job_spec(config), memory_bytes)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        values, beats = self._values, self._values["BEATS"]
        size = beats * self.config.beat_bytes
        for name, error in (("SOURCE", "bus_read"), ("TARGET", "bus_write")):
            if values[name] + size > self.memory_bytes:
                return error, self.memory_bytes, {}
        source = np.frombuffer(self.read_memory(values["SOURCE"], size), np.uint32)
        self.write_memory(values["TARGET"], added(source, values["CONSTANT"]).tobytes())
        return "none", 0, {"beats_added": beats}
