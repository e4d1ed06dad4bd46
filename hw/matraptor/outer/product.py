"""The outer-product mode of a processing element."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ...stream.stream_registers import SkidBuffer
from ..control import RowWalk, walk_layout
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
from .replay import BUFFERS, RowReplay, lane_row
from .sums import OuterSums


class OuterDrain(wiring.Component):
    """Reads the lines of each row, in the order in which the lane's rows are written.

    A line is read in a cycle, from all banks at once; then a sum that has begun leaves per cycle.
    A line without one takes a cycle.

    Source: MatRaptor, sections on the outer product and on future work.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    rows: the lane's rows, see :func:`walk_layout`
    lines: in; of a row
    able: in; the banks may be used
    read, line: out; the line that is to be at ``heads`` in the next cycle
    heads: in; what the banks have read, until the next ``read``
    o: the rows' entries, see :func:`result_layout`
    done: out; the lane's last entry is with ``o``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "rows": In(stream.Signature(walk_layout(config))),
                "lines": In(range(config.queue_depth + 1)),
                "able": In(1),
                "read": Out(1),
                "line": Out(range(config.queue_depth)),
                "heads": In(data.ArrayLayout(entry_layout(config), config.accumulator_banks)),
                "o": Out(stream.Signature(result_layout(config))),
                "done": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.results = results = SkidBuffer(result_layout(config), clearable=True)
        wiring.connect(m, results.o, wiring.flipped(self.o))
        line = range(config.queue_depth)
        # Current row: its number, its next line, and the lines that follow the one shown.
        row = Signal(row_layout(config), reset_less=True)
        lane_last = Signal(reset_less=True)
        next_line = Signal(line, reset_less=True)
        left = Signal(range(config.queue_depth + 1), reset_less=True)
        shown = Signal()
        line_ends = Signal()
        row_ends = Signal()
        row_last = Signal()
        begins = Signal()
        ready, first_line = self._begin(m, begins)
        some, last, bank = self._choose(m, results.i)
        token = results.i.payload
        bank_bits = len(bank)
        column = Signal(config.index_bits)
        m.d.comb += [
            results.clear.eq(self.clear),
            # The column of the shown line's first sum.
            column[bank_bits:].eq(self.lines - 1 - left),
            column[:bank_bits].eq(bank),
            line_ends.eq(shown & Mux(some, last & results.i.ready, (left != 0) | results.i.ready)),
            row_ends.eq(line_ends & (left == 0)),
            row_last.eq((left == 0) & (last | ~some)),
            results.i.valid.eq(shown & (some | (left == 0))),
            token.value.eq(Array(head.value for head in self.heads)[bank]),
            token.column.eq(column),
            token.present.eq(some),
            token.row_last.eq(row_last),
            token.lane_last.eq(row_last & lane_last),
            token.row.eq(row),
            begins.eq(self.able & ready & (row_ends | ~shown)),
            self.rows.ready.eq(begins),
            self.read.eq(begins | (line_ends & (left != 0))),
            self.line.eq(Mux(begins, first_line, next_line)),
            self.done.eq(row_ends & lane_last),
        ]
        with m.If(begins):
            m.d.sync += [
                row.eq(self.rows.payload.row),
                lane_last.eq(self.rows.payload.last),
                left.eq(self.lines - 1),
            ]
        with m.Elif(line_ends):
            m.d.sync += left.eq(left - 1)
        with m.If(self.read):
            m.d.sync += next_line.eq(self.line + 1)
        with m.If(self.read | row_ends):
            m.d.sync += shown.eq(self.read)
        with m.If(self.clear):
            m.d.sync += shown.eq(0)
        return m

    def _begin(self, m: Module, begins: Value) -> tuple[Value, Value]:
        """Prepares the first line of the next row; returns whether it is known, and its number."""
        config = self.config
        ready = Signal()
        first_line = Signal(range(config.queue_depth), reset_less=True)
        walked = self.rows.payload
        number = lane_row(m, config, walked.row, begins, self.clear | (begins & walked.last))
        m.d.sync += [
            ready.eq(self.rows.valid & ~begins & ~self.clear),
            first_line.eq(number * self.lines),
        ]
        return ready, first_line

    def _choose(self, m: Module, sent: Any) -> tuple[Value, Value, Value]:
        """Returns whether the line shown has a sum that is still to be sent, whether it has only
        one, and the first one's bank."""
        banks = self.config.accumulator_banks
        fresh = Signal()
        remaining = Signal(banks, reset_less=True)
        begun = Signal(banks)
        present = Signal(banks)
        others = Signal(banks)
        bank = Signal(range(banks))
        m.d.comb += [
            begun.eq(Cat(head.column.any() for head in self.heads)),
            present.eq(Mux(fresh, begun, remaining)),
            # Without the lowest one.
            others.eq(present & (present - 1)),
        ]
        for n in reversed(range(banks)):
            with m.If(present[n]):
                m.d.comb += bank.eq(n)
        with m.If(self.read):
            m.d.sync += fresh.eq(1)
        with m.Elif(sent.valid & sent.ready):
            m.d.sync += [fresh.eq(0), remaining.eq(others)]
        return present.any(), ~others.any(), bank


class OuterProduct(wiring.Component):
    """Sums outer products of the lane's part of A's columns and the rows of B in the queue memories
    of the processing element, then sends the sums as rows of C.

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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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
        depth = self.config.queue_depth
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
        banks = self.config.accumulator_banks
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
