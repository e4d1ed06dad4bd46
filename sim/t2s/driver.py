"""The programming model of an array: tensors in, the result out.

The same program runs on the model (``sim.t2s.model.T2sModel``), on the RTL in a simulator, and on
anything else that is a ``T2sDevice``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format
from ...hw.spec.jobs.t2s import COUNTERS, job_spec, memory_parts
from ...hw.spec.t2s.config import T2sConfig
from ..device.driver import JobDriver
from ..device.protocol import AcceleratorDevice
from ..numbers.container_words import from_container, to_container, words_of
from .images import laid_out, operand_names, placement, taken_out
from .job import Job, job_at
from .sizes import bounds_of_shapes
from .sparse.entries import Entries, entries_of_numbers, entries_of_words, is_sparse
from .sparse.running import laid_out_operands, missing_word


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Values of the array's counters after a job."""

    cycles: int
    busy_cycles: int
    stalls: int
    operations: int
    bytes_read: int
    bytes_written: int

    @property
    def utilisation(self) -> float:
        """Share of the cycles from the first to the last iteration in which there was one."""
        return self.busy_cycles / max(1, self.busy_cycles + self.stalls)


assert [item.name for item in fields(Counts)] == list(COUNTERS)


T2sDevice = AcceleratorDevice[T2sConfig]
"""An array with its memory."""


class Driver(JobDriver[T2sConfig]):
    """Runs jobs on an array that the T2S compiler has generated.

    Parameters
    ----------
    device: the array and its memory
    first_address: lowest address that the driver may use

    Members
    -------
    counts: counters of the last job
    steps: for each sparse operand the number of vectors of tokens

    Raises
    ------
    ValueError: the device's register ID is not that of an array
    """

    counts: Counts
    steps: Mapping[str, int]

    def __init__(self, device: T2sDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.beat_bytes,
            addr_bits=config.addr_bits,
        )

    def compute(self, bounds: Mapping[str, int] | None = None, **operands: Any) -> npt.NDArray[Any]:
        """Computes the design's result for tensors of numbers, which are rounded to the format of
        words.

        Parameters
        ----------
        bounds: bounds of the indices that no tensor's shape determines
        operands: tensors by name. A sparse one is a sparse array or matrix of SciPy, a sparse
            tensor (:class:`~tilewright.sim.sparse.tensor.Tensor`), or a dense array, in which
            elements equal to the tile's pad, 0 or an infinity, are no entries

        Raises
        ------
        ValueError: tensors that the design does not have; shapes that contradict each other; bounds
            that registers do not hold; imaginary parts or fractions that the format does not have;
            a memory that is too small
        TypeError: a sparse operand that the design has as dense
        JobError: the array reports an error
        """
        design = self.config.plan
        result = self._run(bounds, operands, to_container, entries_of_numbers)
        return from_container(result, design.word_format(design.program.result))

    def run_words(
        self, bounds: Mapping[str, int] | None = None, **operands: Any
    ) -> npt.NDArray[np.uint64]:
        """Computes as :meth:`compute` does, on words; sparse operands store each place once.

        Raises TypeError and ValueError also for values that are no words.
        """

        def as_words(given: Any, fmt: Format) -> npt.NDArray[np.uint64]:
            return words_of(given, fmt.container_bits)

        return self._run(bounds, operands, as_words, entries_of_words)

    def submit(self, job: Job) -> None:
        """Writes the registers of a job, runs it, and reads the counters. Raises JobError if it
        failed."""
        status = self._registers.submit(job.registers(self.config))
        self.counts, self.steps = Counts(**status.counts), job.steps
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
        self,
        given: Mapping[str, int] | None,
        operands: Mapping[str, Any],
        dense_words: Callable[[Any, Format], npt.NDArray[np.uint64]],
        entries_of: Callable[[Any, Format, int], Entries],
    ) -> npt.NDArray[np.uint64]:
        self._check_names(operands)
        config, design, beat = self.config, self.config.plan, self.config.beat_bytes
        words, entries = {}, {}
        for name, one in operands.items():
            fmt = design.word_format(name)
            if name in design.program.sparse:
                entries[name] = entries_of(one, fmt, missing_word(design, name))
            elif is_sparse(one):
                raise TypeError(f"{name} must be dense in this design, not {type(one).__name__}")
            else:
                words[name] = dense_words(one, fmt)
        shapes = {name: (words | entries)[name].shape for name in operands}
        bounds = bounds_of_shapes(design.program, shapes, given)
        sparse = laid_out_operands(design, bounds, entries, beat)
        sizes = {name: len(image.content) for name, image in sparse.images.items()}
        for part in memory_parts(config):
            sizes[part.tensor] = placement(design, part.tensor, sparse.bounds, beat).size
        places = self._memory.fit(sizes, f"the images of {', '.join(sizes)}")
        job = job_at(config, bounds, places, sparse.steps)
        for name, image in sparse.images.items():
            self._device.write_memory(places[name], image.content)
        for name, one in words.items():
            self._device.write_memory(places[name], laid_out(design, name, bounds, one, beat))
        self.submit(job)
        result = design.program.result
        content = self._device.read_memory(places[result], sizes[result])
        return sparse.put_back(design, taken_out(design, sparse.bounds, content, beat))
