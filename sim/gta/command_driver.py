"""Lists of commands on GTA: operands into its memory, the list, a job, the result back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import GtaConfig
from ...hw.spec.host.words import not_one_of
from ...hw.spec.jobs.gta import COMMANDS_BITS, job_spec
from ...hw.spec.jobs.gta_commands import COMMAND_BYTES
from ..device.driver import JobDriver
from ..device.protocol import AcceleratorDevice
from .tiles.program import CommandList, LaneJob, Operands, Program, add_commands
from .tiles.segment_sums import StreamImage

__all__ = ["CommandDriver", "Commands", "GtaDevice"]

GtaDevice = AcceleratorDevice[GtaConfig]
"""A GTA with its memory."""

Patterns = npt.NDArray[np.uint64]


class Commands(Protocol):
    """The work of a job: images of its operands, and its commands.

    Members
    -------
    images: of operands, and of the result, "d"
    """

    @property
    def images(self) -> Mapping[str, StreamImage]: ...

    def commands(self, bases: Mapping[str, int], into: CommandList) -> None:
        """Add all commands to a list; ``bases``: addresses of the images, by name."""


class CommandDriver(JobDriver[GtaConfig]):
    """Runs jobs.

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
            raise ValueError(not_one_of("`format`", known, format))

    def _run_commands(
        self, made: Commands, contents: Mapping[str, Patterns], layout: int = 0
    ) -> Patterns:
        """The result of a job on all lanes, as its image has it.

        Parameters
        ----------
        made: what it does
        contents: operands by name, as their images take them
        layout: 1 << layout lanes stand beside each other

        Raises as :meth:`_submit`.
        """
        job = LaneJob(layout, (0,) * self.config.lanes)
        base = self._submit(job, made.images, contents, made.commands)
        image = made.images["d"]
        return image.from_bytes(self._device.read_memory(base["d"], image.size))

    def _run_programs(
        self, job: LaneJob, work: Sequence[tuple[Program, Operands]]
    ) -> list[Patterns]:
        """The results of products that run at the same time. Raises as :meth:`_submit`."""
        images: dict[str, StreamImage] = {}
        contents: dict[str, Patterns] = {}
        for number, (made, operands) in enumerate(work):
            images |= {f"{name} {number}": image for name, image in made.images.items()}
            found = made.contents(*operands)
            contents |= {f"{name} {number}": words for name, words in found.items()}

        def own(bases: Mapping[str, int], number: int) -> dict[str, int]:
            return {name: bases[f"{name} {number}"] for name in work[number][0].images}

        def write(bases: Mapping[str, int], into: CommandList) -> None:
            steps = ((made, own(bases, number)) for number, (made, _) in enumerate(work))
            add_commands(steps, into)

        bases = self._submit(job, images, contents, write)
        return [
            made.result(self._device.read_memory(bases[f"d {number}"], made.images["d"].size))
            for number, (made, _) in enumerate(work)
        ]

    def _submit(
        self,
        job: LaneJob,
        images: Mapping[str, StreamImage],
        contents: Mapping[str, Patterns],
        write: Callable[[Mapping[str, int], CommandList], None],
    ) -> dict[str, int]:
        """Run a job; returns the addresses of its images.

        Parameters
        ----------
        job: how the lanes stand
        images: of operands and results
        contents: of operands
        write: adds the commands to a list, given the addresses of the images

        Raises ValueError for too many commands or too little memory, JobError if the device reports
        an error.
        """
        # The addresses of commands do not change their number.
        counted = CommandList(keeps=False)
        write(dict.fromkeys(images, 0), counted)
        if len(counted) >> COMMANDS_BITS:
            most = (1 << COMMANDS_BITS) - 1
            raise ValueError(f"a job must be of at most {most} commands, not {len(counted)}")
        sizes = {"list": len(counted) * COMMAND_BYTES}
        sizes |= {name: image.size for name, image in images.items()}
        base = self._memory.fit(sizes, "operands, results and commands")
        commands = CommandList()
        write(base, commands)
        for name, words in contents.items():
            self._device.write_memory(base[name], images[name].to_bytes(words))
        self._device.write_memory(base["list"], commands.to_bytes())
        registers = {"LIST": base["list"], "COMMANDS": len(commands)}
        status = self._registers.submit({**registers, **job.registers(self.config)})
        self.counts = status.counts
        status.check()
        return base
