"""Phase II of a row: all its queues into one stream."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_functions import delay
from ...spec.matraptor import MatRaptorConfig
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import entry_layout, result_layout
from .adder_tree import AdderTree
from .minimum_column import MinimumColumn
from .partial_row_merge import row_end_layout

__all__ = ["RowMerge"]


class RowMerge(wiring.Component):
    """Merges the queues of a set, smallest column first, equal columns summed: an entry per cycle.

    It waits while a queue's first entry is on its way into it. A row without entries gives one
    token that is not ``present``.

    Source: MatRaptor, section on the implementation of the row-wise product.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    active: in; the queues hold a row, until ``done``
    ended: in; which one, see :func:`row_end_layout`
    heads, valid, empty, single: in; of each queue, see :class:`SortingQueue`
    pop: out; the queues whose heads are taken
    done: out; with the last of them
    clear: in; forgets everything at the end of the cycle
    o: the row's entries, see :func:`result_layout`
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        count = config.queues
        super().__init__(
            {
                "active": In(1),
                "ended": In(row_end_layout(config)),
                "heads": In(data.ArrayLayout(entry_layout(config), count)),
                "valid": In(count),
                "empty": In(count),
                "single": In(count),
                "clear": In(1),
                "pop": Out(count),
                "done": Out(1),
                "o": Out(stream.Signature(result_layout(config))),
            }
        )

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, count = self._config, self._config.queues
        m.submodules.minimum = minimum = MinimumColumn(count, config.index_bits)
        m.submodules.tree = tree = AdderTree(
            config.operators, config.format, count=count, stages=config.adder_stages
        )
        advance = Signal()
        step = Signal()
        for q in range(count):
            m.d.comb += [
                minimum.columns[q].eq(self.heads[q].column),
                tree.values[q].eq(self.heads[q].value),
            ]
        m.d.comb += [
            minimum.present.eq(~self.empty),
            step.eq(self.active & advance & (self.empty | self.valid).all()),
            self.pop.eq(Mux(step, minimum.chosen, 0)),
            self.done.eq(step & (self.empty | (self.single & minimum.chosen)).all()),
            tree.present.eq(minimum.chosen),
            tree.advance.eq(advance),
        ]
        token = Signal(result_layout(config))
        m.d.comb += [
            token.column.eq(minimum.column),
            token.present.eq(~self.empty.all()),
            token.row_last.eq(self.done),
            token.lane_last.eq(self.done & self.ended.lane_last),
            token.row.eq(self.ended.row),
        ]
        m.submodules.valids = valids = ValidPipeline(tree.latency)
        m.d.comb += [
            valids.i.eq(step),
            valids.advance.eq(advance),
            valids.clear.eq(self.clear),
        ]
        # Beside the tree; the value is the tree's.
        beside = data.StructLayout(
            {name: field.shape for name, field in token.shape() if name != "value"}
        )
        early = Signal(beside)
        late = Signal(beside)
        m.d.comb += late.eq(delay(m, early.as_value(), tree.latency, advance, "beside"))
        for name in beside.members:
            m.d.comb += [early[name].eq(token[name]), self.o.payload[name].eq(late[name])]
        m.d.comb += [
            self.o.payload.value.eq(tree.o),
            self.o.valid.eq(valids.o),
            advance.eq(self.o.ready | ~valids.o),
        ]
        return m
