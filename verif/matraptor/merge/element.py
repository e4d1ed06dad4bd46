"""Plain model of a processing element, row by row, and rows as stimuli."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.matraptor.layouts import product_layout, result_layout, row_layout
from tilewright.hw.matraptor.merge.processing_element import ProcessingElement
from tilewright.hw.spec.formats import IntFormat
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.numbers.semirings import combine, product
from tilewright.verif.oracles import stimuli

COUNTS = ("multiplied", "merge_step", "merge_wait", "set_wait")
"""Outputs of a processing element that are counted."""

_QUIET = 64
"""Cycles without a result after which, behind an error, none comes any more."""


class ProcessingElementUnit(wiring.Component):
    """Runs jobs one after the other; each ends with a token of status, and with a stop.

    A job's last token has ``lane_last``; what follows it waits. After an error the rest of the job
    is swallowed. A ``stop`` token stops the element in the middle of a job, all of whose tokens
    were marked ``mute``: its results are dropped, and it has no status.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: products as fields of the layout, ``mute``, ``stop``
    o: results as fields of the layout; or ``status``, and then errors and counts
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        token = {name: field.shape for name, field in product_layout(config)}
        result = {name: field.shape for name, field in result_layout(config)}
        status = {"status": 1, "overflow": 1, "unsorted": 1, "error_row": row_layout(config)}
        counts = dict.fromkeys(COUNTS, 32)
        self._token = data.StructLayout({**token, "mute": 1, "stop": 1})
        super().__init__(
            {
                "i": In(stream.Signature(self._token)),
                "o": Out(stream.Signature(data.StructLayout({**result, **status, **counts}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.element = element = ProcessingElement(self._config)
        last_taken = Signal()
        muted = Signal()
        forward = Signal()
        quiet = Signal(range(_QUIET + 1))
        token, out = self.i.payload, self.o.payload
        for name, _ in product_layout(self._config):
            m.d.comb += Value.cast(element.i.payload[name]).eq(Value.cast(token[name]))
        for name, _ in result_layout(self._config):
            m.d.comb += Value.cast(out[name]).eq(Value.cast(element.o.payload[name]))
        counts = {name: Signal(32, name=f"count_{name}") for name in COUNTS}
        for name, count in counts.items():
            m.d.sync += count.eq(count + getattr(element, name))
            m.d.comb += out[name].eq(Mux(out.status, count, 0))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [last_taken.eq(token.lane_last), muted.eq(muted | token.mute)]
        m.d.comb += [
            out.overflow.eq(out.status & element.overflow),
            out.unsorted.eq(out.status & element.unsorted),
            out.error_row.eq(Mux(out.status, element.error_row.as_value(), 0)),
            forward.eq(element.o.valid & ~muted),
        ]
        failed = element.overflow | element.unsorted
        m.d.sync += quiet.eq(quiet + 1)
        with m.If(element.o.valid):
            m.d.sync += quiet.eq(0)
        with m.FSM(name="job"):
            with m.State("RUN"):
                stopping = self.i.valid & token.stop
                m.d.comb += [
                    element.i.valid.eq(self.i.valid & ~token.stop & ~last_taken),
                    self.i.ready.eq((token.stop | element.i.ready) & ~last_taken),
                    self.o.valid.eq(forward),
                    element.o.ready.eq(self.o.ready | muted),
                ]
                with m.If(stopping & ~last_taken):
                    m.next = "STOP"
                with m.Elif(failed):
                    m.d.sync += quiet.eq(0)
                    m.next = "FAILED"
                with m.Elif(forward & self.o.ready & element.o.payload.lane_last):
                    m.next = "STATUS"
            with m.State("FAILED"):
                m.d.comb += [
                    self.i.ready.eq(~last_taken),
                    self.o.valid.eq(forward),
                    element.o.ready.eq(self.o.ready | muted),
                ]
                with m.If(self.i.valid & token.stop & ~last_taken):
                    m.next = "STOP"
                with m.Elif(last_taken & (quiet == _QUIET)):
                    m.next = "STATUS"
                with m.If(quiet == _QUIET):
                    m.d.sync += quiet.eq(quiet)
            with m.State("STATUS"):
                m.d.comb += [self.o.valid.eq(1), out.status.eq(1)]
                with m.If(self.o.ready):
                    m.next = "STOP"
            with m.State("STOP"):
                m.d.comb += element.stop.eq(1)
                m.d.sync += [last_taken.eq(0), muted.eq(0)]
                m.d.sync += [count.eq(0) for count in counts.values()]
                m.next = "RUN"
        return m


Patterns = npt.NDArray[np.uint64]
Columns = npt.NDArray[np.int64]
Element = tuple[Columns, Patterns]
"""Entries of a queue: columns, values."""


@dataclass(frozen=True)
class PartialRow:
    """A row of B times a value of A: columns and the pairs of values."""

    columns: Columns
    a: Patterns
    b: Patterns


Row = Sequence[PartialRow]


@dataclass
class Job:
    """Result of the rows: entries of each completed row, and events.

    ``error``: "overflow" or "unsorted", in row ``error_row``; ``merge_steps``: entries moved in
    merges of phase I, up to the error.
    """

    rows: list[Element] = field(default_factory=list)
    error: str = ""
    error_row: int = 0
    merge_steps: int = 0
    products: int = 0


class _Overflow(Exception):
    """An entry has no place in a queue."""


def expected(config: MatRaptorConfig, rows: Sequence[Row]) -> Job:
    """The rows of C, and what stops the job."""
    job = Job()
    for i, row in enumerate(rows):
        if any((np.diff(part.columns) <= 0).any() for part in row):
            job.error, job.error_row = "unsorted", i
            return job
        try:
            queues = _fill(config, row, job)
        except _Overflow:
            job.error, job.error_row = "overflow", i
            return job
        job.products += sum(len(part.columns) for part in row)
        job.rows.append(_drain(config, queues))
    return job


def _fill(config: MatRaptorConfig, row: Row, job: Job) -> list[Element]:
    """Phase I: the queues, by number."""
    semiring, fmt = config.operators, config.format
    nothing: Element = (np.zeros(0, np.int64), np.zeros(0, np.uint64))
    queues = [nothing] * config.queues
    written = [-1] * config.queues
    helper = config.queues - 1
    for n, part in enumerate(row):
        values = product(semiring, part.a, part.b, fmt, fmt)
        if n < config.queues - 1:
            into = n
            queues[into] = (part.columns, values)
        else:
            primary = [q for q in range(config.queues) if q != helper]
            shortest = min(primary, key=lambda q: (len(queues[q][0]), written[q]))
            into = helper
            queues[into] = _join(config, queues[shortest], (part.columns, values))
            queues[shortest], helper = nothing, shortest
            job.merge_steps += len(queues[into][0])
        written[into] = n
        if len(queues[into][0]) > config.queue_depth:
            raise _Overflow
    return queues


def _join(config: MatRaptorConfig, queue: Element, products: Element) -> Element:
    """Merges two sorted lists; equal columns are summed with the queue's value on the left."""
    columns = np.union1d(queue[0], products[0])
    sides = [_spread(columns, side) for side in (queue, products)]
    return columns, _sum(config, *sides)


def _spread(columns: Columns, entries: Element) -> tuple[Patterns, npt.NDArray[np.bool_]]:
    """Spreads values to their positions among the columns, and marks the positions."""
    values = np.zeros(len(columns), np.uint64)
    present = np.isin(columns, entries[0])
    values[present] = entries[1]
    return values, present


def _sum(
    config: MatRaptorConfig,
    left: tuple[Patterns, npt.NDArray[np.bool_]],
    right: tuple[Patterns, npt.NDArray[np.bool_]],
) -> Patterns:
    total = combine(config.operators, left[0], right[0], config.format)
    return np.where(left[1] & right[1], total, np.where(left[1], left[0], right[0]))


def _drain(config: MatRaptorConfig, queues: list[Element]) -> Element:
    """Phase II: a tree over the queues by number, for all columns at once."""
    columns = np.unique(np.concatenate([queue[0] for queue in queues]))
    level = [_spread(columns, queue) for queue in queues]
    absent = (np.zeros(len(columns), np.uint64), np.zeros(len(columns), np.bool_))
    level += [absent] * ((1 << (len(queues) - 1).bit_length()) - len(queues))
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [(_sum(config, x, y), x[1] | y[1]) for x, y in pairs]
    return columns, level[0][0]


def _partial_row(
    config: MatRaptorConfig, rng: np.random.Generator, length: int, width: int
) -> PartialRow:
    columns = np.sort(rng.choice(width, length, replace=False)).astype(np.int64)
    top = (1 << config.index_bits) - 1
    # The same set of columns from either end of the range.
    if rng.random() < 0.2:
        columns = np.sort(top - columns)
    return _valued(config, rng, columns)


def _valued(config: MatRaptorConfig, rng: np.random.Generator, columns: Columns) -> PartialRow:
    words = np.stack([_patterns(config, rng, len(columns)) for _ in range(2)])
    return PartialRow(columns, np.repeat(words[0, :1], len(columns)), words[1])


def _patterns(config: MatRaptorConfig, rng: np.random.Generator, count: int) -> Patterns:
    """Values whose sums and products round and cancel; special ones and zeros among them."""
    fmt = config.format
    if isinstance(fmt, IntFormat):
        small = rng.integers(-100, 100, count).astype(np.uint64)
        words = rng.integers(0, 2**64, count, dtype=np.uint64)
        chosen = np.where(rng.random(count) < 0.5, small, words) & np.uint64((1 << fmt.bits) - 1)
    else:
        chosen = stimuli.values(rng, "moderate", (count,), fmt)
        special = rng.choice(stimuli.special_values(fmt), count)
        chosen = np.where(rng.random(count) < 0.02, special, chosen)
    chosen[rng.random(count) < 0.1] = 0
    return chosen


def random_rows(
    config: MatRaptorConfig, rng: np.random.Generator, count: int, *, width: int, parts: int
) -> list[Row]:
    """Draws rows of up to ``parts`` partial rows. Columns are below ``width`` and below half of a
    queue's entries, so no queue overflows."""
    rows: list[Row] = []
    width = min(width, config.queue_depth // 2)
    for _ in range(count):
        size = (0, 1, 2, int(rng.integers(0, parts + 1)))[rng.integers(4)]
        lengths = rng.integers(1, width + 1, size)
        rows.append([_partial_row(config, rng, int(n), width) for n in lengths])
    return rows


def shaped_rows(
    config: MatRaptorConfig, rng: np.random.Generator, shapes: Sequence[Sequence[int]], width: int
) -> list[Row]:
    """Draws rows of partial rows with the given lengths."""
    rows: list[Row] = []
    for lengths in shapes:
        chosen = [np.sort(rng.choice(width, n, replace=False)).astype(np.int64) for n in lengths]
        rows.append([_valued(config, rng, columns) for columns in chosen])
    return rows
