"""The second product's result, row by row."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ..layouts import count_bits
from .layouts import place_bits

__all__ = ["SumRows"]


class SumRows(wiring.Component):
    """Reads w out of :class:`HeldElements`, ``pes`` elements at a time, a row a cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: begins with the first row
    columns: in; elements of w, at least 1
    place: out; which row is asked for
    w: in; a cycle later, it
    o: rows of w, in order
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        values = data.ArrayLayout(config.format.bits, config.pes)
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "place": Out(place_bits(config)),
                "w": In(values),
                "o": Out(stream.Signature(values)),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = self._config.pes.bit_length() - 1
        row = Signal(place_bits(self._config))
        there = Signal()
        takes = Signal()
        last = Signal()
        m.d.comb += [
            self.o.valid.eq(there),
            self.o.payload.eq(self.w),
            takes.eq(there & self.o.ready),
            last.eq(row == (self.columns - 1)[shift : len(self.columns)]),
            self.place.eq(Mux(self.start, 0, Mux(takes, row + 1, row))),
        ]
        m.d.sync += row.eq(self.place)
        with m.If(self.clear | (takes & last)):
            m.d.sync += there.eq(0)
        with m.Elif(self.start):
            m.d.sync += there.eq(1)
        return m
