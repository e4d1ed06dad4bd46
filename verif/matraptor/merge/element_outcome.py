"""Jobs for a processing element as tokens, and what it made of them held against its rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack

from .element import Job, Row
from .element_unit import COUNTS

__all__ = ["Outcome", "joined", "tokens"]

Table = dict[str, npt.NDArray[np.uint64]]

_FIELDS = ("a", "b", "column", "b_last", "present", "row_last", "lane_last", "row", "mute", "stop")


def tokens(
    rows: Sequence[Row], rng: np.random.Generator, *, closed: float = 0.3, **more: int
) -> Table:
    """The tokens of a job. Rows end with their last entry, or with a token behind it: empty
    ones, and a share of ``closed`` of the others."""
    lines: list[dict[str, int]] = []
    for i, row in enumerate(rows):
        plain = {**dict.fromkeys(_FIELDS, 0), "row": i, **more}
        for part in row:
            for n, column in enumerate(part.columns):
                entry = {"a": part.a[n], "b": part.b[n], "column": column, "present": 1}
                lines.append({**plain, **entry, "b_last": int(n == len(part.columns) - 1)})
        if not row or rng.random() < closed:
            lines.append({**plain, "column": 7})
        lines[-1]["row_last"] = 1
    lines[-1]["lane_last"] = 1
    return {name: np.array([line[name] for line in lines], np.uint64) for name in _FIELDS}


def joined(tables: Sequence[Table]) -> Table:
    return {name: np.concatenate([table[name] for table in tables]) for name in _FIELDS}


def _results(job: Job) -> Table:
    """The tokens that a job gives, its status last."""
    lines = []
    for i, (columns, values) in enumerate(job.rows):
        for n, column in enumerate(columns):
            lines.append((int(column), int(values[n]), 1, int(n == len(columns) - 1), i))
        if not len(columns):
            lines.append((0, 0, 0, 1, i))
    names = ("column", "value", "present", "row_last", "row")
    table = {name: np.array([line[k] for line in lines], np.uint64) for k, name in enumerate(names)}
    table["status"] = np.zeros(len(lines), np.uint64)
    return table


class Outcome:
    """What a unit gave: results by job, and the status of each.

    Parameters
    ----------
    unit: the simulation
    given: tokens, see :func:`tokens`
    jobs: what is expected
    pauses: gaps and stalls
    """

    def __init__(
        self, unit: NativeSimulation, given: Table, jobs: Sequence[Job], pauses: Pauses
    ) -> None:
        tables = [_results(job) for job in jobs]
        count = sum(len(table["row"]) + 1 for table in tables)
        stream = unit.stream("i")
        self.run = unit.run(pack(given, stream), outputs=count, pauses=pauses)
        self.fields = {
            name: values.astype(np.uint64)
            for name, values in unpack(self.run.payloads, unit.stream("o")).items()
        }
        self.ends = np.flatnonzero(self.fields["status"])
        assert len(self.ends) == len(jobs)
        begin = 0
        for job, table, end in zip(jobs, tables, self.ends, strict=True):
            self._check_rows(table, begin, int(end))
            self._check_status(job, int(end))
            begin = int(end) + 1

    def _check_rows(self, table: Table, begin: int, end: int) -> None:
        got = {name: values[begin:end] for name, values in self.fields.items()}
        assert len(got["row"]) == len(table["row"])
        counts = table["present"] == 1
        for name, values in table.items():
            # A token without an entry has no column and no value.
            kept = counts if name in ("column", "value") else np.ones_like(counts)
            wrong = np.flatnonzero((got[name] != values) & kept)
            assert not len(wrong), (
                f"{name} of result {wrong[0]} is {got[name][wrong[0]]:#x}, "
                f"not {values[wrong[0]]:#x}; {len(wrong)} differ"
            )

    def _check_status(self, job: Job, end: int) -> None:
        status = {name: int(values[end]) for name, values in self.fields.items()}
        assert status["overflow"] == (job.error == "overflow")
        assert status["unsorted"] == (job.error == "unsorted")
        if job.error:
            assert status["error_row"] == job.error_row
            return
        assert status["multiplied"] == job.products
        assert status["merge_step"] == job.merge_steps
        last = self.fields["lane_last"][end - len(job.rows) : end]
        assert last[-1] == 1

    def counts(self, job: int) -> dict[str, int]:
        return {name: int(self.fields[name][self.ends[job]]) for name in COUNTS}

    def cycles(self) -> int:
        """From the first token in to the last result out."""
        out = self.run.output_cycles[self.ends[-1] - 1]
        return int(out - self.run.input_cycles[0]) + 1
