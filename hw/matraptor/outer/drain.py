"""Outer products: a lane's sums as rows of C."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ...stream.skid_buffer import SkidBuffer
from ..layouts import entry_layout, result_layout, row_layout
from ..row_walk import walk_layout
from .columns import lane_row

__all__ = ["OuterDrain"]


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
        self._config = config
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

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.results = results = SkidBuffer(result_layout(config), clearable=True)
        wiring.connect(m, results.o, wiring.flipped(self.o))
        line = range(config.queue_depth)
        # The row at hand: what it is, its next line, how many lines there are behind the one shown.
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
        """Whether the first line of the next row is known, and which it is."""
        config = self._config
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
        """Whether the line shown has a sum that is still to be sent, whether only one, and the
        first one's bank."""
        banks = self._config.accumulator_banks
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
