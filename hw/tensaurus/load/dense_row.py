"""The slots of a row that works on a dense tensor."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.output_register import OutputRegister
from ..layouts import SlotKind, job_layout, slot_layout, tile_layout

__all__ = ["DenseRow"]


class DenseRow(wiring.Component):
    """Makes a CISS row of the slices ``row``, ``row + rows``, ...: a header each, all values with
    their indices, zeros included, and an end behind the last.

    A slot a cycle while there are lines, over slices and tiles too.

    Parameters
    ----------
    config: see ``TensaurusConfig``

    Members
    -------
    row: in; which one; constant
    job: in; constant
    tiles: each is taken with its last slot
    lines: the row's, in order; one waits here
    o: see ``slot_layout``
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "row": In(range(max(2, config.rows))),
                "job": In(job_layout(config)),
                "tiles": In(stream.Signature(tile_layout(config))),
                "lines": In(stream.Signature(8 * config.line_bytes)),
                "o": Out(stream.Signature(slot_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, tile, slot = self._config, self.tiles.payload, self.o.payload
        m.submodules.line = line = OutputRegister(8 * config.line_bytes, clearable=True)
        wiring.connect(m, wiring.flipped(self.lines), line.i)
        bits = config.format.bits
        values = 8 * config.line_bytes // bits
        first = Signal(33)
        number = Signal(33)
        heads = Signal(init=1)
        over = Signal()
        place = Signal(range(values))
        moves = Signal()
        takes = Signal()
        m.d.comb += [
            number.eq(first + self.row),
            over.eq(heads & (number >= tile.slices)),
            moves.eq(self.o.valid & self.o.ready),
            takes.eq(moves & ~heads),
            self.o.valid.eq(self.tiles.valid & (heads | line.o.valid)),
            self.tiles.ready.eq(moves & over),
            slot.kind.eq(Mux(over, SlotKind.END, Mux(heads, SlotKind.HEADER, SlotKind.VALUE))),
            slot.value.eq(line.o.payload.word_select(place, bits)),
        ]
        index, ends = self._indices(m, takes)
        m.d.comb += [
            *(slot.index[n].eq(index[n]) for n in range(config.order - 1)),
            line.o.ready.eq(takes & (ends | (place == values - 1))),
            line.clear.eq(self.clear),
        ]
        with m.If(heads):
            m.d.comb += slot.index[0].eq(number)
        with m.If(moves & heads & ~over):
            m.d.sync += heads.eq(0)
        with m.If(takes):
            m.d.sync += place.eq(place + 1)
            with m.If(line.o.ready):
                m.d.sync += place.eq(0)
            with m.If(ends):
                m.d.sync += [heads.eq(1), first.eq(first + config.rows)]
        with m.If(self.clear | self.tiles.ready):
            m.d.sync += [first.eq(0), heads.eq(1), place.eq(0)]
        return m

    def _indices(self, m: Module, takes: Value) -> tuple[list[Signal], Value]:
        """Indices of the value, and whether it is the slice's last."""
        config, tile = self._config, self.tiles.payload
        modes = range(1, config.order)
        index = [Signal(config.index_bits, name=f"index_{mode}") for mode in modes]
        carries: Value = takes
        all_end = Signal(len(modes))
        for mode in reversed(modes):
            counter = index[mode - 1]
            at_end = Signal(name=f"at_end_{mode}")
            # A mode that the tensor does not have has the index 0 only.
            m.d.comb += [
                at_end.eq((self.job.order <= mode) | (counter + 1 == tile[f"size_{mode}"])),
                all_end[mode - 1].eq(at_end),
            ]
            with m.If(carries):
                m.d.sync += counter.eq(Mux(at_end, 0, counter + 1))
            carries = carries & at_end
            with m.If(self.clear):
                m.d.sync += counter.eq(0)
        return index, all_end.all()
