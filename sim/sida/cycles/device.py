"""A SIDA as software sees it whose jobs take as long as the hardware's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from ....hw.spec.elementwise.instructions import SCALARS
from ....hw.spec.sida import DELAY, SidaConfig
from ...numbers.container_words import from_bytes
from ...numbers.values import Patterns
from ...timing.jobs import TimedDevice
from ..fit import check_modelled
from ..images import first_fault
from ..model import SidaModel
from ..result.products import Columns
from .machine import SETTLED, PassJob, SidaTimes, run_job


@dataclass(frozen=True)
class StoredRows:
    """A matrix by rows as it lies in memory: ``pointers`` to where each row begins, which ascend,
    ``columns`` and ``values`` of the elements."""

    pointers: npt.NDArray[np.int64]
    columns: npt.NDArray[np.integer]
    values: Patterns


def disagreement(
    matrix: Columns, rows: StoredRows, asked: npt.NDArray[np.integer], step: int
) -> int | None:
    """Finds the first row of the first refetched panel that differs from the matrix by columns.

    Parameters
    ----------
    matrix: by columns
    asked: of each panel the pass in which it was first read again, from 1; 0: it never was
    step: rows of a panel
    """
    late = np.flatnonzero(matrix.late(step))
    late = late[np.argsort(matrix.rows[late], kind="stable")]
    ends = np.searchsorted(matrix.rows[late], step * np.arange(len(asked) + 1))
    owners = np.repeat(np.arange(matrix.size), np.diff(rows.pointers))
    panels = np.flatnonzero(asked)
    for panel in panels[np.argsort(asked[panels], kind="stable")].tolist():
        first, end = panel * step, min((panel + 1) * step, matrix.size)
        mine = late[ends[panel] : ends[panel + 1]]
        read = np.arange(rows.pointers[first], rows.pointers[end])
        read = read[rows.columns[read] < (panel + DELAY) * step]
        pairs = (
            (matrix.rows[mine], owners[read - rows.pointers[0]]),
            (matrix.columns[mine], rows.columns[read]),
            (matrix.values[mine], rows.values[read]),
        )
        if not all(np.array_equal(one, other) for one, other in pairs):
            return int(first)
    return None


class SidaCycles(TimedDevice, SidaModel):
    """The model of results, with all counters of the cycle model for jobs that end well; of rows
    that are read again it finds those that are not what they are by columns. Each job finds the
    accelerator as it is behind a reset.

    Parameters
    ----------
    phase: see :func:`run_job`
    others: see :class:`TimedDevice`

    Members
    -------
    cycles: of each job that ended well

    Raises ValueError if vectors of ``config`` are in memory, which is not modelled.
    """

    def __init__(
        self,
        config: SidaConfig,
        memory_bytes: int | None = None,
        *,
        phase: int = SETTLED,
        **others: Any,
    ) -> None:
        check_modelled(config)
        super().__init__(config, memory_bytes, **others)
        self.phase = phase
        self.cycles: list[SidaTimes] = []

    def _before(self) -> bytes:
        return self._scalars()

    def _timed(self, before: bytes, counts: dict[str, int]) -> tuple[str, int, dict[str, int]]:
        """The model of results knows of all that is wrong with a job but for the rows."""
        values = self._values
        # A job stores nothing where its matrix or its program is.
        content, size = self.memory, values["ROWS"]
        pointers, rows = _half(content, values["COLUMN_POINTERS"], values["ROW_NUMBERS"], size)
        row_pointers, columns = pointers, rows
        compares = False
        if values["SECOND_PRODUCT"] and not values["TRANSPOSED"]:
            again = (values["ROW_POINTERS"], values["COLUMN_NUMBERS"])
            row_pointers, columns = _half(content, *again, size)
            compares = not first_fault(row_pointers, columns[:-1].astype(np.int64), 1)
            if not compares:
                row_pointers, columns = _by_rows(pointers, rows)
        job = PassJob(
            registers=values,
            words=_words(content, values["PROGRAM_BASE"], values["WORDS"]).tolist(),
            pointers=pointers,
            rows=rows,
            row_pointers=row_pointers,
            columns=columns,
            passes=counts["passes_done"],
        )
        found = run_job(self.config, job, phase=self.phase, **self._timing)
        wrong = self._disagreement(job, found) if compares else None
        if wrong is not None:
            self.write_memory(values["SCALARS"], before)
            return "disagree", wrong, {}
        self.cycles.append(found)
        return "none", 0, found.counts | {"ended": counts["ended"]}

    def _scalars(self) -> bytes:
        first = self._values["SCALARS"]
        return self.memory[first : first + SCALARS * self.config.format.bits // 8].tobytes()

    def _disagreement(self, job: PassJob, times: SidaTimes) -> int | None:
        """Finds the first refetched row that differs from the matrix by columns."""
        elements, again = int(job.pointers[-1]), int(job.row_pointers[-1])
        by_columns = Columns(
            pointers=job.pointers,
            rows=job.rows[:elements].astype(np.int64),
            values=self._patterns("COLUMN_VALUES", elements),
        )
        by_rows = StoredRows(
            job.row_pointers, job.columns[:again], self._patterns("ROW_VALUES", again)
        )
        return disagreement(by_columns, by_rows, np.array(times.asked), self.config.subtensor)

    def _patterns(self, register: str, count: int) -> Patterns:
        """Reads values from memory; those after its end are zeros."""
        fmt = self.config.format
        first, size = self._values[register], count * fmt.bits // 8
        return from_bytes(self.memory[first : first + size].tobytes().ljust(size, b"\0"), fmt)


def _words(content: npt.NDArray[np.uint8], address: int, count: int) -> npt.NDArray[np.uint32]:
    """Reads words from memory; those after its end are zeros."""
    found = np.zeros(4 * count, np.uint8)
    here = content[address : address + 4 * count]
    found[: len(here)] = here
    return found.view("<u4")


def _half(
    content: npt.NDArray[np.uint8], pointers: int, numbers: int, size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Reads a matrix by columns, or by rows: the pointers, and the elements' numbers."""
    ends = _words(content, pointers, size + 1).astype(np.int64)
    # One more than there are: where elements of a matrix without any would be.
    count = min(int(ends[-1]), len(content)) + 1
    return ends, _words(content, numbers, count).astype(np.int32)


def _by_rows(
    pointers: npt.NDArray[np.int64], rows: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Derives the matrix by rows from that by columns, where the one in memory is wrong. That is an
    error which the model of results does not detect, or nothing of it is read."""
    size, count = len(pointers) - 1, int(pointers[-1])
    values = np.zeros(count, np.int8)
    found = csc_array((values, rows[:count], pointers), shape=(size, size)).tocsr()
    return found.indptr.astype(np.int64), np.append(found.indices, 0).astype(np.int32)
