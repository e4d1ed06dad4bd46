"""Golden model of an array: a register file and a memory, jobs done in no time.

What a job leaves in memory and in the registers is the hardware's, bit for bit, but for what
depends on time: CYCLES, BUSY_CYCLES and STALLS read as zero.
"""

from __future__ import annotations

import numpy as np

from ...hw.spec.jobs.t2s import job_spec
from ...hw.spec.t2s.config import T2sConfig
from ..device.model import ModelDevice
from .hardware_result import hardware_result
from .images import image_of, operand_names
from .iterations import iterations
from .job import Job, JobFailure, fetched, put, run_count

__all__ = ["T2sModel"]


class T2sModel(ModelDevice):
    """An array as software sees it. A job is over as soon as it is started.

    All operands are read before the result is written. An element of a tensor that an image has in
    several places is taken to be the same in all of them, as hosts lay it out.

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
        config = self._config
        job = Job.of_registers(config, self._values)
        try:
            self._run(job)
        except JobFailure as failure:
            return failure.error, failure.detail, {}
        program = config.plan.program
        return (
            "none",
            0,
            {
                "operations": iterations(program.function(program.name), job.bounds(program)),
                "bytes_read": sum(
                    run_count(job, part) * part.run_beats(config.beat_bytes) * config.beat_bytes
                    for part in config.plan.loaders
                ),
                "bytes_written": run_count(job, config.plan.unloader)
                * config.plan.unloader.run_bytes,
            },
        )

    def _run(self, job: Job) -> None:
        """Read the images, compute, and write the result's. Raises JobFailure."""
        config, design = self._config, self._config.plan
        bounds = job.bounds(design.program)
        operands = {}
        for name in operand_names(design.program):
            image = image_of(design, name, bounds)
            words = image.words(fetched(config, self.memory, job, image))
            operands[name] = words >> np.uint64(image.fmt.container_bits - image.fmt.bits)
        image = image_of(design, design.program.result, bounds)
        found = hardware_result(design, bounds, operands)
        words = found << np.uint64(image.fmt.container_bits - image.fmt.bits)
        put(config, self.memory, job, image, image.rows(words))
