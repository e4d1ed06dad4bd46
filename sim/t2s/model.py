"""Golden model of an array: a register file and a memory, jobs done in no time.

What a job leaves in memory and in the registers is the hardware's, bit for bit, but for what
depends on time: CYCLES, BUSY_CYCLES and STALLS read as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from ...hw.spec.jobs.t2s import entries_parts, job_spec
from ...hw.spec.t2s.config import T2sConfig
from ..device.model import ModelDevice
from .hardware_result import result_of_walked
from .images import image_of, operand_names
from .job import Job, JobFailure, fetched, put, run_count, run_places
from .sizes import operations
from .sparse.ordered_sums import sums_of_entries
from .sparse.running import entries_bytes, fetched_entries, sparse_operations, times_again

__all__ = ["T2sModel"]


class T2sModel(ModelDevice):
    """An array as software sees it. A job is over as soon as it is started.

    All operands are read before the result is written. A word that an image has again in loops that
    do not choose it is taken to be the same there, as hosts lay it out. Images of sparse operands
    must be some: of tokens that no host lays out hardware makes anything, or waits for ever.

    Parameters
    ----------
    config: see :class:`T2sConfig`
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it

    Raises ValueError for a design that cannot be built, and, from a job, for tokens that no host
    lays out.
    """

    def __init__(self, config: T2sConfig, memory_bytes: int = 1 << 22) -> None:
        self.config: Final = config
        super().__init__(job_spec(config), memory_bytes)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        config, design = self.config, self.config.plan
        job = Job.of_registers(config, self._values)
        try:
            done = self._run(job)
        except JobFailure as failure:
            return failure.error, failure.detail, {}
        beat = config.beat_bytes
        read = sum(run_count(job, one) * one.run_beats(beat) * beat for one in design.loaders)
        for one in entries_parts(config):
            read += times_again(job, one) * entries_bytes(config, job, one)
        counts = {
            "operations": done,
            "bytes_read": read,
            "bytes_written": run_count(job, design.unloader) * design.unloader.run_bytes,
        }
        return "none", 0, counts

    def _run(self, job: Job) -> int:
        """Read the images, compute, and write the result's. Returns the operations of the last
        element. Raises JobFailure; nothing is written then."""
        config, design, memory = self.config, self.config.plan, self.memory
        bounds = job.bounds(design.program)
        plan = design.sparse
        entries = fetched_entries(config, plan, job, memory) if plan is not None else None
        operands = {
            name: self._words(job, name, bounds)
            for name in operand_names(design.program)
            if name not in design.program.sparse
        }
        image = image_of(design, design.program.result, bounds)
        places = run_places(config, job, image, len(memory), "bus_write")
        if plan is not None and entries is not None:
            found = sums_of_entries(design.program, plan, bounds, entries, operands)
            done = sparse_operations(job, plan, entries)
        else:
            found = result_of_walked(design, bounds, operands)
            done = operations(design.program.function(design.element.name), bounds)
        words = found << np.uint64(image.fmt.container_bits - image.fmt.bits)
        put(config, memory, places, image, image.rows(words))
        return done

    def _words(self, job: Job, name: str, bounds: Mapping[str, int]) -> npt.NDArray[np.uint64]:
        """A dense operand's patterns, by the indices that choose a word."""
        config = self.config
        image = image_of(config.plan, name, bounds)
        places = run_places(config, job, image, len(self.memory), "bus_read")
        words = image.words(fetched(config, self.memory, places, image))
        return words >> np.uint64(image.fmt.container_bits - image.fmt.bits)
