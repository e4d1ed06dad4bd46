"""A side of the output buffer into lines for memory."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...channels.striped_writer import extent_layout
from ...spec.tensaurus import TensaurusConfig
from ...stream.gearbox import Gearbox
from .store_column import walk_layout

__all__ = ["OutputWalk", "output_extent"]


def output_extent(config: TensaurusConfig) -> data.StructLayout:
    """Memory that a side's result occupies at most: ``address`` and ``bytes``."""
    return extent_layout(config.geometry, config.out_bytes.bit_length())


class OutputWalk(wiring.Component):
    """Reads a side from its first unit on, sends its first bytes as lines, and sets every unit that
    it passes to the identity.

    A unit a cycle as long as lines are accepted; after the last byte, too.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    start: in, a pulse, while not ``busy``
    extent: with ``start``: what is written, see :func:`output_extent`
    units: with ``start``: how many units are set to the identity, those that are written besides
    busy: out; not all units are set, or not all lines are accepted
    walk: see ``walk_layout``; a read and its clearing are a cycle apart
    unit: the unit that was read, a cycle after ``read``
    request, lines: to a :class:`StripedWriter`
    sent: out; bytes of the line that is accepted in this cycle
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "extent": In(output_extent(config)),
                "units": In(range(config.out_units + 1)),
                "busy": Out(1),
                "walk": Out(walk_layout(config)),
                "unit": In(config.unit_values * config.sum_format.bits),
                "request": Out(stream.Signature(output_extent(config))),
                "lines": Out(stream.Signature(8 * config.line_bytes)),
                "sent": Out(range(config.line_bytes + 1)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, walk = self._config, self.walk
        unit_bytes, line_bytes = config.result_unit_bytes, config.line_bytes
        line_count = (config.out_bytes // line_bytes + 1).bit_length()
        m.submodules.gearbox = gears = Gearbox(unit_bytes, (line_bytes,), line_count)
        extent = Signal(output_extent(config), reset_less=True)
        asks = Signal()
        at = Signal(range(config.out_units + 1))
        units = Signal(range(config.out_units + 1))
        # Bytes that are still to be read, and that are still to be taken.
        unread = Signal(len(extent.bytes))
        owed = Signal(len(extent.bytes))
        valid = Signal()
        reads = Signal()
        clears = Signal()
        cleared = Signal(range(config.out_units), reset_less=True)
        takes = Signal()
        ends = Signal()
        m.d.comb += [
            self.request.valid.eq(asks),
            self.request.payload.eq(extent),
            reads.eq((unread != 0) & (gears.lines.ready | ~valid)),
            walk.read.eq(reads),
            walk.read_address.eq(at),
            walk.clear.eq(clears),
            walk.clear_address.eq(cleared),
            # Behind the last byte anything fills the last line.
            gears.lines.valid.eq(valid | ((unread == 0) & (owed != 0))),
            gears.lines.payload.eq(self.unit),
            gears.request.valid.eq(owed != 0),
            # As many as there may be; the last one ends them.
            gears.request.payload.count.eq(Const(-1, line_count)),
            self.lines.valid.eq(gears.o.valid & (owed != 0)),
            self.lines.payload.eq(gears.o.payload.data),
            gears.o.ready.eq(self.lines.ready & (owed != 0)),
            takes.eq(self.lines.valid & self.lines.ready),
            ends.eq(owed <= line_bytes),
            gears.clear.eq(self.clear | (takes & ends)),
            # Reads may pass the last unit that was added to.
            self.busy.eq(asks | (at < units) | (owed != 0) | clears),
        ]
        with m.If(takes):
            m.d.comb += self.sent.eq(Mux(ends, owed, line_bytes))
            m.d.sync += owed.eq(Mux(ends, 0, owed - line_bytes))
        with m.If(self.request.ready):
            m.d.sync += asks.eq(0)
        steps = reads | ((unread == 0) & (at < units))
        m.d.sync += [
            valid.eq(reads | (valid & ~gears.lines.ready)),
            clears.eq(steps),
            cleared.eq(at),
        ]
        with m.If(steps):
            m.d.sync += at.eq(at + 1)
        with m.If(reads):
            m.d.sync += unread.eq(Mux(unread <= unit_bytes, 0, unread - unit_bytes))
        with m.If(self.start):
            m.d.sync += [
                asks.eq(1),
                extent.eq(self.extent),
                at.eq(0),
                units.eq(self.units),
                unread.eq(self.extent.bytes),
                owed.eq(self.extent.bytes),
            ]
        with m.If(self.clear):
            m.d.sync += [
                asks.eq(0),
                at.eq(0),
                units.eq(0),
                unread.eq(0),
                owed.eq(0),
                valid.eq(0),
                clears.eq(0),
            ]
        return m
