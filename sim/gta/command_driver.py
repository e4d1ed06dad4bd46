"""Lists of commands on GTA: operands into its memory, the list, a job, the result back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import GtaConfig
from ...hw.spec.jobs.gta import COMMANDS_BITS, job_spec, mask_registers
from ...hw.spec.jobs.gta_commands import COMMAND_BYTES
from ..device.driver import JobDriver
from ..device.protocol import AcceleratorDevice
from .tiles.command_list import CommandList
from .tiles.images import StreamImage

__all__ = ["CommandDriver", "Commands", "GtaDevice"]

GtaDevice = AcceleratorDevice[GtaConfig]
"""A GTA with its memory."""

Patterns = npt.NDArray[np.uint64]


class Commands(Protocol):
    """What a job does.

    Members
    -------
    images: of operands, and of the result, "d"
    """

    images: dict[str, StreamImage]

    def commands(self, bases: Mapping[str, int], into: CommandList) -> None:
        """Add all commands to a list; ``bases``: addresses of the images, by name."""


class CommandDriver(JobDriver[GtaConfig]):
    """Runs jobs of one region, all lanes.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: where the memory that the driver may use begins

    Members
    -------
    counts: the counters of the last job; empty before the first

    Raises
    ------
    ValueError if the device's ID is not a GTA's.
    """

    counts: dict[str, int]

    def __init__(self, device: GtaDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=COMMAND_BYTES,
            addr_bits=config.addr_bits,
        )
        self.counts = {}

    def _check_format(self, format: str) -> None:
        """Raise ValueError for a format that the device has not."""
        known = (*self.config.integers, *self.config.floats)
        if format not in known:
            raise ValueError(f"`format` must be one of {', '.join(known)}, not {format!r}")

    def _run_commands(
        self, made: Commands, contents: Mapping[str, Patterns], layout: int = 0
    ) -> Patterns:
        """The result of a job.

        Parameters
        ----------
        made: what it does
        contents: operands by name, as their images take them
        layout: the number of the lanes' layout

        Raises ValueError for too many commands or too little memory, JobError if the device reports
        an error.
        """
        # The addresses of commands do not change their number.
        counted = CommandList()
        made.commands(dict.fromkeys(made.images, 0), counted)
        if len(counted) >> COMMANDS_BITS:
            most = (1 << COMMANDS_BITS) - 1
            raise ValueError(f"a job must be of at most {most} commands, not {len(counted)}")
        sizes = {"list": len(counted) * COMMAND_BYTES}
        sizes |= {name: image.size for name, image in made.images.items()}
        base = self._memory.fit(sizes, "operands, results and commands")
        commands = CommandList()
        made.commands(base, commands)
        for name, words in contents.items():
            self._device.write_memory(base[name], made.images[name].to_bytes(words))
        self._device.write_memory(base["list"], commands.to_bytes())
        masks = {register.name: 0 for register in mask_registers(self.config)}
        job = {"LIST": base["list"], "COMMANDS": len(commands), "LAYOUT": layout, **masks}
        status = self._registers.submit(job)
        self.counts = status.counts
        status.check()
        image = made.images["d"]
        return image.from_bytes(self._device.read_memory(base["d"], image.size))
