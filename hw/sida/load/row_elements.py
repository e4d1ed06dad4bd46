"""Elements of rows of which the columns are wanted, and whether their columns hold."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...job.activity import ones
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.stream_registers import OutputRegister
from ..held.layouts import reload_layout
from ..layouts import count_bits
from .row_windows import rows_window_layout


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
        self.config: Final = config
        super().__init__(
            {
                "windows": In(stream.Signature(rows_window_layout(config))),
                "blocks": In(stream.Signature(row_block_layout(config))),
                "o": Out(stream.Signature(rows_cut_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pes = self.config.pes
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


def _judged_layout(config: SidaConfig) -> data.StructLayout:
    """Elements that may leave, and their errors.

    Columns too ``far``, or too ``late``; a ``bad`` pointer, at ``place``.
    """
    wrong = dict.fromkeys(("far", "late"), config.pes)
    return data.StructLayout(
        {"reload": reload_layout(config), **wrong, "bad": 1, "place": range(config.pes)}
    )


class RowElements(wiring.Component):
    """Assigns rows to the elements of a block, drops those of other columns, and checks all.

    Columns must be in the matrix, and ascend within a row.

    A set a cycle, two cycles from ``i`` to ``o``; sets of which nothing is wanted are left out, but
    for a panel's last one. After what is wrong nothing leaves any more, until
    ``clear``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: see :func:`rows_cut_layout`
    rows: in; of the matrix, as many columns
    o: see :func:`reload_layout`
    pointer_error, column_error, order_error: out, at most one of them: the end of ``error_row`` is
        bad, one of its columns is not in the matrix, or not behind the column before it
    error_row: out; the first row that is wrong
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(rows_cut_layout(config))),
                "rows": In(count_bits(config)),
                "o": Out(stream.Signature(reload_layout(config))),
                "pointer_error": Out(1),
                "column_error": Out(1),
                "order_error": Out(1),
                "error_row": Out(config.place_bits),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.placed = placed = OutputRegister(_judged_layout(self.config), clearable=True)
        m.submodules.checked = checked = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, checked.o, wiring.flipped(self.o))
        found, given = placed.i.payload, self.i.payload
        m.d.comb += [
            placed.clear.eq(self.clear),
            checked.clear.eq(self.clear),
            placed.i.valid.eq(self.i.valid),
            self.i.ready.eq(placed.i.ready),
            found.bad.eq(given.wrong),
            found.place.eq(given.place),
            found.reload.row.eq(given.row),
            found.reload.last.eq(given.last),
        ]
        self._place(m, found)
        self._send(m, placed, checked)
        return m

    def _place(self, m: Module, found: data.View) -> None:
        """Computes each element's row from the rows that end before it, and checks its column."""
        given, pes = self.i.payload, self.config.pes
        columns, elements = given.block.columns, found.reload.elements
        here = Signal(pes)
        # The row of the last element that went by goes on; that, and the element's column.
        opened = Signal()
        row = Signal.like(given.row, reset_less=True)
        column = Signal(INDEX_BITS, reset_less=True)
        for n, element in enumerate(elements):
            # No leaf is behind the last one.
            last = n == pes - 1
            before = [
                given.passed[row] | (given.ends[row] & (last or given.leaves[row] <= n))
                for row in range(pes)
            ]
            number = Signal(range(pes + 1), name=f"row_{n}")
            m.d.comb += [
                number.eq(ones(Cat(before))),
                here[n].eq(given.filled & (last or given.since <= n) & (number < given.rows)),
                element.valid.eq(here[n] & (columns[n] < given.columns)),
                element.offset.eq(number[: len(element.offset)]),
                element.column.eq(columns[n]),
                element.value.eq(given.block.values[n]),
                found.far[n].eq(here[n] & (columns[n] >= self.rows)),
            ]
            if n:
                follows = here[n - 1] & (elements[n - 1].offset == element.offset)
                least = columns[n - 1]
            else:
                follows, least = opened & (row == given.row + element.offset), column
            m.d.comb += found.late[n].eq(here[n] & follows & (columns[n] <= least))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                opened.eq(here[pes - 1] & ~given.last),
                row.eq(given.row + elements[pes - 1].offset),
                column.eq(columns[pes - 1]),
            ]
        with m.If(self.clear):
            m.d.sync += opened.eq(0)

    def _send(self, m: Module, placed: OutputRegister, checked: OutputRegister) -> None:
        """Sets as long as nothing is wrong."""
        found = placed.o.payload
        late = Signal()
        wrong = Signal()
        failed = Signal()
        wanted = Signal()
        place = Signal.like(found.place)
        m.d.comb += [
            place.eq(found.place),
            wrong.eq(found.bad | (found.far | found.late).any()),
            failed.eq(self.pointer_error | self.column_error | self.order_error),
            wanted.eq(Cat(element.valid for element in found.reload.elements).any()),
            checked.i.valid.eq(placed.o.valid & ~wrong & ~failed & (wanted | found.reload.last)),
            checked.i.payload.eq(found.reload),
            placed.o.ready.eq(checked.i.ready & ~failed),
        ]
        for n in reversed(range(self.config.pes)):
            with m.If(~found.bad & (found.far[n] | found.late[n])):
                m.d.comb += [
                    place.eq(found.reload.elements[n].offset),
                    late.eq(~found.far[n]),
                ]
        with m.If(placed.o.valid & placed.o.ready & wrong):
            m.d.sync += [
                self.pointer_error.eq(found.bad),
                self.column_error.eq(~found.bad & ~late),
                self.order_error.eq(~found.bad & late),
                self.error_row.eq(found.reload.row + place),
            ]
        with m.If(self.clear):
            m.d.sync += [self.pointer_error.eq(0), self.column_error.eq(0), self.order_error.eq(0)]
