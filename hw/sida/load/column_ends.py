"""From pointers to where columns end."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.gearbox import entry_layout
from ...stream.output_register import OutputRegister
from ..layouts import count_bits
from .layouts import window_layout

__all__ = ["ColumnEnds"]


class ColumnEnds(wiring.Component):
    """Makes windows of pointers: where a column ends is where the next one begins.

    A window a cycle; of a matrix of so many columns that its last pointer stands alone in its
    entry, as many windows as entries but one.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: entries of as many pointers as a window has columns, of ``columns + 1`` pointers
    columns, elements: in; of the matrix, constant while entries come
    o: see ``window_layout``; of the first window the first column is bad, too, if it does not
        begin at 0
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        entry = entry_layout((config.pes * INDEX_BITS // 8,))
        super().__init__(
            {
                "i": In(stream.Signature(entry)),
                "columns": In(count_bits(config)),
                "elements": In(INDEX_BITS),
                "o": Out(stream.Signature(window_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self._config.pes
        m.submodules.made = made = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, made.o, wiring.flipped(self.o))
        held = Signal(size * INDEX_BITS, reset_less=True)
        holds = Signal()
        # What is held has the last pointer, and columns of its own.
        closes = Signal()
        goes = Signal()
        alone = Signal()
        m.d.comb += [
            alone.eq(self.columns[: size.bit_length() - 1] == 0),
            made.clear.eq(self.clear),
            made.i.valid.eq(holds & (closes | self.i.valid)),
            self.i.ready.eq(~closes & (~holds | made.i.ready)),
            goes.eq(made.i.valid & made.i.ready),
        ]
        with m.If(self.i.valid & self.i.ready):
            ends = self.i.payload.last & alone
            m.d.sync += [
                held.eq(self.i.payload.data),
                holds.eq(~ends),
                closes.eq(self.i.payload.last & ~alone),
            ]
        with m.Elif(goes):
            m.d.sync += [holds.eq(0), closes.eq(0)]
        with m.If(self.clear):
            m.d.sync += [holds.eq(0), closes.eq(0)]
        self._window(m, held, made.i.payload, goes)
        return m

    def _window(self, m: Module, held: Signal, window: Value, goes: Value) -> None:
        """The columns of the pointers that are held, with the pointer that comes."""
        config, size = self._config, self._config.pes
        pointers = [held[n * INDEX_BITS : (n + 1) * INDEX_BITS] for n in range(size)]
        pointers.append(self.i.payload.data[:INDEX_BITS])
        column = Signal(count_bits(config))
        left = Signal.like(column)
        m.d.comb += left.eq(self.columns - column)
        wrong = []
        for n in range(size):
            begin, end, present = pointers[n], pointers[n + 1], window.present[n]
            bad = (end < begin) | (end > self.elements)
            if n == 0:
                bad |= (column == 0) & (begin != 0)
            wrong.append(present & bad)
            m.d.comb += [
                present.eq(left > n),
                window.ends[n].eq(Mux(present, end, self.elements)),
                window.whole[n].eq(~present | (end == self.elements)),
            ]
        m.d.comb += [
            window.bad.eq(Cat(wrong)),
            window.first.eq(column[: config.subtensor.bit_length() - 1] == 0),
            window.last.eq(left <= size),
        ]
        with m.If(goes):
            m.d.sync += column.eq(column + size)
        with m.If(self.clear):
            m.d.sync += column.eq(0)
