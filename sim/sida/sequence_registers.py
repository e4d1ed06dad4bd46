"""The registers of a job of a sequence, of which everything has its place in memory."""

from __future__ import annotations

from collections.abc import Mapping

from ...hw.spec.jobs.sida import WINDOW_BASES
from ...hw.spec.semirings import SEMIRINGS
from .images import program_words
from .iterations.jobs import Job, Setup

__all__ = ["ARRAYS", "NOTHING", "SUMS", "job_registers"]

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
"""Of a matrix, by its name and theirs."""


def job_registers(setup: Setup, job: Job, places: Mapping[str, int]) -> dict[str, int]:
    """By name.

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
