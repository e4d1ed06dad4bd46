"""Elements of rows of which the columns are wanted, and whether their columns hold."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.output_register import OutputRegister
from ..held.layouts import reload_layout
from ..layouts import count_bits
from .row_cut import part_layout

__all__ = ["RowElements"]


def _judged_layout(config: SidaConfig) -> data.StructLayout:
    """What may leave, and what is wrong: columns too ``far``, too ``late``; a ``bad`` pointer."""
    wrong = dict.fromkeys(("far", "late"), config.pes)
    return data.StructLayout({"reload": reload_layout(config), **wrong, "bad": 1})


class RowElements(wiring.Component):
    """Leaves out what is of other columns, and checks them all: they are in the matrix, and ascend
    within a row.

    A part of a row a cycle, two cycles from ``i`` to ``o``; parts of which nothing is wanted are
    left out, but for a panel's last one. After what is wrong nothing leaves any more, until
    ``clear``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: see :func:`part_layout`
    rows: in; of the matrix, as many columns
    o: see :func:`reload_layout`
    pointer_error, column_error, order_error: out, at most one of them: the end of ``error_row`` is
        bad, one of its columns is not in the matrix, or not behind the column before it
    error_row: out; the first row that is wrong
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(part_layout(config))),
                "rows": In(count_bits(config)),
                "o": Out(stream.Signature(reload_layout(config))),
                "pointer_error": Out(1),
                "column_error": Out(1),
                "order_error": Out(1),
                "error_row": Out(config.place_bits),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        m.submodules.placed = placed = OutputRegister(_judged_layout(self._config), clearable=True)
        m.submodules.checked = checked = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, checked.o, wiring.flipped(self.o))
        found = placed.i.payload
        columns = given.block.columns
        before = Signal(INDEX_BITS, reset_less=True)
        m.d.comb += [
            placed.clear.eq(self.clear),
            checked.clear.eq(self.clear),
            placed.i.valid.eq(self.i.valid),
            self.i.ready.eq(placed.i.ready),
            found.bad.eq(given.bad),
            found.reload.row.eq(given.row),
            found.reload.last.eq(given.last),
        ]
        for n, element in enumerate(found.reload.elements):
            here, first = given.present[n], given.lane == n
            follows = Mux(first, given.again, here)
            m.d.comb += [
                element.valid.eq(here & (columns[n] < given.columns)),
                element.column.eq(columns[n]),
                element.value.eq(given.block.values[n]),
                found.far[n].eq(here & (columns[n] >= self.rows)),
                found.late[n].eq(
                    here & follows & (columns[n] <= Mux(first, before, columns[n - 1]))
                ),
            ]
        with m.If(self.i.valid & self.i.ready):
            # A part that is not the row's last one has all leaves.
            m.d.sync += [before.eq(Array(columns)[(given.lane - 1)[: len(given.lane)]])]
        self._send(m, placed, checked)
        return m

    def _send(self, m: Module, placed: OutputRegister, checked: OutputRegister) -> None:
        """Parts of rows as long as nothing is wrong."""
        found = placed.o.payload
        far = Signal()
        late = Signal()
        wrong = Signal()
        failed = Signal()
        wanted = Signal()
        m.d.comb += [
            far.eq(~found.bad & found.far.any()),
            late.eq(~found.bad & ~found.far.any() & found.late.any()),
            wrong.eq(found.bad | far | late),
            failed.eq(self.pointer_error | self.column_error | self.order_error),
            wanted.eq(Cat(element.valid for element in found.reload.elements).any()),
            checked.i.valid.eq(placed.o.valid & ~wrong & ~failed & (wanted | found.reload.last)),
            checked.i.payload.eq(found.reload),
            placed.o.ready.eq(checked.i.ready & ~failed),
        ]
        with m.If(placed.o.valid & placed.o.ready & wrong):
            m.d.sync += [
                self.pointer_error.eq(found.bad),
                self.column_error.eq(far),
                self.order_error.eq(late),
                self.error_row.eq(found.reload.row),
            ]
        with m.If(self.clear):
            m.d.sync += [self.pointer_error.eq(0), self.column_error.eq(0), self.order_error.eq(0)]
