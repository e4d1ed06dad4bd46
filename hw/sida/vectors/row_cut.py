"""Rows of a vector out of the lines that have them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...spec.sida import SidaConfig
from ...stream.output_register import OutputRegister
from ..elementwise.layouts import row_layout

__all__ = ["RowCut", "cut_row_layout", "line_rows", "rows_layout"]


def line_rows(config: SidaConfig) -> int:
    """Rows of a line; 1 if a row has a line or more."""
    return max(1, config.line_bytes * 8 // (config.pes * config.format.bits))


def rows_layout(config: SidaConfig) -> data.StructLayout:
    """Rows that follow each other: ``first`` and ``final``, the places of the first and the last
    one in their lines; ``tail``: elements of the last one, 0 if it has all; ``whole`` goes
    along."""
    place = range(max(2, line_rows(config)))
    return data.StructLayout(
        {"first": place, "final": place, "tail": (config.pes - 1).bit_length(), "whole": 1}
    )


def cut_row_layout(config: SidaConfig) -> data.StructLayout:
    """A ``row``, whose base is counted from the first of its run; ``last`` of that; ``whole``: as
    was given."""
    return data.StructLayout({"row": row_layout(config), "last": 1, "whole": 1})


class RowCut(wiring.Component):
    """Cuts lines into rows, or joins lines into rows.

    A row or a line per cycle, whichever is smaller. Latency one cycle; no cycle is lost between
    runs.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    runs: see :func:`rows_layout`; taken with its last row
    lines: those of the runs, ``last`` with each run's last one. A last row of several lines may end
        with any of them
    o: see :func:`cut_row_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "runs": In(stream.Signature(rows_layout(config))),
                "lines": In(stream.Signature(data_layout(8 * config.line_bytes))),
                "o": Out(stream.Signature(cut_row_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.cut = cut = OutputRegister(cut_row_layout(config), clearable=True)
        wiring.connect(m, cut.o, wiring.flipped(self.o))
        run, row = self.runs.payload, cut.i.payload.row
        there = Signal()
        takes = Signal()
        ends = Signal()
        m.d.comb += [there.eq(self.runs.valid & self.lines.valid), takes.eq(there & cut.i.ready)]
        parts = line_rows(config)
        if parts > 1:
            values = self._cut(m, parts, takes, ends)
            m.d.comb += cut.i.valid.eq(there)
        else:
            values = self._join(m, there, cut, ends)
        base = Signal(len(row.base))
        full = ~ends | (run.tail == 0)
        with m.If(self.clear | (cut.i.valid & cut.i.ready & ends)):
            m.d.sync += base.eq(0)
        with m.Elif(cut.i.valid & cut.i.ready):
            m.d.sync += base.eq(base + config.pes)
        m.d.comb += [
            self.runs.ready.eq(cut.i.valid & cut.i.ready & ends),
            cut.clear.eq(self.clear),
            cut.i.payload.last.eq(ends),
            cut.i.payload.whole.eq(run.whole),
            row.base.eq(base),
            row.mask.eq(Cat(*(full | (run.tail > n) for n in range(config.pes - 1)), full)),
            row["values"].as_value().eq(values),
        ]
        return m

    def _cut(self, m: Module, parts: int, takes: Value, ends: Signal) -> Value:
        """Cuts the rows of a line one after the other; returns the fields of the row."""
        run, line = self.runs.payload, self.lines.payload
        place = Signal(range(parts))
        next_place = Signal(range(parts))
        within = Signal()
        m.d.comb += [
            place.eq(Mux(within, next_place, run.first)),
            ends.eq(line.last & (place == run.final)),
            self.lines.ready.eq(takes & (ends | (place == parts - 1))),
        ]
        with m.If(takes):
            m.d.sync += [within.eq(~ends), next_place.eq(place + 1)]
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        bits = 8 * self._config.line_bytes // parts
        return line.data.word_select(place, bits)

    def _join(self, m: Module, there: Value, cut: OutputRegister, ends: Signal) -> Value:
        """Lines of a row, kept until the last one comes; returns what the row has."""
        config, line = self._config, self.lines.payload
        bits = 8 * config.line_bytes
        count = config.pes * config.format.bits // bits
        place = Signal(range(count))
        complete = Signal()
        m.d.comb += [
            complete.eq(line.last | (place == count - 1)),
            ends.eq(line.last),
            cut.i.valid.eq(there & complete),
            self.lines.ready.eq(there & (cut.i.ready | ~complete)),
        ]
        with m.If(self.clear):
            m.d.sync += place.eq(0)
        with m.Elif(self.lines.valid & self.lines.ready):
            m.d.sync += place.eq(Mux(complete, 0, place + 1))
        found = []
        for number in range(count - 1):
            kept = Signal(bits, name=f"line_{number}", reset_less=True)
            with m.If(place == number):
                m.d.sync += kept.eq(line.data)
            found.append(Mux(place == number, line.data, kept))
        return Cat(*found, line.data)
