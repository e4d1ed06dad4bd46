"""Which of a block's elements are of a row."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.output_register import OutputRegister
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
    """Part of a row, up to ``pes`` elements: which leaves are ``present`` of ``block``, beginning
    with ``lane`` and going on, behind the last one, with the first; ``again``: others of the row
    came before; ``ends``, ``last``: of the row, of the panel; ``bad``: there are none, the row's
    pointers are wrong."""
    return data.StructLayout(
        {
            "present": config.pes,
            "lane": range(config.pes),
            "again": 1,
            "ends": 1,
            "last": 1,
            "bad": 1,
            "block": row_block_layout(config),
        }
    )


class RowCut(wiring.Component):
    """Lays the lengths of rows beside the blocks of elements.

    A part of a row a cycle: up to ``pes`` elements, of two blocks, each in the leaf that it has in
    its block.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    rows: see :func:`length_layout`
    blocks: see :func:`row_block_layout`; of all elements of a panel
    opens, lane: in; a panel begins, with this leaf of its first block; the one before has left
    o: see :func:`part_layout`; nothing follows what is bad
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "rows": In(stream.Signature(length_layout())),
                "blocks": In(stream.Signature(row_block_layout(config))),
                "opens": In(1),
                "lane": In(range(config.pes)),
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
        m.submodules.row = row = OutputRegister(length_layout(), clearable=True)
        wiring.connect(m, cut.o, wiring.flipped(self.o))
        wiring.connect(m, wiring.flipped(self.rows), row.i)
        lane = Signal(range(pes))
        # What is left of a row that has begun.
        again = Signal()
        rest = Signal.like(row.o.payload.length, reset_less=True)
        left = Signal.like(rest)
        long = Signal()
        end = Signal(range(2 * pes))
        stopped = Signal()
        goes = Signal()
        first, second, first_valid, second_valid = self._hold(m, goes & (end >= pes))
        m.d.comb += [
            cut.clear.eq(self.clear),
            row.clear.eq(self.clear | self.opens),
            left.eq(Mux(again, rest, row.o.payload.length)),
            long.eq(left > pes),
            end.eq(lane + Mux(long, pes, left[: pes.bit_length()])),
            cut.i.valid.eq(
                row.o.valid
                & ~stopped
                & (
                    row.o.payload.bad
                    | ((first_valid | (end == lane)) & (second_valid | (end <= pes)))
                )
            ),
            goes.eq(cut.i.valid & cut.i.ready),
            row.o.ready.eq(goes & ~long),
        ]
        part = cut.i.payload
        m.d.comb += [
            part.present.eq(
                Cat(
                    *(((lane <= n) & (end > n)) | (end > n + pes) for n in range(pes - 1)),
                    end > pes - 1,
                )
            ),
            part.lane.eq(lane),
            part.again.eq(again),
            part.ends.eq(~long),
            part.last.eq(row.o.payload.last & ~long),
            part.bad.eq(row.o.payload.bad),
        ]
        for n in range(pes):
            for name in ("columns", "values"):
                chosen = getattr(first, name)[n]
                if n < pes - 1:
                    chosen = Mux(lane <= n, chosen, getattr(second, name)[n])
                m.d.comb += getattr(part.block, name)[n].eq(chosen)
        with m.If(goes):
            m.d.sync += [
                lane.eq(end[: len(lane)]),
                again.eq(long),
                rest.eq(left - pes),
                stopped.eq(part.bad),
            ]
        with m.If(self.opens):
            m.d.sync += [lane.eq(self.lane), again.eq(0), stopped.eq(0)]
        with m.If(self.opens | self.clear):
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
