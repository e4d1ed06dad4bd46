"""Assigns columns to the elements of a set, and checks their rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...job.activity import ones
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.output_register import OutputRegister
from ..layouts import count_bits, set_layout
from .layouts import cut_layout

__all__ = ["SetLeaves"]


class SetLeaves(wiring.Component):
    """Assigns columns to the elements of a block, and checks their rows.

    Rows must be in the matrix, and ascend within a column.

    A set a cycle, two cycles from ``i`` to ``o``. After what is wrong nothing leaves any more,
    until ``clear``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: see ``cut_layout``
    columns: in; of the matrix, as many as rows
    o: see ``set_layout``
    pointer_error, row_error, order_error: out, at most one of them: the end of ``error_column`` is
        bad, one of its rows is not in the matrix, or not behind the row before it
    error_column: out; the first column that is wrong
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(cut_layout(config))),
                "columns": In(count_bits(config)),
                "o": Out(stream.Signature(set_layout(config))),
                "pointer_error": Out(1),
                "row_error": Out(1),
                "order_error": Out(1),
                "error_column": Out(config.place_bits),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self._config.pes
        layout = data.StructLayout(
            {
                "set": set_layout(self._config),
                "far": pes,
                "late": pes,
                "wrong": 1,
                "place": self.i.payload.place.shape(),
            }
        )
        m.submodules.placed = placed = OutputRegister(layout, clearable=True)
        m.submodules.checked = checked = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, checked.o, wiring.flipped(self.o))
        found, cut = placed.i.payload, self.i.payload
        m.d.comb += [
            placed.clear.eq(self.clear),
            checked.clear.eq(self.clear),
            placed.i.valid.eq(self.i.valid),
            self.i.ready.eq(placed.i.ready),
            found.wrong.eq(cut.wrong),
            found.place.eq(cut.place),
            found.set.base.eq(cut.base),
            found.set.columns.eq(cut.columns),
            found.set.final.eq(cut.final),
        ]
        for leaf in range(pes):
            self._place(m, leaf, found.set.leaves[leaf])
        self._check_rows(m, found)
        self._send(m, placed, checked)
        return m

    def _place(self, m: Module, leaf: int, found: Any) -> None:
        """Computes an element's column from the columns that end before it."""
        size, cut = self._config.pes, self.i.payload
        low = cut.base[: size.bit_length() - 1]
        last = leaf == size - 1
        before = [cut.ends[n] & (last or cut.leaves[n] <= leaf) for n in range(2 * size)]
        # Numbers of columns, from the first of the first window on.
        column = Signal(range(2 * size + 1), name=f"column_{leaf}")
        begun = ones(Cat(cut.done[n] | before[n] for n in range(size)))
        more = ones(Cat(before[size:]))
        m.d.comb += [
            column.eq(begun + Mux(cut.both, more, 0)),
            found.valid.eq(
                cut.filled
                & (last or cut.since <= leaf)
                & (column >= low)
                & (column < size + Mux(cut.both, low, 0))
            ),
            found.offset.eq((column - low)[: len(found.offset)]),
            found.row.eq(cut.block.rows[leaf][: self._config.place_bits]),
            found.value.eq(cut.block.values[leaf]),
        ]

    def _check_rows(self, m: Module, found: Any) -> None:
        """Tells which rows are beyond the matrix, or not above the row of the element before."""
        leaves, rows = found.set.leaves, self.i.payload.block.rows
        last = self._config.pes - 1
        # The column of the last element that went by goes on, and the element's row.
        open = Signal()
        row = Signal(INDEX_BITS, reset_less=True)
        far = []
        late = []
        for n, leaf in enumerate(leaves):
            before, same = row, open & (leaf.offset == 0)
            if n:
                before = rows[n - 1]
                same = leaves[n - 1].valid & (leaf.offset == leaves[n - 1].offset)
            far.append(leaf.valid & (rows[n] >= self.columns))
            late.append(leaf.valid & same & (rows[n] <= before))
        m.d.comb += [found.far.eq(Cat(far)), found.late.eq(Cat(late))]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                open.eq(leaves[last].valid & (leaves[last].offset == found.set.columns)),
                row.eq(rows[last]),
            ]
        with m.If(self.clear):
            m.d.sync += open.eq(0)

    def _send(self, m: Module, placed: OutputRegister, checked: OutputRegister) -> None:
        """Sets as long as nothing is wrong."""
        found = placed.o.payload
        wrong = Signal()
        failed = Signal()
        place = Signal.like(found.set.leaves[0].offset, name="place")
        late = Signal()
        m.d.comb += [
            place.eq(found.place),
            wrong.eq(found.wrong | (found.far | found.late).any()),
            checked.i.valid.eq(placed.o.valid & ~wrong & ~failed),
            checked.i.payload.eq(found.set),
            placed.o.ready.eq(checked.i.ready & ~failed),
            failed.eq(self.pointer_error | self.row_error | self.order_error),
        ]
        for leaf in reversed(range(self._config.pes)):
            with m.If(~found.wrong & (found.far[leaf] | found.late[leaf])):
                m.d.comb += [
                    place.eq(found.set.leaves[leaf].offset),
                    late.eq(~found.far[leaf]),
                ]
        with m.If(placed.o.valid & placed.o.ready & wrong):
            m.d.sync += [
                self.pointer_error.eq(found.wrong),
                self.row_error.eq(~found.wrong & ~late),
                self.order_error.eq(~found.wrong & late),
                self.error_column.eq(found.set.base + place),
            ]
        with m.If(self.clear):
            m.d.sync += [self.pointer_error.eq(0), self.row_error.eq(0), self.order_error.eq(0)]
