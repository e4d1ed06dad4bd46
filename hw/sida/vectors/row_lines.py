"""Rows of vectors to what of them is written at once."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout
from ...spec.elementwise.instructions import VECTORS
from ...spec.sida import SidaConfig
from ...stream.stream_registers import OutputRegister
from ..elementwise.layouts import row_layout, values_layout
from ..layouts import count_bits
from .window_layouts import STORED_KINDS, SUMS


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
        self.config: Final = config
        super().__init__(
            {
                "runs": In(stream.Signature(rows_layout(config))),
                "lines": In(stream.Signature(data_layout(8 * config.line_bytes))),
                "o": Out(stream.Signature(cut_row_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
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
        bits = 8 * self.config.line_bytes // parts
        return line.data.word_select(place, bits)

    def _join(self, m: Module, there: Value, cut: OutputRegister, ends: Signal) -> Value:
        """Lines of a row, kept until the last one comes; returns what the row has."""
        config, line = self.config, self.lines.payload
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


def placed_row_layout(config: SidaConfig) -> data.StructLayout:
    """``values`` from element ``base`` on of a vector that has ``columns`` elements and begins at
    address ``origin``; ``slot``: which one it is of those that come at a time; where vectors are in
    memory, of what ``kind``."""
    return data.StructLayout(
        {
            "slot": range(slots(config)),
            "origin": config.addr_bits,
            "columns": count_bits(config),
            "base": count_bits(config),
            "values": values_layout(config),
            **_kind(config),
        }
    )


def slots(config: SidaConfig) -> int:
    """Vectors whose rows come at a time: the program's; one more where vectors are in memory."""
    return VECTORS + config.windowed


def _kind(config: SidaConfig) -> dict[str, ShapeLike]:
    return {"kind": range(STORED_KINDS)} if config.windowed else {}


def piece_layout(config: SidaConfig) -> data.StructLayout:
    """``bytes`` of a vector, at least 1, from ``address`` on, a multiple of a line: the first of
    ``data``; of what ``kind``, where vectors are in memory."""
    size = config.piece_bytes
    extent = {"address": config.addr_bits, "bytes": range(size + 1), "data": 8 * size}
    return data.StructLayout({**extent, **_kind(config)})


class RowJoin(wiring.Component):
    """Joins rows smaller than a line into lines, vector by vector.

    A line leaves with the last of its rows, or of its vector. Rows as large as a line leave
    unchanged.

    The rows of a vector come ascending, from the first one on; some that came last may come again,
    and what is written then has them as they are now. A row of w, where that is in memory, comes as
    the last one of its line, which has nothing else, and is at all places of it. A row a cycle;
    latency two cycles.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    i: see :func:`placed_row_layout`
    o: see :func:`piece_layout`
    clear: in; forgets everything at the end of the cycle, so that vectors begin again
    busy: out; something is on its way to ``o``
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(placed_row_layout(config))),
                "o": Out(stream.Signature(piece_layout(config))),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        parts = line_rows(config)
        lane_bits = config.pes.bit_length() - 1
        piece_bits = lane_bits + parts.bit_length() - 1
        m.submodules.row = row = OutputRegister(placed_row_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.i), row.i)
        kind = tuple(_kind(config))
        extent = {name: self.o.payload[name].shape() for name in ("address", "bytes", *kind)}
        m.submodules.piece = piece = OutputRegister(
            data.StructLayout(
                {**extent, "place": range(max(2, parts)), "values": values_layout(config)}
            ),
            clearable=True,
        )
        source, made = row.o.payload, piece.i.payload
        place = Signal(range(max(2, parts)))
        begin = Signal(count_bits(config))
        ends = Signal()
        leaves = Signal()
        shift = (config.format.bits // 8).bit_length() - 1
        behind = (source.columns - begin)[: len(begin)]
        m.d.comb += [
            place.eq(source.base[lane_bits:piece_bits]),
            begin.eq(source.base[piece_bits:].shift_left(piece_bits)),
            ends.eq(source.base + config.pes >= source.columns),
            leaves.eq(ends | (place == parts - 1)),
            row.clear.eq(self.clear),
            piece.clear.eq(self.clear),
            piece.i.valid.eq(row.o.valid & leaves),
            row.o.ready.eq(piece.i.ready | ~leaves),
            made.address.eq(source.origin + begin.shift_left(shift)),
            made.bytes.eq(Mux(ends, behind.shift_left(shift), config.piece_bytes)),
            made.place.eq(place),
            made["values"].eq(source["values"]),
            self.busy.eq(row.o.valid | piece.o.valid),
        ]
        held = self._hold(m, row, piece, place, parts) if parts > 1 else None
        found = piece.o.payload
        values = found["values"].as_value()
        whole: Value = values
        if held is not None:
            alone = [found.kind == SUMS] if kind else []
            whole = Cat(
                Mux(
                    reduce(or_, alone, found.place == number),
                    values,
                    held.word_select(number, len(values)),
                )
                for number in range(parts)
            )
        m.d.comb += [
            self.o.valid.eq(piece.o.valid),
            piece.o.ready.eq(self.o.ready),
            self.o.payload.address.eq(found.address),
            self.o.payload.bytes.eq(found.bytes),
            self.o.payload.data.eq(whole),
            *(self.o.payload[name].eq(found[name]) for name in kind),
            *(made[name].eq(source[name]) for name in kind),
        ]
        return m

    def _hold(
        self, m: Module, row: OutputRegister, piece: OutputRegister, place: Value, parts: int
    ) -> Value:
        """Holds the rows of a line that arrived before, in a word for each vector.

        Returns the rows of the piece at the output.
        """
        bits = self.config.pes * self.config.format.bits
        m.submodules.held = held = Memory(shape=parts * bits, depth=slots(self.config), init=[])
        write = held.write_port(granularity=bits)
        read = held.read_port()
        source = row.o.payload
        m.d.comb += [
            write.addr.eq(source.slot),
            write.data.eq(source["values"].as_value().replicate(parts)),
            read.addr.eq(source.slot),
            read.en.eq(piece.i.valid & piece.i.ready),
        ]
        for number in range(parts):
            m.d.comb += write.en[number].eq(row.o.valid & row.o.ready & (place == number))
        return read.data
