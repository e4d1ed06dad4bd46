"""The order in which the lines of a dense tensor are read."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ..layouts import tile_layout

__all__ = ["DenseWalk", "line_layout"]


def line_layout(config: TensaurusConfig) -> data.StructLayout:
    """A line of a slice: its ``address``, the ``bytes`` that the slice has of it, and the ``row``
    that it is for."""
    return data.StructLayout(
        {
            "address": config.addr_bits,
            "bytes": config.line_bytes.bit_length(),
            "row": range(max(2, config.rows)),
        }
    )


class DenseWalk(wiring.Component):
    """Walks through a tile: of the next ``rows`` slices a line each in turn, until they end, then
    of those behind them. A line a cycle; two cycles more for a tile.

    Members
    -------
    i: tiles
    o: see :func:`line_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(tile_layout(config))),
                "o": Out(stream.Signature(line_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, tile = self._config, self.i.payload
        value_bytes = config.format.bits // 8
        values = config.line_bytes // value_bytes
        active = Signal()
        # Slices from the first of these on; elements of each of them from this line on.
        slices = Signal(32, reset_less=True)
        elements = Signal(len(tile.elements), reset_less=True)
        # The first of these slices; this line of it; this line of the row's.
        group = Signal(config.addr_bits, reset_less=True)
        line = Signal(config.addr_bits, reset_less=True)
        address = Signal(config.addr_bits, reset_less=True)
        row = Signal(range(max(2, config.rows)))
        step = Signal(config.addr_bits, reset_less=True)
        last_row = Signal()
        last_line = Signal()
        last_group = Signal()
        next_line = Signal(config.addr_bits)
        m.d.comb += [
            last_row.eq((row == config.rows - 1) | (row + 1 == slices)),
            last_line.eq(elements <= values),
            last_group.eq(slices <= config.rows),
            next_line.eq(Mux(last_line, group + step, line + config.line_bytes)),
            self.o.valid.eq(active),
            self.o.payload.address.eq(address),
            self.o.payload.bytes.eq(Mux(last_line, elements * value_bytes, config.line_bytes)),
            self.o.payload.row.eq(row),
            self.i.ready.eq(self.o.valid & self.o.ready & last_row & last_line & last_group),
        ]
        with m.If(~active):
            m.d.sync += [
                active.eq(self.i.valid),
                slices.eq(tile.slices),
                elements.eq(tile.elements),
                group.eq(tile.tensor),
                line.eq(tile.tensor),
                address.eq(tile.tensor),
                row.eq(0),
                step.eq(tile.pitch * config.rows),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += [row.eq(row + 1), address.eq(address + tile.pitch)]
            with m.If(last_row):
                m.d.sync += [row.eq(0), line.eq(next_line), address.eq(next_line)]
                m.d.sync += elements.eq(Mux(last_line, tile.elements, elements - values))
                with m.If(last_line):
                    m.d.sync += [group.eq(next_line), slices.eq(slices - config.rows)]
                    m.d.sync += active.eq(~last_group)
        with m.If(self.clear):
            m.d.sync += active.eq(0)
        return m
