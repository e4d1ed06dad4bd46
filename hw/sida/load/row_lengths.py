"""From a panel's pointers to its rows' lengths."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.gearbox import entry_layout

__all__ = ["RowLengths", "length_layout"]


def length_layout() -> data.StructLayout:
    """A row of ``length`` elements; ``bad``: its end is before its begin, or behind that of the
    panel; ``last``: of the panel."""
    return data.StructLayout({"length": INDEX_BITS, "bad": 1, "last": 1})


class RowLengths(wiring.Component):
    """Takes all pointers of a panel, then says how long its rows are, one a cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: ``rows + 1`` pointers, ``pes`` at once; those of the next panel only after ``clear``
    rows: in; of the panel, at least 1, constant until ``clear``
    known, panel_begin, panel_end: out; all pointers are here; the first one and the last one
    o: stream, see :func:`length_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(entry_layout((config.pes * INDEX_BITS // 8,)))),
                "rows": In(range(config.subtensor + 1)),
                "known": Out(1),
                "panel_begin": Out(INDEX_BITS),
                "panel_end": Out(INDEX_BITS),
                "o": Out(stream.Signature(length_layout())),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self._config.pes
        lanes = pes.bit_length() - 1
        depth = self._config.subtensor // pes + 1
        m.submodules.waiting = waiting = DeepQueue(pes * INDEX_BITS, depth)
        words = [self.i.payload.data[n * INDEX_BITS :][:INDEX_BITS] for n in range(pes)]
        found = [waiting.o.payload[n * INDEX_BITS :][:INDEX_BITS] for n in range(pes)]
        within = Signal()
        m.d.comb += [
            self.i.ready.eq(waiting.i.ready),
            waiting.i.valid.eq(self.i.valid),
            waiting.i.payload.eq(self.i.payload.data),
            waiting.clear.eq(self.clear),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += within.eq(1)
            with m.If(~within):
                m.d.sync += self.panel_begin.eq(words[0])
            with m.If(self.i.payload.last):
                m.d.sync += [self.known.eq(1), self.panel_end.eq(Array(words)[self.rows[:lanes]])]
        # The pointer at which the row ends, by its number; the row's begin, but for the first one.
        number = Signal(range(self._config.subtensor + 2), init=1)
        before = Signal(INDEX_BITS, reset_less=True)
        begin = Signal(INDEX_BITS)
        end = Signal(INDEX_BITS)
        moves = Signal()
        m.d.comb += [
            begin.eq(Mux(number == 1, self.panel_begin, before)),
            end.eq(Array(found)[number[:lanes]]),
            # The first pointer is no row's end.
            self.o.valid.eq(self.known & waiting.o.valid & (number <= self.rows)),
            self.o.payload.length.eq(end - begin),
            self.o.payload.bad.eq((end < begin) | (end > self.panel_end)),
            self.o.payload.last.eq(number == self.rows),
            moves.eq(self.o.valid & self.o.ready),
            waiting.o.ready.eq(moves & (number[:lanes] == pes - 1)),
        ]
        with m.If(moves):
            m.d.sync += [number.eq(number + 1), before.eq(end)]
        with m.If(self.clear):
            m.d.sync += [within.eq(0), self.known.eq(0), number.eq(1)]
        return m
