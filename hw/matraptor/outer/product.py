"""The outer-product mode of a processing element."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ..layouts import (
    direct_layout,
    entry_layout,
    job_layout,
    outer_layout,
    partial_layout,
    product_layout,
    result_layout,
    row_layout,
)
from ..row_walk import RowWalk
from .drain import OuterDrain
from .replay import BUFFERS, RowReplay
from .sums import OuterSums

__all__ = ["OuterProduct"]


class OuterProduct(wiring.Component):
    """Sums outer products of the lane's part of A's columns and the rows of B in the memories of
    the processing element's queues, then sends the sums as rows of C.

    The first ``accumulator_banks`` memories hold the sums, the last two rows of B. At ``start`` the
    banks' lines that will be used are cleared, a line of all banks a cycle.

    Source: MatRaptor, sections on the outer product and on future work: its second mode.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, pulse: a job of this mode begins
    job, lane, rows_in_lane: in; constant from ``start`` on
    i, columns: rows of B and what they are multiplied by, see :class:`RowReplay`
    products, partials: out, in; to and from the multiplier, see :func:`product_layout` and
        :func:`partial_layout`
    o: rows of C, see :func:`result_layout`
    memories: out; of each memory, see :func:`direct_layout`
    heads: in; what they have read
    stop: in; drops everything; afterwards all is as after a reset
    overflow, index_error, unsorted: out; see ``ERRORS``, held until ``stop``
    error_row: out; with an error; of an overflow alone the first row of C that has no room,
        otherwise the row of A as it is stored
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        memories = 2 * config.queues
        errors = ("overflow", "index_error", "unsorted")
        super().__init__(
            {
                "start": In(1),
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                "rows_in_lane": In(32),
                "i": In(stream.Signature(product_layout(config))),
                "columns": In(stream.Signature(outer_layout(config))),
                "products": Out(stream.Signature(product_layout(config))),
                "partials": In(stream.Signature(partial_layout(config))),
                "o": Out(stream.Signature(result_layout(config))),
                "memories": Out(data.ArrayLayout(direct_layout(config), memories)),
                "heads": In(data.ArrayLayout(entry_layout(config), memories)),
                "stop": In(1),
                **{name: Out(1) for name in errors},
                "error_row": Out(row_layout(config)),
            }
        )

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.replay = replay = RowReplay(config)
        m.submodules.sums = sums = OuterSums(config)
        m.submodules.drain = drain = OuterDrain(config)
        m.submodules.walk = walk = RowWalk(config)
        wiring.connect(m, wiring.flipped(self.i), replay.i)
        wiring.connect(m, wiring.flipped(self.columns), replay.columns)
        wiring.connect(m, replay.o, wiring.flipped(self.products))
        wiring.connect(m, wiring.flipped(self.partials), sums.i)
        wiring.connect(m, drain.o, wiring.flipped(self.o))
        bank_bits = config.accumulator_banks.bit_length() - 1
        last_column = Signal(range(config.queue_depth))
        lines = Signal(range(config.queue_depth + 1))
        m.d.comb += [
            last_column.eq(self.job.columns - 1),
            lines.eq(last_column.shift_right(bank_bits) + 1),
            replay.last_column.eq(last_column),
            sums.lines.eq(lines),
            drain.lines.eq(lines),
            walk.lane.eq(self.lane),
            walk.rows.eq(self.job.rows),
            walk.rows_in_lane.eq(self.rows_in_lane),
            drain.rows.payload.eq(walk.o.payload),
            self.index_error.eq(replay.index_error),
            self.unsorted.eq(replay.unsorted),
        ]
        for part in (replay, sums, drain, walk):
            m.d.comb += part.clear.eq(self.stop)
        clears, line = self._run(m, lines=lines, sums=sums, drain=drain, walk=walk)
        lost = Signal(row_layout(config), reset_less=True)
        with m.If(~self.overflow):
            m.d.sync += lost.eq(walk.o.payload.row)
        of_b = self.index_error | self.unsorted
        m.d.comb += self.error_row.eq(Mux(of_b, replay.error_row, lost))
        self._banks(m, clears, line, sums, drain)
        for n in range(BUFFERS):
            number = 2 * config.queues - BUFFERS + n
            m.d.comb += [
                self.memories[number].eq(replay.memories[n]),
                replay.heads[n].eq(self.heads[number]),
            ]
        return m

    def _run(
        self, m: Module, *, lines: Value, sums: OuterSums, drain: OuterDrain, walk: RowWalk
    ) -> tuple[Value, Value]:
        """Clear, sum, drain; returns whether a line is cleared, and which."""
        depth = self._config.queue_depth
        line = Signal(range(depth + 1))
        left = Signal(range(depth + 1), reset_less=True)
        clears = Signal()
        fits = Signal()
        m.d.comb += fits.eq(line != depth)
        with m.FSM(name="control"):
            with m.State("idle"):
                m.d.sync += [line.eq(0), left.eq(lines)]
                with m.If(self.start):
                    m.d.comb += walk.start.eq(1)
                    m.next = "clear"
            with m.State("clear"):
                m.d.comb += [
                    clears.eq(walk.o.valid & fits & ~self.overflow),
                    walk.o.ready.eq(clears & (left == 1)),
                ]
                with m.If(clears):
                    m.d.sync += [line.eq(line + 1), left.eq(Mux(left == 1, lines, left - 1))]
                with m.If(walk.o.valid & ~fits):
                    m.d.sync += self.overflow.eq(1)
                with m.If(self.stop):
                    m.next = "idle"
                with m.Elif(~walk.o.valid):
                    m.next = "sum"
            with m.State("sum"):
                m.d.comb += [sums.able.eq(1), walk.start.eq(sums.ended)]
                with m.If(self.stop):
                    m.next = "idle"
                with m.Elif(sums.ended):
                    m.next = "drain"
            with m.State("drain"):
                m.d.comb += [
                    drain.able.eq(1),
                    drain.rows.valid.eq(walk.o.valid),
                    walk.o.ready.eq(drain.rows.ready),
                ]
                with m.If(drain.done | self.stop):
                    m.next = "idle"
        with m.If(self.stop):
            m.d.sync += self.overflow.eq(0)
        return clears, line

    def _banks(
        self, m: Module, clears: Value, line: Value, sums: OuterSums, drain: OuterDrain
    ) -> None:
        """The memories that hold sums."""
        banks = self._config.accumulator_banks
        m.d.comb += sums.head.eq(Array(self.heads[n] for n in range(banks))[sums.head_bank])
        for n in range(banks):
            memory, written = self.memories[n], sums.write_place
            m.d.comb += [
                drain.heads[n].eq(self.heads[n]),
                memory.write.eq(clears | (sums.write & (written.bank == n))),
                memory.write_address.eq(Mux(clears, line, written.line)),
                memory.entry.value.eq(sums.sum),
                memory.entry.column.eq(~clears),
                memory.read.eq(drain.read | (sums.read & (sums.read_place.bank == n))),
                memory.read_address.eq(Mux(drain.read, drain.line, sums.read_place.line)),
            ]
