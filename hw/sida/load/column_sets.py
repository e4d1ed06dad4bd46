"""Decides which columns, and which elements of a block, form a set."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...job.activity import ones
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.stream_registers import OutputRegister, SkidBuffer
from ..layouts import count_bits, set_layout
from .layouts import block_layout, cut_layout, window_layout


class SetLeaves(wiring.Component):
    """Assigns columns to the elements of a block, and checks their rows.

    Rows must be in the matrix, and ascend within a column.

    A set a cycle, two cycles from ``i`` to ``o``; no path from ``o.ready`` to ``i.ready``. After
    what is wrong nothing leaves any more, until ``clear``.

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
        self.config: Final = config
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

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self.config.pes
        layout = data.StructLayout(
            {
                "set": set_layout(self.config),
                "far": pes,
                "late": pes,
                "wrong": 1,
                "place": self.i.payload.place.shape(),
            }
        )
        m.submodules.placed = placed = OutputRegister(layout, clearable=True)
        m.submodules.checked = checked = SkidBuffer(self.o.payload.shape(), clearable=True)
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
        size, cut = self.config.pes, self.i.payload
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
            found.row.eq(cut.block.rows[leaf][: self.config.place_bits]),
            found.value.eq(cut.block.values[leaf]),
        ]

    def _check_rows(self, m: Module, found: Any) -> None:
        """Tells which rows are beyond the matrix, or not above the row of the element before."""
        leaves, rows = found.set.leaves, self.i.payload.block.rows
        last = self.config.pes - 1
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

    def _send(self, m: Module, placed: OutputRegister, checked: SkidBuffer) -> None:
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
        for leaf in reversed(range(self.config.pes)):
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


class ColumnCut(wiring.Component):
    """Matches the ends of columns with the blocks of elements.

    A set a cycle: the rest of a block as far as the columns of two windows go, less than ``pes``
    of them, and of one step. So a block is one set, unless a step ends in it or its columns are
    short; columns without elements go by a window a cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    windows: see ``window_layout``
    blocks: see ``block_layout``; of all elements
    columns, elements: in; of the matrix, constant from ``start`` on
    start: in, a pulse before the first window comes
    o: see ``cut_layout``; nothing follows what is wrong, or final
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "windows": In(stream.Signature(window_layout(config))),
                "blocks": In(stream.Signature(block_layout(config))),
                "columns": In(count_bits(config)),
                "elements": In(INDEX_BITS),
                "start": In(1),
                "o": Out(stream.Signature(cut_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, size = self.config, self.config.pes
        m.submodules.cut = cut = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, cut.o, wiring.flipped(self.o))
        goes = Signal()
        # All columns of the first window go.
        passes = Signal()
        first, second, first_valid, second_valid = self._hold(m, goes & passes)
        base = Signal(count_bits(config))
        done = Signal(size)
        block = Signal(INDEX_BITS - self._shift + 1)
        following = Signal.like(block)
        # The elements have all gone.
        spent = Signal()
        # The first leaf of the block that is of no set before.
        since = Signal(range(self.config.pes))
        stopped = Signal()
        bad = Signal()
        low = base[: size.bit_length() - 1]
        m.d.comb += [
            # Never all of them.
            done.eq(Cat(low > n for n in range(size - 1))),
            bad.eq(first.bad.any()),
            cut.clear.eq(self.clear),
            cut.i.valid.eq(
                first_valid
                & ~stopped
                & (bad | ((second_valid | first.last) & (self.blocks.valid | spent)))
            ),
            goes.eq(cut.i.valid & cut.i.ready),
        ]
        near = [self._near(m, "first", first, block, following, done)]
        near.append(self._near(m, "second", second, block, following, None))
        # Columns of the second window may be the set's.
        both = Signal()
        m.d.comb += [
            passes.eq(near[0].inside[size - 1] & ~bad),
            both.eq(passes & second_valid & ~second.first & ~second.bad.any()),
        ]
        columns, finished, ends, behind = self._extent(m, first, second, near, done, both)
        m.d.comb += self.blocks.ready.eq(goes & finished & ~spent & ~bad)
        with m.If(self.clear | self.start):
            m.d.sync += [base.eq(0), block.eq(0), following.eq(1), stopped.eq(0)]
            m.d.sync += [spent.eq(self.elements == 0), since.eq(0)]
        with m.Elif(goes):
            m.d.sync += [base.eq(base + columns), spent.eq(spent | ends)]
            # The columns of a second window in the final set are not examined again.
            m.d.sync += stopped.eq(bad | cut.i.payload.final)
            m.d.sync += since.eq(Mux(finished, 0, behind))
            with m.If(finished & ~ends & ~spent):
                m.d.sync += [block.eq(following), following.eq(following + 1)]
        self._make(m, cut.i.payload, (first, second), near)
        m.d.comb += [
            cut.i.payload.base.eq(base),
            cut.i.payload.columns.eq(columns),
            cut.i.payload.final.eq(base + columns == self.columns),
            cut.i.payload.done.eq(done),
            cut.i.payload.both.eq(both),
            cut.i.payload.since.eq(since),
            cut.i.payload.filled.eq(~spent),
            cut.i.payload.wrong.eq(bad),
        ]
        return m

    @property
    def _shift(self) -> int:
        """Bits of a leaf's number."""
        return self.config.pes.bit_length() - 1

    def _hold(self, m: Module, moves: Value) -> tuple[Any, Any, Signal, Signal]:
        """Holds two windows; returns them and whether they are present."""
        layout = window_layout(self.config)
        first = Signal(layout, reset_less=True)
        second = Signal(layout, reset_less=True)
        first_valid = Signal()
        second_valid = Signal()
        shifts = Signal()
        m.d.comb += [
            shifts.eq(moves | ~first_valid),
            self.windows.ready.eq(~second_valid | shifts),
        ]
        with m.If(shifts):
            m.d.sync += [first.eq(second), first_valid.eq(second_valid)]
        with m.If(self.windows.ready):
            m.d.sync += [second.eq(self.windows.payload), second_valid.eq(self.windows.valid)]
        with m.If(self.clear):
            m.d.sync += [first_valid.eq(0), second_valid.eq(0)]
        return first, second, first_valid, second_valid

    def _near(
        self, m: Module, name: str, window: Any, block: Signal, following: Signal, done: Any
    ) -> Any:
        """Compares the ends of a window's columns with the block.

        ``ends``: columns that end before one of the block's leaves. ``inside``: those that end up
        to its end. ``before``: those that end before that. All include the columns that ended
        earlier.
        """
        size = self.config.pes
        found = Signal(
            data.StructLayout(dict.fromkeys(("ends", "inside", "before"), size)),
            name=f"near_{name}",
        )
        for n in range(size):
            number = window.ends[n][self._shift :]
            leaf = window.ends[n][: self._shift]
            over = (number == following) & (leaf == 0)
            gone = done[n] if done is not None else 0
            m.d.comb += [
                found.ends[n].eq(number == block),
                found.before[n].eq(found.ends[n] | gone),
                found.inside[n].eq(found.before[n] | over),
            ]
        return found

    def _extent(
        self, m: Module, first: Any, second: Any, near: Any, done: Value, both: Value
    ) -> tuple[Value, Value, Value, Value]:
        """Computes the extent of a set.

        Returns how many columns it completes; whether it has the last element of its block, and
        that of the matrix; if it has not, the leaf after it.
        """
        size = self.config.pes
        columns = Signal(range(self.config.pes + 1))
        begun = near[0].inside & first.present & ~done
        # At most as many of the second window as are done of the first: below `pes` in all.
        more = near[1].inside & second.present & done
        m.d.comb += columns.eq(ones(begun) + Mux(both, ones(more), 0))
        # The last column that may have elements in the set, by window.
        last = [Signal(size, name="last_of_first"), Signal(size, name="last_of_second")]
        m.d.comb += last[0].eq(1 << size - 1)
        m.d.comb += last[1].eq(done & ~(done >> 1))
        finished = Signal()
        ends = Signal()
        found = []
        behind = [Signal(self._shift, name=f"behind_{name}") for name in ("first", "second")]
        for number, (window, its) in enumerate(zip((first, second), near, strict=True)):
            goes_on = (its.before & ~window.whole & last[number]).any()
            found.append((~goes_on, (its.inside & window.whole & last[number]).any()))
            for n in range(size):
                with m.If(last[number][n]):
                    m.d.comb += behind[number].eq(window.ends[n][: self._shift])
        chosen = both & done.any()
        m.d.comb += [
            finished.eq(Mux(chosen, found[1][0], found[0][0])),
            ends.eq(Mux(chosen, found[1][1], found[0][1])),
        ]
        return columns, finished, ends, Mux(chosen, behind[1], behind[0])

    def _make(self, m: Module, cut: Any, windows: tuple[Any, Any], near: Any) -> None:
        """Builds the fields of the cut from which the leaves of a set are made."""
        size = self.config.pes
        m.d.comb += [
            cut.ends.eq(Cat(its.ends for its in near)),
            cut.block.eq(self.blocks.payload),
        ]
        for number, window in enumerate(windows):
            for n in range(size):
                leaf = window.ends[n][: self._shift]
                m.d.comb += cut.leaves[number * size + n].eq(leaf)
        for n in reversed(range(size)):
            with m.If(windows[0].bad[n]):
                m.d.comb += cut.place.eq(n)
