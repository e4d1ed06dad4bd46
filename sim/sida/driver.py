"""Iterative computations on a SIDA: a problem into its memory, jobs, the solution back.

The same program runs on the model, on the RTL in a simulator, and on anything else that is a
``SidaDevice``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hw.spec.elementwise.instructions import SCALARS
from ...hw.spec.jobs.sida import job_spec
from ...hw.spec.sida import SidaConfig
from ..device.driver import JobDriver
from ..device.protocol import AcceleratorDevice
from ..numbers.container_words import from_bytes
from ..numbers.values import Patterns
from ..timing.dram import HBM
from .fit import check_fit
from .images import job_images, late_step, program_words, spilled_bytes
from .iterations.problem import Problem, Solution
from .result.elementwise import begin


def bank_span(config: SidaConfig) -> int:
    """Returns the bytes of one row in every bank of all channels of an HBM.

    Vectors of a pass are read and written together. Two that start a multiple of this span apart
    would need different rows of the same bank all along.
    """
    return config.channels * HBM.banks * HBM.page_bytes


SidaDevice = AcceleratorDevice[SidaConfig]
"""A SIDA with its memory."""


class SidaDriver(JobDriver[SidaConfig]):
    """Solves iterative problems on a SIDA.

    Parameters
    ----------
    device: the accelerator and its memory
    first_address: lowest address that the driver may use
    rows: which elements of a matrix it also stores by rows: "late", those below the diagonal band,
        or "whole"

    Members
    -------
    jobs: counters of the jobs of the last problem, in order

    Raises
    ------
    ValueError: the device's register ID is not that of a SIDA; an unknown ``rows``
    """

    jobs: list[dict[str, int]]

    def __init__(self, device: SidaDevice, first_address: int = 0, *, rows: str = "late") -> None:
        config = device.config
        self._late = late_step(config, rows)
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.line_bytes,
            addr_bits=config.addr_bits,
            span=bank_span(config),
        )
        self.jobs = []

    def solve(self, problem: Problem, most: int, *, passes_a_job: int | None = None) -> Solution:
        """Solves a problem on the device, bit for bit as ``iterations.problem.solve``.

        Parameters
        ----------
        problem: the matrix, the program, its vectors and its stop
        most: largest number of iterations
        passes_a_job: passes of one job; None for all passes in one job. The next job starts with
            the vector that has the result after the second iteration of a pass

        Raises
        ------
        ValueError: a problem that does not fit the device
        NoRoom: the memory is too small
        JobError: the device reports an error
        """
        if most < 1:
            raise ValueError(f"`most` must be at least 1, not {most}")
        if passes_a_job is not None and passes_a_job < 1:
            raise ValueError(f"`passes_a_job` must be at least 1, not {passes_a_job}")
        job, places = self._place(problem)
        wanted = -(-most // 2)
        passes = ended = 0
        self.jobs = []
        while passes < wanted and not ended:
            job["PASSES"] = min(wanted - passes, passes_a_job or wanted)
            status = self._registers.submit(job)
            status.check()
            self.jobs.append(status.counts)
            passes += status.counts["passes_done"]
            ended = status.counts["ended"]
            job["X"] = places[f"vector_{problem.program.vectors.index(problem.results[1])}"]
        done = 2 * passes - (ended == 1)
        settled = bool(ended) and done <= most
        return self._solution(problem, places, min(done, most), passes, settled)

    def _solution(
        self, problem: Problem, places: Mapping[str, int], done: int, passes: int, settled: bool
    ) -> Solution:
        program = problem.program
        vectors = {
            name: self._read(places[f"vector_{number}"], problem.matrix.size)[:, None]
            for number, name in enumerate(program.vectors)
        }
        scalars = self._read(places["scalars"], SCALARS)
        return Solution(
            result=vectors[problem.results[(done + 1) % 2]],
            vectors=vectors,
            scalars={
                one.name: int(scalars[number])
                for number, one in enumerate(program.scalars)
                if one.name
            },
            iterations=done,
            passes=passes,
            wasted=2 * passes - done,
            settled=settled,
        )

    def _place(self, problem: Problem) -> tuple[dict[str, int], dict[str, int]]:
        """Writes a problem to memory; returns the registers of its jobs and the addresses of its
        arrays."""
        config, program = self.config, problem.program
        self._check(problem)
        scalars = begin(program, config.format, problem.scalars)
        job = {"STOPS": 0}
        if problem.stop is not None:
            names = [one.name for one in program.scalars]
            looked_at = {
                f"STOP_{half}": names.index(name)
                for half, name in enumerate(problem.stop.reductions, 1)
            }
            job = {"STOPS": 1, **looked_at, "LIMIT": len(scalars)}
            scalars.append(problem.stop.pattern(config.format))
        words, entry = program_words(program)
        nothing: Patterns = np.zeros(problem.matrix.size, np.uint64)
        vectors = {
            number: problem.vectors.get(name, nothing)
            for number, name in enumerate(program.vectors)
        }
        images = job_images(
            problem.matrix, problem.x, scalars, words, vectors, config.format, self._late
        )
        line = config.line_bytes
        content_sizes = {name: len(content) for name, content in images.items()}
        content_sizes |= spilled_bytes(config, problem.matrix.size)
        sizes = {name: -(-count // line) * line for name, count in content_sizes.items()}
        places = self._memory.fit(sizes, "the problem")
        for name, content in images.items():
            self._device.write_memory(places[name], content)
        first, second = problem.semirings
        job |= {
            "ROWS": problem.matrix.size,
            "FIRST": first.opcode,
            "SECOND": second.opcode,
            "SECOND_PRODUCT": 1,
            "TRANSPOSED": int(problem.transposed),
            "WORDS": len(words),
            "ENTRY": entry,
            **{name.upper(): place for name, place in places.items()},
        }
        return job, places

    def _check(self, problem: Problem) -> None:
        config, size = self.config, problem.matrix.size
        check_fit(config, size, problem.semirings, problem.program.words)
        if problem.stop is not None and len(problem.program.scalars) == SCALARS:
            raise ValueError(
                f"the program must have less than {SCALARS} scalars and numbers, since the limit "
                "is one more"
            )
        for name, values in [("x", problem.x), *problem.vectors.items()]:
            if values.size != size:
                raise ValueError(f"`{name}` must have {size} elements, not {values.size}")

    def _read(self, address: int, count: int) -> Patterns:
        fmt = self.config.format
        return from_bytes(self._device.read_memory(address, count * fmt.bits // 8), fmt)
