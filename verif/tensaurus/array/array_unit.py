"""The compute array as a unit of streams, which jobs, operands and slots go into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.array.compute_array import ComputeArray
from tilewright.hw.tensaurus.array.row import ROW_EVENTS
from tilewright.hw.tensaurus.layouts import (
    drain_layout,
    job_layout,
    slot_layout,
    tile_token_layout,
)
from tilewright.sim.numbers.semirings import combine, product

Patterns = npt.NDArray[np.uint64]
Entry = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Slice:
    """A slice's entries: indices of modes 1, 2, ..., and the value, in the order of the stream."""

    number: int
    entries: Sequence[Entry]


@dataclass(frozen=True, kw_only=True)
class Operands:
    """A job, and its operands by mode, less 1: (rows, vectors, values) or (rows, scalars)."""

    kernel: str
    order: int
    vectors: int = 1
    scalars: tuple[int, int] = (1, 1)
    dense: list[Patterns] = field(default_factory=list)


def _widened(config: TensaurusConfig, values: npt.ArrayLike) -> Patterns:
    """Operands in the format of the sums."""
    found = np.asarray(values, np.uint64)
    if isinstance(config.format, FloatFormat) or config.sum_format == config.format:
        return found
    sign = np.uint64(1 << (config.format.bits - 1))
    more = np.uint64((1 << config.sum_format.bits) - (1 << config.format.bits))
    return np.where(found & sign != 0, found | more, found)


def _group_sum(config: TensaurusConfig, summands: Sequence[Patterns]) -> Patterns:
    """The sum of summands of so many vectors each."""
    count = config.partial_sums(len(summands[0]))
    sums: list[Patterns] = []
    for n, summand in enumerate(summands):
        if n < count:
            sums.append(summand)
        else:
            sums[n % count] = combine(config.operators, sums[n % count], summand, config.sum_format)
    while len(sums) > 1:
        pairs = [
            combine(config.operators, sums[n], sums[n + 1], config.sum_format)
            for n in range(0, len(sums) - 1, 2)
        ]
        sums = pairs + sums[len(pairs) * 2 :]
    return sums[0]


def slice_sum(config: TensaurusConfig, job: Operands, one: Slice) -> Patterns:
    """Returns the contribution of a slice with entries to the output: (vectors, values)."""

    def times(a: npt.ArrayLike, b: npt.ArrayLike) -> Patterns:
        return product(config.operators, a, b, config.sum_format, config.sum_format)

    def row(mode: int, index: int) -> Patterns:
        return _widened(config, job.dense[mode - 1][index])

    def innermost(entries: Sequence[Entry]) -> list[Patterns]:
        operand: Callable[[int], Patterns] = lambda k: row(job.order - 1, k)  # noqa: E731
        return [times(_widened(config, a), operand(index[-1])) for index, a in entries]

    def fiber(entries: Sequence[Entry], mode: int) -> list[Patterns]:
        """The summands of the sum over a mode, of entries that agree in all modes before."""
        if mode == job.order - 1:
            return innermost(entries)
        found = []
        for index, inner in groupby(entries, key=lambda e: e[0][mode - 1]):
            total = _group_sum(config, fiber(list(inner), mode + 1))
            operand = row(mode, index)
            if job.kernel == "mttkrp":
                found.append(times(total, operand))
            else:
                found.append(np.concatenate([times(total, scalar) for scalar in operand]))
        return found

    return _group_sum(config, fiber(list(one.entries), 1))


class ArrayUnit(wiring.Component):
    """The array, with registers for its inputs that are not streams.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    job: stream: the job; with ``mute``, what leaves is dropped; with ``clear``, the array is
      cleared as well
    write: stream: a unit, or (``scalar``) a vector of scalars
    slots, tiles: streams, see :class:`ComputeArray`
    open: stream: a tile is opened
    o: stream of vectors that leave, of all columns; its ready is never 0 while it is used
    query: stream: asks for the counts
    counts: stream: events of all rows since the job came, pulses, and the cycles in which the first
      and the last product were carried out
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        job = {name: field.shape for name, field in job_layout(config)}
        drain = {name: field.shape for name, field in drain_layout(config)}
        del drain["valid"]
        values = config.unit_values
        write = {
            "scalar": 1,
            "side": 1,
            "address": 32,
            "data": data.ArrayLayout(config.format.bits, values),
        }
        counts = dict.fromkeys((*ROW_EVENTS, "row_done", "drained", "first", "last", "quiet"), 32)
        super().__init__(
            {
                "job": In(stream.Signature(data.StructLayout({**job, "mute": 1, "clear": 1}))),
                "write": In(stream.Signature(data.StructLayout(write))),
                "slots": In(stream.Signature(slot_layout(config))).array(config.rows),
                "tiles": In(stream.Signature(tile_token_layout(config))),
                "open": In(stream.Signature(1)),
                "o": Out(
                    stream.Signature(
                        data.StructLayout(
                            {**drain, "data": data.ArrayLayout(config.sum_format.bits, values)}
                        )
                    )
                ),
                "query": In(stream.Signature(1)),
                "counts": Out(stream.Signature(data.StructLayout(counts))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.array = array = ComputeArray(config)
        mute = Signal()
        job = self.job.payload
        m.d.comb += self.job.ready.eq(1)
        m.d.sync += array.clear.eq(self.job.valid & job.clear)
        with m.If(self.job.valid):
            m.d.sync += [Value.cast(array.job[name]).eq(Value.cast(job[name]))
                         for name, _ in job_layout(config)]  # fmt: skip
            m.d.sync += mute.eq(job.mute)
        for r in range(config.rows):
            wiring.connect(m, wiring.flipped(self.slots[r]), array.slots[r])
        wiring.connect(m, wiring.flipped(self.tiles), array.tiles)
        write = self.write.payload
        m.d.comb += [
            self.write.ready.eq(1),
            self.open.ready.eq(1),
            array.open.eq(self.open.valid),
            array.unit_write.enable.eq(self.write.valid & ~write.scalar),
            array.scalar_write.enable.eq(self.write.valid & write.scalar),
        ]
        for port in (array.unit_write, array.scalar_write):
            m.d.comb += [
                port.side.eq(write.side),
                port.address.eq(write.address),
                port.data.eq(write.data.as_value()),
            ]
        self._drain(m, array, mute)
        self._counts(m, array)
        return m

    def _drain(self, m: Module, array: ComputeArray, mute: Signal) -> None:
        """Columns come one after the other: the first ones wait."""
        config = self._config

        def later(value: Value, cycles: int, name: str) -> Value:
            for n in range(cycles):
                following = Signal.like(value, name=f"{name}_{n}")
                m.d.sync += following.eq(value)
                value = following
            return value

        shown = Signal(drain_layout(config), name="shown")
        m.d.comb += [shown.eq(array.drain), shown.valid.eq(array.drain.valid & ~mute)]
        head = later(shown.as_value(), config.cols - 1, "head")
        drain = data.View(drain_layout(config), head)
        columns = [
            later(Value.cast(array.drain_data[c]), config.cols - 1 - c, f"column_{c}")
            for c in range(config.cols)
        ]
        m.d.comb += [
            self.o.valid.eq(drain.valid),
            self.o.payload.slice.eq(drain.slice),
            self.o.payload.vector.eq(drain.vector),
            self.o.payload.data.eq(Cat(*columns)),
        ]

    def _counts(self, m: Module, array: ComputeArray) -> None:
        shown = self.counts.payload
        cycle = Signal(32)
        begun = Signal()
        for name in (*ROW_EVENTS, "row_done", "drained"):
            count = Signal(32, name=f"count_{name}")
            bits = getattr(array, name)
            m.d.sync += count.eq(
                Mux(self.job.valid, 0, count + sum(bits[r] for r in range(self._config.rows)))
            )
            m.d.comb += shown[name].eq(count)
        first, last = Signal(32), Signal(32)
        m.d.sync += cycle.eq(cycle + 1)
        with m.If(array.products.any()):
            m.d.sync += [begun.eq(1), last.eq(cycle)]
            with m.If(~begun):
                m.d.sync += first.eq(cycle)
        with m.If(self.job.valid):
            m.d.sync += begun.eq(0)
        quiet = Signal()
        with m.If(self.query.valid & self.query.ready):
            m.d.sync += quiet.eq(array.quiet)
        asked = Signal()
        m.d.sync += asked.eq(self.query.valid | (asked & ~self.counts.ready))
        m.d.comb += [
            self.query.ready.eq(~asked),
            self.counts.valid.eq(asked),
            shown.first.eq(first),
            shown.last.eq(last),
            shown.quiet.eq(quiet),
        ]
