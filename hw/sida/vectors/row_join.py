"""Rows of vectors to what of them is written at once."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.elementwise.instructions import VECTORS
from ...spec.sida import SidaConfig
from ...stream.output_register import OutputRegister
from ..elementwise.layouts import values_layout
from ..layouts import count_bits
from .row_cut import line_rows
from .window_layouts import STORED_KINDS, SUMS

__all__ = ["RowJoin", "piece_layout", "placed_row_layout"]


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
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(placed_row_layout(config))),
                "o": Out(stream.Signature(piece_layout(config))),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
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
        bits = self._config.pes * self._config.format.bits
        m.submodules.held = held = Memory(shape=parts * bits, depth=slots(self._config), init=[])
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
