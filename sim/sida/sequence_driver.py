"""Sequences of jobs on a SIDA: everything into its memory once, then job after job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.spec.elementwise.instructions import SCALARS
from ...hw.spec.formats import Format
from ...hw.spec.jobs.sida import WINDOW_BASES, job_spec
from ...hw.spec.semirings import SEMIRINGS
from ...hw.spec.sida import SidaConfig
from ..device.driver import JobDriver
from ..numbers.container_words import from_bytes, to_bytes
from ..numbers.values import Patterns, decode
from .driver import SidaDevice, SidaDriver, bank_span
from .fit import check_fit
from .images import (
    late_step,
    matrix_images,
    program_image,
    program_words,
    scalars_image,
    spilled_bytes,
)
from .iterations.jobs import Job, Setup
from .iterations.problem import Problem, Solution


class StepDriver(SidaDriver):
    """Runs a problem in a device's memory pass by pass. Each pass is one job, and begins with the
    operand that the host has written.

    Parameters
    ----------
    device: the accelerator and its memory
    problem: without a stop
    first_address, rows: see :class:`SidaDriver`

    Members
    -------
    jobs: the counters of all passes, in order

    Raises
    ------
    ValueError as :class:`SidaDriver`, or if the problem does not fit the device, NoRoom if the
    memory is too small; ``step``: JobError if the device reports an error.
    """

    def __init__(
        self, device: SidaDevice, problem: Problem, first_address: int = 0, *, rows: str = "late"
    ) -> None:
        super().__init__(device, first_address, rows=rows)
        self._problem = problem
        self._job, self._places = self._place(problem)

    def step(self) -> None:
        """Run one pass."""
        status = self._registers.submit(self._job | {"PASSES": 1})
        status.check()
        self.jobs.append(status.counts)

    def solution(self) -> Solution:
        """Reads the solution from memory, after all passes so far."""
        passes = len(self.jobs)
        return self._solution(self._problem, self._places, 2 * passes, passes, True)

    def put_operand(self, patterns: Patterns, first: int = 0) -> None:
        """Write elements of the first product's operand, from element ``first`` on."""
        self._put("x", patterns, first)

    def put(self, name: str, patterns: Patterns, first: int = 0) -> None:
        """Write elements of one of the program's vectors, from element ``first`` on."""
        self._put(self._vector(name), patterns, first)

    def get(self, name: str) -> Patterns:
        """(size,) patterns of one of the program's vectors."""
        return self._read(self._places[self._vector(name)], self._problem.matrix.size)

    def scalar(self, name: str) -> int:
        """A scalar's pattern."""
        number = [one.name for one in self._problem.program.scalars].index(name)
        place = self._places["scalars"] + number * self.config.format.bits // 8
        return int(self._read(place, 1)[0])

    def _vector(self, name: str) -> str:
        return f"vector_{self._problem.program.vectors.index(name)}"

    def _put(self, place: str, patterns: Patterns, first: int) -> None:
        fmt = self.config.format
        address = self._places[place] + first * fmt.bits // 8
        self._device.write_memory(address, to_bytes(patterns, fmt))


SUMS = SEMIRINGS["mma"]
"""The semiring of all products."""

NOTHING = "nothing"
"""The matrix without elements."""

ARRAYS = (
    "column_pointers",
    "row_numbers",
    "column_values",
    "row_pointers",
    "column_numbers",
    "row_values",
)
"""Arrays of a matrix; a name in memory is that of the matrix and of the array."""


def job_registers(setup: Setup, job: Job, places: Mapping[str, int]) -> dict[str, int]:
    """Returns the register values of a job by name.

    ``places``: the addresses of each matrix' arrays, of each program and each vector, of the
    scalars, and of the pointers of a matrix without elements; where vectors are in memory, of
    what is kept of them there.
    """
    program = setup.programs[job.program]
    words, entry = program_words(program, second=job.second)
    # Elements of a matrix without any are read nowhere.
    matrix = (
        dict.fromkeys(ARRAYS, places[f"{NOTHING} pointers"])
        if job.matrix is None
        else {array: places[f"{job.matrix} {array}"] for array in ARRAYS}
    )
    return {
        "ROWS": setup.size,
        "PASSES": 1,
        "FIRST": SUMS.opcode,
        "SECOND": SUMS.opcode,
        "SECOND_PRODUCT": int(job.second),
        "TRANSPOSED": 0,
        "WORDS": len(words),
        "ENTRY": entry,
        "STOPS": 0,
        **{array.upper(): place for array, place in matrix.items()},
        "X": places[f"vector {job.x}"],
        "SCALARS": places["scalars"],
        "PROGRAM_BASE": places[f"program {job.program}"],
        **{
            f"VECTOR_{number}": places[f"vector {name}"]
            for number, name in enumerate(job.vectors(program))
        },
        **{name.upper(): places[name] for name in WINDOW_BASES if name in places},
    }


class SequenceDriver(JobDriver[SidaConfig]):
    """The ``Machine`` that a device is.

    Parameters
    ----------
    device: the accelerator and its memory
    setup: what is in memory before the first job
    first_address: where the memory that the driver may use begins
    rows: what it puts there of matrices by rows, see ``images.ROWS``

    Members
    -------
    jobs: what was run, and its counters, in order

    Raises
    ------
    ValueError if the device's ID is not a SIDA's, ``rows`` is none of ``ROWS``, or the jobs do not
    fit it; NoRoom if the memory is too small.
    """

    jobs: list[tuple[Job, dict[str, int]]]

    def __init__(
        self, device: SidaDevice, setup: Setup, first_address: int = 0, *, rows: str = "late"
    ) -> None:
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
        self._setup = setup
        words = [len(program_words(one, second=bool(one.e2))[0]) for one in setup.programs.values()]
        check_fit(config, setup.size, [SUMS], max(words))
        images = self._images()
        line = config.line_bytes
        counts = {name: len(content) for name, content in images.items()}
        counts |= spilled_bytes(config, setup.size)
        sizes = {name: -(-count // line) * line for name, count in counts.items()}
        self._places = self._memory.fit(sizes, "the problem")
        for name, content in images.items():
            device.write_memory(self._places[name], content)

    def _images(self) -> dict[str, bytes]:
        """Returns the images of all arrays in memory."""
        setup, fmt = self._setup, self.config.format
        images = {f"{NOTHING} pointers": bytes(4 * (setup.size + 1))}
        for name, matrix in setup.matrices.items():
            arrays = matrix_images(matrix, fmt, self._late)
            images |= {f"{name} {array}": content for array, content in arrays.items()}
        for name, program in setup.programs.items():
            images[f"program {name}"] = program_image(program_words(program)[0])
        images["scalars"] = scalars_image(setup.scalars(fmt), fmt)
        return images | {
            f"vector {name}": to_bytes(values, fmt) for name, values in setup.vectors.items()
        }

    @property
    def fmt(self) -> Format:
        return self.config.format

    def run(self, job: Job) -> None:
        """Raises JobError if the device reports an error."""
        status = self._registers.submit(job_registers(self._setup, job, self._places))
        status.check()
        self.jobs.append((job, status.counts))

    def give(self, values: Mapping[str, float]) -> None:
        """Scalars from the next job on, by name, rounded to the format."""
        scalars = self._read("scalars", SCALARS)
        for number, pattern in self._setup.changed(values, self.fmt).items():
            scalars[number] = pattern
        self._device.write_memory(self._places["scalars"], to_bytes(scalars, self.fmt))

    def scalars(self) -> dict[str, float]:
        values = decode(self._read("scalars", SCALARS), self.fmt)
        return {name: float(values[number]) for name, number in self._setup.names().items()}

    def vector(self, name: str) -> Patterns:
        return self._read(f"vector {name}", self._setup.size)[:, None]

    def state(self) -> dict[str, Patterns]:
        """Reads every vector, and the scalars, from memory."""
        vectors = {f"vector {name}": self.vector(name) for name in self._setup.vectors}
        return vectors | {"scalars": self._read("scalars", SCALARS)[:, None]}

    def _read(self, place: str, count: int) -> Patterns:
        content = self._device.read_memory(self._places[place], count * self.fmt.bits // 8)
        return from_bytes(content, self.fmt)


def sum_of(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Adds up the counters of all jobs; ``held`` and ``ended`` are the largest ones instead."""
    names = tuple(counts[0]) if counts else ()
    return {
        name: (max if name in ("held", "ended") else sum)([one[name] for one in counts])
        for name in names
    }
