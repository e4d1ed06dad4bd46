"""Which elements of the matrix wait, and where."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import DELAY, SidaConfig
from ..layouts import count_bits, set_layout
from .layouts import held_layout, row_bits
from .scatter import scatter_layout

__all__ = ["LateElements"]


class LateElements(wiring.Component):
    """Leaves out of a set what is not late: rows two steps behind their column, or more.

    Element (row, column) of panel p goes to bank (column + p) % pes, so that a long column is in
    all banks and each bank has columns of its own while a panel is used. Sets without a late
    element are left out, but for those that complete a step: they carry a mark. Combinational.

    Transposed, rows and columns change their roles, and all elements are late: an element's panel
    is its column's, and what it is added to is its row's.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; a pass begins
    columns, transposed: in; of the matrix; see above; constant from there on
    i: stream of sets
    o: stream, see :func:`scatter_layout`
    boundary: out; where the step ends whose columns come
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "opens": In(1),
                "columns": In(count_bits(config)),
                "transposed": In(1),
                "i": In(stream.Signature(set_layout(config))),
                "o": Out(stream.Signature(scatter_layout(held_layout(config), config.pes))),
                "boundary": Out(range(config.most_rows + 2 * config.subtensor + 1)),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, given, found = self._config, self.i.payload, self.o.payload
        lanes = (config.pes - 1).bit_length()
        rows = (config.subtensor - 1).bit_length()
        boundary = self.boundary
        complete = Signal.like(boundary)
        marks = Signal()
        m.d.comb += [
            complete.eq(given.base + given.columns),
            marks.eq(complete >= Mux(boundary < self.columns, boundary, self.columns)),
            found.mark.eq(marks & (boundary < self.columns + config.subtensor)),
        ]
        for leaf, out in zip(given.leaves, found.leaves, strict=True):
            column = Signal(count_bits(config), name="column")
            # The number of its operand, and that of its sum.
            key = Signal(config.place_bits, name="key")
            target = Signal(config.place_bits, name="target")
            behind = Signal(name="behind")
            panel = key[rows:]
            m.d.comb += [
                column.eq(given.base + leaf.offset),
                key.eq(Mux(self.transposed, column, leaf.row)),
                target.eq(Mux(self.transposed, leaf.row, column)),
                behind.eq(leaf.row[rows:] + DELAY <= given.base[rows:]),
                out.valid.eq(leaf.valid & (self.transposed | ~behind)),
                out.bank.eq((target[:lanes] + panel)[:lanes]),
                out.payload.panel.eq(panel),
                out.payload.late.row.eq(key[: row_bits(config)]),
                out.payload.late.place.eq(target[lanes:]),
                out.payload.late.value.eq(leaf.value),
            ]
        any_late = Signal()
        m.d.comb += [
            any_late.eq(Cat(out.valid for out in found.leaves).any()),
            self.o.valid.eq(self.i.valid & (any_late | found.mark)),
            self.i.ready.eq(self.o.ready | ~(any_late | found.mark)),
        ]
        with m.If(self.opens):
            m.d.sync += boundary.eq(config.subtensor)
        with m.Elif(self.o.valid & self.o.ready & found.mark):
            m.d.sync += boundary.eq(boundary + config.subtensor)
        return m
