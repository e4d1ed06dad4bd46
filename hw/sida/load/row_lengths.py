"""From panels' pointers to their rows' lengths."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.gearbox import entry_layout
from ...stream.output_register import OutputRegister
from ..layouts import count_bits

__all__ = ["PANELS_AHEAD", "RowLengths", "length_layout", "panel_layout", "range_layout"]

PANELS_AHEAD = 4
"""Panels of which pointers or elements may be under way."""


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


def length_layout(config: SidaConfig) -> data.StructLayout:
    """``row`` of ``length`` elements, of which those below ``columns`` are wanted; the first one is
    at place ``lane`` of its block. ``bad``: its end is before its begin, or behind that of the
    panel; ``last``: of the panel; ``rests``: it is, and the panel has elements."""
    return data.StructLayout(
        {
            "row": config.place_bits,
            "length": INDEX_BITS,
            "columns": count_bits(config),
            "lane": range(config.pes),
            "bad": 1,
            "last": 1,
            "rests": 1,
        }
    )


class RowLengths(wiring.Component):
    """Takes all pointers of a panel, then says which elements it has, and how long its rows are,
    one a cycle. Pointers of further panels are taken meanwhile, as far as there is room.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    panels: see :func:`panel_layout`
    i: of each panel ``rows + 1`` pointers, ``pes`` at once
    ranges: see :func:`range_layout`; of each panel, as soon as all of its pointers are here
    o: see :func:`length_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        pointers = entry_layout((config.pes * INDEX_BITS // 8,))
        super().__init__(
            {
                "panels": In(stream.Signature(panel_layout(config))),
                "i": In(stream.Signature(pointers)),
                "ranges": Out(stream.Signature(range_layout())),
                "o": Out(stream.Signature(length_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    @property
    def blocks(self) -> int:
        """Of pointers that may wait: those of two panels, and more of small ones."""
        return 2 * (self._config.subtensor // self._config.pes + 1) + 4

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self._config.pes
        lanes = pes.bit_length() - 1
        known_layout = data.StructLayout(
            {"panel": panel_layout(self._config), "range": range_layout()}
        )
        m.submodules.waiting = waiting = DeepQueue(pes * INDEX_BITS, self.blocks)
        m.submodules.coming = coming = DeepQueue(panel_layout(self._config), PANELS_AHEAD)
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
        self._lengths(m, waiting, known)
        return m

    def _lengths(self, m: Module, waiting: DeepQueue, known: DeepQueue) -> None:
        """Of the rows of the panel whose pointers are here."""
        pes = self._config.pes
        lanes = pes.bit_length() - 1
        panel, elements = known.o.payload.panel, known.o.payload.range
        found = [waiting.o.payload[n * INDEX_BITS :][:INDEX_BITS] for n in range(pes)]
        # The pointer at which the row ends, by its number; the row's begin, but for the first one.
        number = Signal(range(self._config.subtensor + 2), init=1)
        before = Signal(INDEX_BITS, reset_less=True)
        begin = Signal(INDEX_BITS)
        end = Signal(INDEX_BITS)
        moves = Signal()
        row = self.o.payload
        m.d.comb += [
            # The first pointer is no row's end.
            begin.eq(Mux(number == 1, elements.lower, before)),
            end.eq(Array(found)[number[:lanes]]),
            self.o.valid.eq(known.o.valid & waiting.o.valid),
            row.row.eq(panel.row + number - 1),
            row.columns.eq(panel.columns),
            row.length.eq(end - begin),
            row.lane.eq(begin[:lanes]),
            row.bad.eq((end < begin) | (end > elements.upper)),
            row.last.eq(number == panel.rows),
            row.rests.eq(row.last & (elements.lower != elements.upper)),
            moves.eq(self.o.valid & self.o.ready),
            waiting.o.ready.eq(moves & ((number[:lanes] == pes - 1) | row.last)),
            known.o.ready.eq(moves & row.last),
        ]
        with m.If(moves):
            m.d.sync += [number.eq(Mux(row.last, 1, number + 1)), before.eq(end)]
        with m.If(self.clear):
            m.d.sync += number.eq(1)
