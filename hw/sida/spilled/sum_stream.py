"""The second product's result, row by row, from memory."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.ring import moved_count
from ..elementwise.layouts import values_layout
from ..held.layouts import place_bits
from ..layouts import count_bits
from .layouts import EXCHANGES

__all__ = ["SumStream"]


class SumStream(wiring.Component):
    """Fetches all rows of w, in order, and no more than it has room for.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: begins with the first row
    columns: in; elements of w, at least 1, constant from ``start`` on
    fetch: stream of the rows' numbers
    fetched: stream of their values, always ready
    busy: out; rows that come are its own
    o: stream of rows of w
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        values = stream.Signature(values_layout(config))
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "fetch": Out(stream.Signature(place_bits(config))),
                "fetched": In(values),
                "busy": Out(1),
                "o": Out(values),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        shift = config.pes.bit_length() - 1
        m.submodules.rows = rows = DeepQueue(values_layout(config), EXCHANGES)
        wiring.connect(m, wiring.flipped(self.fetched), rows.i)
        wiring.connect(m, rows.o, wiring.flipped(self.o))
        # Rows that were asked for, and did not leave yet.
        inside = Signal(range(EXCHANGES + 1))
        asks = Signal()
        last = Signal()
        moved = Signal()
        left = Signal()
        m.d.comb += [
            self.fetch.valid.eq(asks & (inside != EXCHANGES)),
            moved.eq(self.fetch.valid & self.fetch.ready),
            left.eq(self.o.valid & self.o.ready),
            last.eq(self.fetch.payload == (self.columns - 1)[shift : len(self.columns)]),
            self.busy.eq(asks | (inside != 0)),
            rows.clear.eq(self.clear),
        ]
        m.d.sync += inside.eq(moved_count(inside, moved, left))
        with m.If(moved):
            m.d.sync += [self.fetch.payload.eq(self.fetch.payload + 1), asks.eq(~last)]
        with m.If(self.start):
            m.d.sync += [self.fetch.payload.eq(0), asks.eq(1)]
        with m.If(self.clear):
            m.d.sync += [asks.eq(0), inside.eq(0)]
        return m
