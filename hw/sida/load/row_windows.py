"""Computes where the rows of a panel end, from its pointers."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.gearbox import entry_layout
from ...stream.queue import DeepQueue
from ...stream.stream_registers import OutputRegister
from ..layouts import count_bits

__all__ = ["PANELS_AHEAD", "RowWindows", "panel_layout", "range_layout", "rows_window_layout"]

PANELS_AHEAD = 4
"""Most panels with pointers, or with elements, in flight."""


def panel_layout(config: SidaConfig) -> data.StructLayout:
    """``rows`` rows, at least 1, from ``row`` on, and their elements of columns below
    ``columns``."""
    return data.StructLayout(
        {
            "row": config.place_bits,
            "rows": range(config.subtensor + 1),
            "columns": count_bits(config),
        }
    )


def range_layout() -> data.StructLayout:
    """The elements of a panel: ``lower`` to ``upper - 1`` of the matrix. There are none, or the
    pointers are wrong, where ``upper`` is not above ``lower``."""
    return data.StructLayout({"lower": INDEX_BITS, "upper": INDEX_BITS})


def rows_window_layout(config: SidaConfig) -> data.StructLayout:
    """``rows`` rows, up to ``pes``, from ``row`` on, a multiple of that: their elements below
    ``columns`` are wanted. ``begin``: of the first one; ``ends``: where each ends, of what is no
    row of it the panel's end; ``bad``: that is before its begin, or behind the panel's end;
    ``last``: of the panel; ``some``: the panel has elements."""
    return data.StructLayout(
        {
            "row": config.place_bits,
            "rows": range(config.pes + 1),
            "columns": count_bits(config),
            "begin": INDEX_BITS,
            "ends": data.ArrayLayout(INDEX_BITS, config.pes),
            "bad": config.pes,
            "last": 1,
            "some": 1,
        }
    )


class RowWindows(wiring.Component):
    """Takes the pointers of a panel, and tells which elements it has, and where its rows end.

    It offers ``pes`` rows per cycle. It takes pointers of further panels meanwhile, as far as its
    capacity allows.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    panels: see :func:`panel_layout`
    i: of each panel ``rows + 1`` pointers, ``pes`` at once
    ranges: see :func:`range_layout`; of each panel, as soon as all of its pointers are here
    o: see :func:`rows_window_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        pointers = entry_layout((config.pes * INDEX_BITS // 8,))
        super().__init__(
            {
                "panels": In(stream.Signature(panel_layout(config))),
                "i": In(stream.Signature(pointers)),
                "ranges": Out(stream.Signature(range_layout())),
                "o": Out(stream.Signature(rows_window_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def blocks(self) -> int:
        """Blocks of pointers that may be queued: those of two panels, and more of small panels."""
        return 2 * (self.config.subtensor // self.config.pes + 1) + 4

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self.config.pes
        lanes = pes.bit_length() - 1
        known_layout = data.StructLayout(
            {"panel": panel_layout(self.config), "range": range_layout()}
        )
        m.submodules.waiting = waiting = DeepQueue(pes * INDEX_BITS, self.blocks)
        m.submodules.coming = coming = DeepQueue(panel_layout(self.config), PANELS_AHEAD)
        m.submodules.known = known = DeepQueue(known_layout, PANELS_AHEAD)
        m.submodules.found = found = OutputRegister(range_layout(), clearable=True)
        wiring.connect(m, wiring.flipped(self.panels), coming.i)
        wiring.connect(m, found.o, wiring.flipped(self.ranges))
        m.d.comb += [part.clear.eq(self.clear) for part in (waiting, coming, known, found)]
        words = [self.i.payload.data[n * INDEX_BITS :][:INDEX_BITS] for n in range(pes)]
        within = Signal()
        begin = Signal(INDEX_BITS, reset_less=True)
        came = Signal()
        ends = Signal()
        whole = known.i.payload
        m.d.comb += [
            self.i.ready.eq(waiting.i.ready & coming.o.valid & known.i.ready & found.i.ready),
            came.eq(self.i.valid & self.i.ready),
            ends.eq(came & self.i.payload.last),
            waiting.i.valid.eq(came),
            waiting.i.payload.eq(self.i.payload.data),
            coming.o.ready.eq(ends),
            known.i.valid.eq(ends),
            whole.panel.eq(coming.o.payload),
            whole.range.lower.eq(Mux(within, begin, words[0])),
            whole.range.upper.eq(Array(words)[coming.o.payload.rows[:lanes]]),
            found.i.valid.eq(ends),
            found.i.payload.eq(whole.range),
        ]
        with m.If(came):
            m.d.sync += within.eq(~self.i.payload.last)
            with m.If(~within):
                m.d.sync += begin.eq(words[0])
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        self._windows(m, waiting, known)
        return m

    def _windows(self, m: Module, waiting: DeepQueue, known: DeepQueue) -> None:
        """Forms windows from a block of a panel's pointers and the first one of the next block."""
        pes = self.config.pes
        panel, elements = known.o.payload.panel, known.o.payload.range
        held = Signal(pes * INDEX_BITS, reset_less=True)
        holds = Signal()
        gone = Signal(range(self.config.subtensor + 1))
        left = Signal.like(gone)
        whole = Signal()
        moves = Signal()
        window = self.o.payload
        pointers = [
            source[n * INDEX_BITS :][:INDEX_BITS]
            for source, count in ((held, pes), (waiting.o.payload, 1))
            for n in range(count)
        ]
        m.d.comb += [
            left.eq(panel.rows - gone),
            whole.eq(left >= pes),
            self.o.valid.eq(holds & (~whole | waiting.o.valid)),
            window.row.eq(panel.row + gone),
            window.rows.eq(Mux(whole, pes, left)),
            window.columns.eq(panel.columns),
            window.begin.eq(pointers[0]),
            window.last.eq(left <= pes),
            window.some.eq(elements.lower != elements.upper),
            moves.eq(self.o.valid & self.o.ready),
            # The last pointer of a panel may be alone in its block.
            waiting.o.ready.eq(Mux(holds, moves & whole, known.o.valid)),
            known.o.ready.eq(moves & window.last),
        ]
        for n in range(pes):
            here = left > n
            begin, end = pointers[n], pointers[n + 1]
            m.d.comb += [
                window.ends[n].eq(Mux(here, end, elements.upper)),
                window.bad[n].eq(here & ((end < begin) | (end > elements.upper))),
            ]
        with m.If(waiting.o.valid & waiting.o.ready):
            m.d.sync += held.eq(waiting.o.payload)
        with m.If(holds), m.If(moves):
            m.d.sync += [holds.eq(~window.last), gone.eq(Mux(window.last, 0, gone + pes))]
        with m.Elif(waiting.o.valid & known.o.valid):
            m.d.sync += holds.eq(1)
        with m.If(self.clear):
            m.d.sync += [holds.eq(0), gone.eq(0)]
