"""Finds which rows end in a block of elements, and where."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.output_register import OutputRegister
from ..layouts import count_bits
from .row_windows import rows_window_layout

__all__ = ["RowCut", "row_block_layout", "rows_cut_layout"]


def row_block_layout(config: SidaConfig) -> data.StructLayout:
    """Columns and values of ``pes`` elements by rows; the first is a multiple of that."""
    return data.StructLayout(
        {
            "columns": data.ArrayLayout(INDEX_BITS, config.pes),
            "values": data.ArrayLayout(config.format.bits, config.pes),
        }
    )


def rows_cut_layout(config: SidaConfig) -> data.StructLayout:
    """A window's elements in a block: of ``rows`` rows from ``row`` on, those below ``columns`` are
    wanted. ``passed``: rows that end before the block; ``ends``, ``leaves``: rows that end in it,
    and before which leaf; leaves before ``since`` are of other windows; ``filled``: there are
    elements. ``last``: of the panel. ``wrong``: there are none, the end of row ``row + place`` is
    bad."""
    pes = config.pes
    return data.StructLayout(
        {
            "row": config.place_bits,
            "rows": range(pes + 1),
            "columns": count_bits(config),
            "passed": pes,
            "ends": pes,
            "leaves": data.ArrayLayout(range(pes), pes),
            "since": range(pes),
            "filled": 1,
            "last": 1,
            "wrong": 1,
            "place": range(pes),
            "block": row_block_layout(config),
        }
    )


class RowCut(wiring.Component):
    """Matches the ends of rows with the blocks of elements.

    A set a cycle: what a block has of a window, so that of blocks and windows together as many
    cycles are taken, less one where both end.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    windows: see :func:`rows_window_layout`
    blocks: see :func:`row_block_layout`; of all elements of a panel, each panel's own
    o: see :func:`rows_cut_layout`; nothing follows what is wrong
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "windows": In(stream.Signature(rows_window_layout(config))),
                "blocks": In(stream.Signature(row_block_layout(config))),
                "o": Out(stream.Signature(rows_cut_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self._config.pes
        shift = pes.bit_length() - 1
        m.submodules.cut = cut = OutputRegister(self.o.payload.shape(), clearable=True)
        m.submodules.window = held = OutputRegister(self.windows.payload.shape(), clearable=True)
        wiring.connect(m, cut.o, wiring.flipped(self.o))
        wiring.connect(m, wiring.flipped(self.windows), held.i)
        window, found = held.o.payload, cut.i.payload
        # The block's number, counted on from that of the panel's first one.
        counted = Signal(INDEX_BITS - shift)
        counts = Signal()
        block = Signal.like(counted)
        following = Signal.like(counted)
        # The window has had elements of blocks before.
        within = Signal()
        passed = Signal(pes)
        stopped = Signal()
        goes = Signal()
        bad = Signal()
        last_end, last_leaf = window.ends[pes - 1][shift:], window.ends[pes - 1][:shift]
        whole = Signal()
        ends_window = Signal()
        ends_block = Signal()
        rests = Signal()
        m.d.comb += [
            cut.clear.eq(self.clear),
            held.clear.eq(self.clear),
            bad.eq(window.bad.any()),
            block.eq(Mux(counts, counted, window.begin[shift:])),
            following.eq(block + 1),
            whole.eq((last_end == following) & (last_leaf == 0)),
            ends_window.eq((last_end == block) | whole),
            # So is the rest of the panel's last block, which earlier windows have begun.
            rests.eq(window.last & window.some & (last_end == block) & (last_leaf != 0)),
            ends_block.eq((found.filled & (~ends_window | whole)) | rests),
            cut.i.valid.eq(
                held.o.valid & ~stopped & (bad | ~(found.filled | rests) | self.blocks.valid)
            ),
            goes.eq(cut.i.valid & cut.i.ready),
            held.o.ready.eq(goes & ends_window),
            self.blocks.ready.eq(goes & ends_block & ~bad),
            found.row.eq(window.row),
            found.rows.eq(window.rows),
            found.columns.eq(window.columns),
            found.passed.eq(passed),
            found.since.eq(Mux(within, 0, window.begin[:shift])),
            found.filled.eq((last_end != block) | (last_leaf > found.since)),
            found.last.eq(window.last & ends_window),
            found.wrong.eq(bad),
            found.block.eq(self.blocks.payload),
        ]
        for n in range(pes):
            m.d.comb += [
                found.ends[n].eq(window.ends[n][shift:] == block),
                found.leaves[n].eq(window.ends[n][:shift]),
            ]
        for n in reversed(range(pes)):
            with m.If(window.bad[n]):
                m.d.comb += found.place.eq(n)
        with m.If(goes):
            m.d.sync += [
                stopped.eq(bad),
                counts.eq(~found.last),
                counted.eq(Mux(ends_block, following, block)),
                within.eq(~ends_window),
                passed.eq(Mux(ends_window, 0, passed | found.ends)),
            ]
        with m.If(self.clear):
            m.d.sync += [signal.eq(0) for signal in (counts, within, passed, stopped)]
        return m
