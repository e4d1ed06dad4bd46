"""Which of a block's elements are of a row."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.output_register import OutputRegister
from ..layouts import count_bits
from .row_lengths import length_layout

__all__ = ["RowCut", "part_layout", "row_block_layout"]


def row_block_layout(config: SidaConfig) -> data.StructLayout:
    """Columns and values of ``pes`` elements by rows; the first is a multiple of that."""
    return data.StructLayout(
        {
            "columns": data.ArrayLayout(INDEX_BITS, config.pes),
            "values": data.ArrayLayout(config.format.bits, config.pes),
        }
    )


def part_layout(config: SidaConfig) -> data.StructLayout:
    """Part of ``row``, up to ``pes`` elements, of which those below ``columns`` are wanted: which
    leaves are ``present`` of ``block``, beginning with ``lane`` and going on, behind the last one,
    with the first; ``again``: others of the row came before; ``last``: of the panel; ``bad``: there
    are none, the row's pointers are wrong."""
    return data.StructLayout(
        {
            "row": config.place_bits,
            "columns": count_bits(config),
            "present": config.pes,
            "lane": range(config.pes),
            "again": 1,
            "last": 1,
            "bad": 1,
            "block": row_block_layout(config),
        }
    )


class RowCut(wiring.Component):
    """Lays the lengths of rows beside the blocks of elements.

    A part of a row a cycle: up to ``pes`` elements, of two blocks, each in the leaf that it has in
    its block. Behind a panel whose last block is not used up a cycle may be lost.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    rows: see :func:`length_layout`
    blocks: see :func:`row_block_layout`; of all elements of a panel, each panel's own
    o: see :func:`part_layout`; nothing follows what is bad
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "rows": In(stream.Signature(length_layout(config))),
                "blocks": In(stream.Signature(row_block_layout(config))),
                "o": Out(stream.Signature(part_layout(config))),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self._config.pes
        m.submodules.cut = cut = OutputRegister(self.o.payload.shape(), clearable=True)
        m.submodules.row = row = OutputRegister(length_layout(self._config), clearable=True)
        wiring.connect(m, cut.o, wiring.flipped(self.o))
        wiring.connect(m, wiring.flipped(self.rows), row.i)
        # The same for all parts of a row.
        lane = row.o.payload.lane
        # What is left of a row that has begun.
        again = Signal()
        rest = Signal.like(row.o.payload.length, reset_less=True)
        left = Signal.like(rest)
        long = Signal()
        end = Signal(range(2 * pes))
        stopped = Signal()
        goes = Signal()
        moves = Signal()
        # What the panel leaves of its last block.
        rests = Signal()
        drops = Signal()
        first, second, first_valid, second_valid = self._hold(m, moves)
        part = cut.i.payload
        m.d.comb += [
            cut.clear.eq(self.clear),
            row.clear.eq(self.clear),
            left.eq(Mux(again, rest, row.o.payload.length)),
            long.eq(left > pes),
            end.eq(lane + Mux(long, pes, left[: pes.bit_length()])),
            cut.i.valid.eq(
                row.o.valid
                & ~stopped
                & ~drops
                & (
                    row.o.payload.bad
                    | ((first_valid | (end == lane)) & (second_valid | (end <= pes)))
                )
            ),
            goes.eq(cut.i.valid & cut.i.ready),
            row.o.ready.eq(goes & ~long),
            rests.eq(part.last & row.o.payload.rests),
            moves.eq(drops | (goes & ((end >= pes) | (rests & (end != 0))))),
        ]
        m.d.comb += [
            part.row.eq(row.o.payload.row),
            part.columns.eq(row.o.payload.columns),
            part.present.eq(
                Cat(
                    *(((lane <= n) & (end > n)) | (end > n + pes) for n in range(pes - 1)),
                    end > pes - 1,
                )
            ),
            part.lane.eq(lane),
            part.again.eq(again),
            part.last.eq(row.o.payload.last & ~long),
            part.bad.eq(row.o.payload.bad),
        ]
        for n in range(pes):
            for name in ("columns", "values"):
                chosen = getattr(first, name)[n]
                if n < pes - 1:
                    chosen = Mux(lane <= n, chosen, getattr(second, name)[n])
                m.d.comb += getattr(part.block, name)[n].eq(chosen)
        m.d.sync += drops.eq(goes & rests & (end > pes))
        with m.If(goes):
            m.d.sync += [again.eq(long), rest.eq(left - pes), stopped.eq(part.bad)]
        with m.If(self.clear):
            m.d.sync += [signal.eq(0) for signal in (again, stopped, drops)]
            m.d.sync += [first_valid.eq(0), second_valid.eq(0)]
        return m

    def _hold(self, m: Module, moves: Signal) -> tuple[data.View, data.View, Signal, Signal]:
        """Two blocks, and whether they are there."""
        layout = row_block_layout(self._config)
        first = Signal(layout, reset_less=True)
        second = Signal(layout, reset_less=True)
        first_valid = Signal()
        second_valid = Signal()
        shifts = Signal()
        m.d.comb += [shifts.eq(moves | ~first_valid), self.blocks.ready.eq(~second_valid | shifts)]
        with m.If(shifts):
            m.d.sync += [first.eq(second), first_valid.eq(second_valid)]
        with m.If(self.blocks.ready):
            m.d.sync += [second.eq(self.blocks.payload), second_valid.eq(self.blocks.valid)]
        return first, second, first_valid, second_valid
