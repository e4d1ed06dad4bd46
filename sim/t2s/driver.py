"""The programming model of an array: tensors in, the result out.

The same program runs on the model (``sim.t2s.model.T2sModel``), on the RTL in a simulator, and on
anything else that is a ``T2sDevice``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.jobs.t2s import job_spec, memory_parts
from ...hw.spec.t2s.config import T2sConfig
from ..device.driver import JobDriver
from ..device.protocol import AcceleratorDevice
from ..numbers.container_words import from_container, to_container
from ..numbers.given import words_of
from .bounds import bounds_of_shapes
from .counts import Counts
from .images import laid_out, operand_names, placement, taken_out
from .job import Job, job_at

__all__ = ["Driver", "T2sDevice"]

T2sDevice = AcceleratorDevice[T2sConfig]
"""An array with its memory."""


class Driver(JobDriver[T2sConfig]):
    """Programs an array.

    Parameters
    ----------
    device: the array and its memory
    first_address: where the memory that the driver may use begins

    Members
    -------
    counts: the counters of the last job

    Raises
    ------
    ValueError if the device's ID is not an array's.
    """

    counts: Counts

    def __init__(self, device: T2sDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.beat_bytes,
            addr_bits=config.addr_bits,
        )

    def compute(
        self, bounds: Mapping[str, int] | None = None, **operands: npt.ArrayLike
    ) -> npt.NDArray[Any]:
        """The result for tensors of numbers, which are rounded to the format of words.

        Parameters
        ----------
        bounds: of indices, where the tensors' shapes do not tell them
        operands: the tensors, by name

        Raises
        ------
        ValueError for tensors that the design does not have, shapes that contradict each other,
        bounds that registers do not hold, numbers that are complex, or have fractions in a format
        of integers, and if the memory is too small; JobError if the array reports an error.
        """
        self._check_names(operands)
        design = self.config.plan
        words = {
            name: to_container(given, design.word_format(name)) for name, given in operands.items()
        }
        result = self._run(bounds, words)
        return from_container(result, design.word_format(design.program.result))

    def run_words(
        self, bounds: Mapping[str, int] | None = None, **operands: npt.ArrayLike
    ) -> npt.NDArray[np.uint64]:
        """As :meth:`compute`, of container words, and to such.

        Raises TypeError and ValueError for what are none, too.
        """
        self._check_names(operands)
        design = self.config.plan
        words = {
            name: words_of(given, design.word_format(name).container_bits)
            for name, given in operands.items()
        }
        return self._run(bounds, words)

    def submit(self, job: Job) -> None:
        """Write the job registers, run, and take the counters. Raises JobError if it failed."""
        status = self._registers.submit(job.registers(self.config))
        self.counts = Counts(**status.counts)
        status.check()

    def _check_names(self, operands: Mapping[str, object]) -> None:
        names = operand_names(self.config.plan.program)
        for name in names:
            if name not in operands:
                raise ValueError(f"operands must be {', '.join(names)}; {name} is missing")
        for name in operands:
            if name not in names:
                raise ValueError(f"operands must be {', '.join(names)}, not {name!r}")

    def _run(
        self, given: Mapping[str, int] | None, operands: Mapping[str, npt.NDArray[np.uint64]]
    ) -> npt.NDArray[np.uint64]:
        config, design = self.config, self.config.plan
        shapes = {name: words.shape for name, words in operands.items()}
        bounds = bounds_of_shapes(design.program, shapes, given)
        sizes = {
            part.tensor: placement(design, part.tensor, bounds, config.beat_bytes).size
            for part in memory_parts(config)
        }
        places = self._memory.fit(sizes, f"the images of {', '.join(sizes)}")
        job = job_at(config, bounds, places)
        for name, words in operands.items():
            content = laid_out(design, name, bounds, words, config.beat_bytes)
            self._device.write_memory(places[name], content)
        self.submit(job)
        result = design.program.result
        content = self._device.read_memory(places[result], sizes[result])
        return taken_out(design, bounds, content, config.beat_bytes)
