"""Golden model of an array: a register file and a memory, jobs done in no time.

What a job leaves in memory and in the registers is the hardware's, bit for bit, but for what
depends on time: CYCLES, BUSY_CYCLES and STALLS read as zero.
"""

from __future__ import annotations

import numpy as np

from ...hw.spec.jobs.t2s import job_spec
from ...hw.spec.t2s.config import T2sConfig
from ..device.model import ModelDevice
from .hardware_result import result_of_walked
from .images import image_of, operand_names
from .iterations import operations
from .job import Job, JobFailure, fetched, put, run_count, run_places

__all__ = ["T2sModel"]


class T2sModel(ModelDevice):
    """An array as software sees it. A job is over as soon as it is started.

    All operands are read before the result is written. A word that an image has again in loops that
    do not choose it is taken to be the same there, as hosts lay it out.

    Parameters
    ----------
    config: see :class:`T2sConfig`
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it

    Raises ValueError for a design that cannot be built.
    """

    def __init__(self, config: T2sConfig, memory_bytes: int = 1 << 22) -> None:
        self._config = config
        super().__init__(job_spec(config), memory_bytes)

    @property
    def config(self) -> T2sConfig:
        return self._config

    def _job(self) -> tuple[str, int, dict[str, int]]:
        config, design = self._config, self._config.plan
        job = Job.of_registers(config, self._values)
        try:
            self._run(job)
        except JobFailure as failure:
            return failure.error, failure.detail, {}
        element = design.program.function(design.element.name)
        beats = [run_count(job, one) * one.run_beats(config.beat_bytes) for one in design.loaders]
        counts = {
            "operations": operations(element, job.bounds(design.program)),
            "bytes_read": sum(beats) * config.beat_bytes,
            "bytes_written": run_count(job, design.unloader) * design.unloader.run_bytes,
        }
        return "none", 0, counts

    def _run(self, job: Job) -> None:
        """Read the images, compute, and write the result's. Raises JobFailure; nothing is written
        then."""
        config, design, memory = self._config, self._config.plan, self.memory
        bounds = job.bounds(design.program)
        operands = {}
        for name in operand_names(design.program):
            image = image_of(design, name, bounds)
            places = run_places(config, job, image, len(memory), "bus_read")
            words = image.words(fetched(config, memory, places, image))
            operands[name] = words >> np.uint64(image.fmt.container_bits - image.fmt.bits)
        image = image_of(design, design.program.result, bounds)
        places = run_places(config, job, image, len(memory), "bus_write")
        found = result_of_walked(design, bounds, operands)
        words = found << np.uint64(image.fmt.container_bits - image.fmt.bits)
        put(config, memory, places, image, image.rows(words))
