"""The folds of a command in their order."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import LEFT_WORD_BYTES, ROWS, GtaConfig
from ..fold_layouts import place_layout, result_fold_layout
from ..layouts import Operation, left_words, pgemm_layout
from .limb_groups import by_limbs, group_sizes

__all__ = ["FoldWalk"]


class FoldWalk(wiring.Component):
    """Counts row folds and column folds, and says where operands and results of each are.

    Column folds are the inner loop where the command is ``lateral``, otherwise row folds.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    command, limbs_log, floats: in; constant from ``restart`` on
    place: in; of the lane in its region
    restart: in; the next fold is the command's first one
    step: in; the next fold is taken; not with ``restart``
    ends: out; the next fold is the command's last one
    left, top, rows, result: out; of the fold that was taken last, see :func:`fold_layout`
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "command": In(pgemm_layout(config)),
                "limbs_log": In(2),
                "floats": In(1),
                "place": In(place_layout(config)),
                "restart": In(1),
                "step": In(1),
                "ends": Out(1),
                "left": Out(range(left_words(config))),
                "top": Out(range(config.edge_bytes)),
                "rows": Out(range(ROWS * config.lanes + 1)),
                "result": Out(result_fold_layout(config)),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = self.command
        weights = Signal()
        rows = Signal(range(ROWS * self._config.lanes + 1))
        last_row = Signal()
        last_column = Signal()
        next_row = Signal()
        next_column = Signal()
        m.d.comb += [
            weights.eq(command.operation == Operation.WS),
            rows.eq(Cat(Const(0, 3), self.place.rows)),
            self.ends.eq(last_row & last_column),
            next_row.eq(self.step & (~command.lateral | last_column)),
            next_column.eq(self.step & (command.lateral | last_row)),
        ]
        top, word = self._columns(m, last=last_column, step=next_column)
        left, offset, element, first = self._rows(
            m, weights=weights, rows=rows, last=last_row, step=next_row
        )
        low = LEFT_WORD_BYTES.bit_length() - 1
        m.d.sync += [
            self.left.eq(left),
            self.top.eq(Cat(Const(0, low), top) + offset),
            self.rows.eq(Mux(last_row, command.rows_last, rows)),
            self.result.word.eq(word),
            self.result.element.eq(Mux(weights, 0, element)),
            self.result.accumulate.eq(command.use_c | (weights & ~first)),
            self.result.last.eq(self.ends),
        ]
        return m

    def _rows(
        self, m: Module, *, weights: Value, rows: Value, last: Signal, step: Value
    ) -> tuple[Signal, Signal, Signal, Signal]:
        """What changes from row fold to row fold: the word on the left, the byte in a column's
        string, the first result, and that this is the first one."""
        command = self.command
        count = Signal.like(command.row_folds, name="row_folds_left")
        first = Signal(name="first_row_fold")
        left = Signal.like(self.left, name="next_left")
        offset = Signal.like(self.top, name="next_offset")
        element = Signal.like(self.result.element, name="next_element")
        elements = Signal(range(ROWS * self._config.lanes + 1))
        sizes = group_sizes(self._config) or (1,)
        whole = {size: rows[size.bit_length() - 1 :] for size in sizes}
        m.d.comb += [
            last.eq(count <= 1),
            elements.eq(Mux(self.floats, ROWS, by_limbs(self.limbs_log, whole))),
        ]
        with m.If(self.restart | (step & last)):
            m.d.sync += [
                count.eq(command.row_folds),
                first.eq(1),
                left.eq(command.left_base),
                offset.eq(Mux(weights, rows - 1, 0)),
                element.eq(0),
            ]
        with m.Elif(step):
            m.d.sync += [
                count.eq(count - 1),
                first.eq(0),
                left.eq(left + command.left_stride),
                offset.eq(offset + Mux(weights, rows, 0)),
                element.eq(element + elements),
            ]
        return left, offset, element, first

    def _columns(self, m: Module, *, last: Signal, step: Value) -> tuple[Signal, Signal]:
        """What changes from column fold to column fold: the words above and of results."""
        command = self.command
        count = Signal.like(command.col_folds, name="col_folds_left")
        top = Signal.like(command.top_base, name="next_top")
        word = Signal.like(self.result.word, name="next_word")
        m.d.comb += last.eq(count <= 1)
        with m.If(self.restart | (step & last)):
            m.d.sync += [
                count.eq(command.col_folds),
                top.eq(command.top_base),
                word.eq(command.result_base),
            ]
        with m.Elif(step):
            m.d.sync += [
                count.eq(count - 1),
                top.eq(top + command.top_stride),
                word.eq(word + command.result_stride),
            ]
        return top, word
