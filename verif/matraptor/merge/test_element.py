"""The processing element against the rules of its queues: bit for bit, and cycle counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.matraptor.result.rows import spgemm
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.sim.sparse.c2sr import CsrPatterns, from_patterns, starts_of
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matraptor.merge.element import (
    PartialRow,
    ProcessingElementUnit,
    Row,
    expected,
    random_rows,
    shaped_rows,
)

from .element import COUNTS, Job

Table = dict[str, npt.NDArray[np.uint64]]

_FIELDS = ("a", "b", "column", "b_last", "present", "row_last", "lane_last", "row", "mute", "stop")


def tokens(
    rows: Sequence[Row], rng: np.random.Generator, *, closed: float = 0.3, **more: int
) -> Table:
    """Returns the tokens of a job. Rows end with their last entry or with a token after it: always
    if empty, and a share of ``closed`` of the others."""
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
    """Outputs of a unit: results by job, and the status of each.

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
        """Number of cycles from the first input token to the last result."""
        out = self.run.output_cycles[self.ends[-1] - 1]
        return int(out - self.run.input_cycles[0]) + 1


pytestmark = pytest.mark.long

PAUSES = [Pauses(seed=1), Pauses(seed=2, gap=0.3, stall=0.3), Pauses(seed=3, stall=0.7),
          Pauses(seed=4, gap=0.7)]  # fmt: skip


def config_of(**settings: Any) -> MatRaptorConfig:
    small = {"lanes": 2, "channels": 4, "queues": 3, "queue_depth": 16, "value": "fp16"}
    return MatRaptorConfig(**{**small, **settings})


def sized(queues: str, **settings: Any) -> MatRaptorConfig:
    """Returns a configuration with queues as in "3 of 4": three queues of four entries; "in 3 with
    2": in three sets, with a queue of two rows."""
    numbers = [int(word) for word in queues.split()[::2]]
    names = ("queues", "queue_depth", "queue_sets", "row_queue")
    return config_of(**dict(zip(names, numbers, strict=False)), **settings)


@cache
def unit_of(config: MatRaptorConfig) -> NativeSimulation:
    return NativeSimulation(emit_component(ProcessingElementUnit(config), name="element"))


def check(config: MatRaptorConfig, jobs: Sequence[Sequence[Row]], pauses: Pauses) -> Outcome:
    rng = np.random.default_rng(11)
    unit = unit_of(config)
    unit.reset()
    given = joined([tokens(rows, rng) for rows in jobs])
    return Outcome(unit, given, [expected(config, rows) for rows in jobs], pauses)


QUEUES = slow_but(
    ["3 of 4"],
    ["3 of 4", "4 of 9", "5 of 16", "10 of 16", "16 of 64", "4 of 9 in 3 with 4", "3 of 8 in 4"],
    ["4 of 9", "10 of 16", "4 of 9 in 3 with 4"],
)


@pytest.mark.parametrize("queues", QUEUES)
@pytest.mark.parametrize("pauses", slow_but(PAUSES[:2], PAUSES), ids=lambda p: f"{p.gap}-{p.stall}")
def test_rows_of_many_shapes(queues: str, pauses: Pauses) -> None:
    """Rows without entries, with fewer partial rows than queues, and with many more."""
    config = sized(queues)
    count, depth = config.queues, config.queue_depth
    rng = np.random.default_rng(21)
    jobs = [
        random_rows(config, rng, cases(600) // 6, width=depth, parts=3 * count) for _ in range(6)
    ]
    check(config, jobs, pauses)


@pytest.mark.parametrize("adder", slow_but([], [1, 2, 3, 4], [2]))
def test_any_latency(adder: int) -> None:
    multiplier = 1 + adder % 4
    config = config_of(
        queues=4, semiring="addnorm", adder_stages=adder, multiplier_stages=multiplier
    )
    rng = np.random.default_rng(22)
    for pauses in PAUSES:
        check(config, [random_rows(config, rng, cases(300), width=8, parts=12)], pauses)


KINDS = {
    "mma": "fp32",
    "minplus": "int32",
    "maxplus": "bf16",
    "minmul": "int32",
    "maxmul": "fp64",
    "minmax": "fp16",
    "maxmin": "bf16",
    "orand": "fp16",
    "addnorm": "fp64",
}
"""Every semiring, and every format among them; ``test_operators`` has all pairs."""


@pytest.mark.parametrize("semiring", slow_but([], SEMIRINGS, ["maxplus", "addnorm"]))
def test_semirings(semiring: str) -> None:
    config = config_of(queues=4, semiring=semiring, value=KINDS[semiring])
    rng = np.random.default_rng(24)
    check(config, [random_rows(config, rng, cases(300), width=8, parts=12)], PAUSES[1])


def phases(config: MatRaptorConfig, rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Entries that move in phase I and in phase II of each row, at least the token of its end."""
    found = []
    for row in rows:
        job = expected(config, [row])
        appended = sum(len(part.columns) for part in row[: config.queues - 1])
        found.append((max(1, appended + job.merge_steps), max(1, len(job.rows[0][0]))))
    return found


def test_appending_takes_a_product_per_cycle() -> None:
    config = config_of(queues=10, queue_depth=16)
    rows = shaped_rows(config, np.random.default_rng(31), [[16] * 9], 200)
    outcome = check(config, [rows], PAUSES[0])
    first, last = outcome.run.input_cycles[0], outcome.run.input_cycles[9 * 16 - 1]
    assert last - first == 9 * 16 - 1
    assert outcome.counts(0)["merge_wait"] == 0


def test_phase_2_gives_an_entry_per_cycle() -> None:
    config = config_of(queues=10, queue_depth=16)
    rows = shaped_rows(config, np.random.default_rng(32), [[16] * 9], 60)
    outcome = check(config, [rows], PAUSES[0])
    count = int(outcome.ends[0])
    times = outcome.run.output_cycles[:count]
    assert times[-1] - times[0] == count - 1


@pytest.mark.parametrize(("length", "width"), [(1, 1), (1, 16), (2, 16), (6, 16), (14, 16)])
def test_merging_moves_an_entry_per_cycle(length: int, width: int) -> None:
    """Merging loses no cycle between partial rows, except to wait for entries still in the
    adder."""
    config = config_of(queues=10, queue_depth=16)
    rng = np.random.default_rng(33)
    rows = shaped_rows(config, rng, [[length] * 200], width)
    outcome = check(config, [rows], PAUSES[0])
    (work,) = phases(config, rows)
    counts = outcome.counts(0)
    latency = config.multiplier_stages + 1 + 4 * config.adder_stages
    # The last sum's way into its queue.
    handover = config.adder_stages + 3
    # If all queues stay alike, the one to be merged was written eight merges before.
    assert width > 1 or counts["merge_wait"] == 0
    assert outcome.cycles() <= sum(work) + counts["merge_wait"] + latency + handover


def test_long_rows_overlap() -> None:
    """Both sets of queues work at the same time: a row takes its longer phase and a few cycles."""
    config = config_of(queues=10, queue_depth=16)
    rng = np.random.default_rng(34)
    rows = shaped_rows(config, rng, [[12] * 9 for _ in range(30)], 100)
    outcome = check(config, [rows], PAUSES[0])
    work = phases(config, rows)
    bound = work[0][0] + sum(max(a[1], b[0]) for a, b in pairwise(work))
    bound += work[-1][1]
    assert outcome.cycles() <= bound + 3 * len(rows) + 40


@pytest.mark.parametrize(("lengths", "most"), [([], 1.1), ([1], 2.1), ([1, 1], 2.6), ([3, 2], 5.6)])
def test_short_rows_cost_little(lengths: list[int], most: float) -> None:
    """Cycles for each of many rows alike."""
    config = config_of(queues=10, queue_depth=16)
    rng = np.random.default_rng(35)
    rows = shaped_rows(config, rng, [lengths] * 400, 16)
    outcome = check(config, [rows], PAUSES[0])
    assert outcome.cycles() <= most * len(rows) + 40


def _broken(config: MatRaptorConfig, rng: np.random.Generator, kind: str, count: int) -> list[Row]:
    """Returns rows, the last but one of which has a fault."""
    width = config.queue_depth // 2
    rows = random_rows(config, rng, count, width=width, parts=2 * config.queues)
    if kind == "unsorted":
        part = shaped_rows(config, rng, [[width]], width)[0][0]
        columns = part.columns.copy()
        columns[1] = columns[0] - int(rng.integers(0, 2)) * int(columns[0] > 0)
        fault: Row = [*rows[-2], PartialRow(columns, part.a, part.b)]
    elif kind == "append":
        fault = shaped_rows(config, rng, [[config.queue_depth + 1]], 40)[0]
    else:
        # Merges of ever longer lists without common columns.
        fault = shaped_rows(config, rng, [[config.queue_depth - 1] * (2 * config.queues)], 4000)[0]
    return [*rows[:-2], fault, rows[-1]]


SMALL = slow_but(["3 of 4"], ["3 of 4", "5 of 16", "4 of 9 in 3 with 4"], ["4 of 9 in 3 with 4"])


@pytest.mark.parametrize("queues", SMALL)
@pytest.mark.parametrize("kind", ["unsorted", "append", "merge"])
def test_errors_end_a_job(kind: str, queues: str) -> None:
    """Every row before the fault leaves, none after it, and the next job is none the worse."""
    config = sized(queues)
    rng = np.random.default_rng(41)
    jobs = []
    for count in rng.integers(2, 20, cases(200)):
        jobs.append(_broken(config, rng, kind, int(count)))
        jobs.append(random_rows(config, rng, 3, width=8, parts=6))
    outcome = check(config, jobs, Pauses(seed=42, gap=0.1, stall=0.2))
    name = "unsorted" if kind == "unsorted" else "overflow"
    assert all(outcome.fields[name][outcome.ends[::2]] == 1)


def test_a_queue_takes_its_depth_and_no_more() -> None:
    config = sized("3 of 4")
    rng = np.random.default_rng(43)
    full = shaped_rows(config, rng, [[4, 4]], 9)[0]
    one = np.array([3], np.int64)
    # The third partial row is merged with the first queue: with four entries, it fits only if it
    # has no column of its own.
    part = PartialRow(np.arange(4, dtype=np.int64), full[0].a, full[0].b)
    fits = [part, full[1], PartialRow(one, part.a[:1], part.b[:1])]
    passes = [part, full[1], PartialRow(one + 1, part.a[:1], part.b[:1])]
    outcome = check(config, [[fits], [passes], [fits, passes]], PAUSES[0])
    assert outcome.fields["overflow"][outcome.ends].tolist() == [0, 1, 1]
    assert outcome.fields["row"][outcome.ends[-1] - 1] == 0


@pytest.mark.parametrize("queues", SMALL)
@pytest.mark.parametrize("pauses", PAUSES[:2], ids=lambda p: f"{p.gap}-{p.stall}")
def test_a_stop_in_the_middle(pauses: Pauses, queues: str) -> None:
    """A job is cut off anywhere, errors included; the next one is computed as if alone."""
    config = sized(queues)
    rng = np.random.default_rng(44)
    given, jobs = [], []
    for n in range(cases(400)):
        rows = random_rows(config, rng, 6, width=8, parts=12)
        if n % 3 == 0:
            rows = _broken(config, rng, "merge", 4)
        cut = tokens(rows, rng, mute=1)
        cut["lane_last"][:] = 0
        length = int(rng.integers(0, len(cut["row"])))
        cut = {name: values[: length + 1].copy() for name, values in cut.items()}
        cut["stop"][-1] = 1
        rows = random_rows(config, rng, 2, width=8, parts=12)
        given += [cut, tokens(rows, rng)]
        jobs.append(expected(config, rows))
    unit = unit_of(config)
    unit.reset()
    Outcome(unit, joined(given), jobs, pauses)


@pytest.mark.parametrize("queues", slow_but([], ["3 of 16", "4 of 16", "10 of 16"]))
def test_the_models_agree(queues: str) -> None:
    """The rules in plain terms and the golden model of the accelerator."""
    config = sized(queues, index_bits=32)
    rng = np.random.default_rng(51)
    shapes = [rng.integers(1, 13, rng.integers(0, 30)).tolist() for _ in range(cases(500))]
    rows = shaped_rows(config, rng, shapes, 16)
    parts = [part for row in rows for part in row]
    left = CsrPatterns(
        starts_of(np.array([len(row) for row in rows])),
        np.arange(len(parts)),
        np.array([part.a[0] for part in parts], np.uint64),
    )
    right = CsrPatterns(
        starts_of(np.array([len(part.columns) for part in parts])),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.b for part in parts]),
    )
    a = from_patterns(left, (len(rows), len(parts)), config.layout)
    b = from_patterns(right, (len(parts), 16), config.layout)
    model = spgemm(config, a, b)
    assert model.c is not None
    found = model.c.patterns()
    job = expected(config, rows)
    assert np.array_equal(np.diff(found.starts), [len(columns) for columns, _ in job.rows])
    assert np.array_equal(found.columns, np.concatenate([columns for columns, _ in job.rows]))
    assert np.array_equal(found.values, np.concatenate([values for _, values in job.rows]))
    assert model.statistics.merge_steps == job.merge_steps
