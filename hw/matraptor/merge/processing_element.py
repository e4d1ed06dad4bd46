"""The processing element: products into rows of C."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import OptionalSum, delay
from ...spec.matraptor import MatRaptorConfig
from ...stream.multiplex import bypass_unless, demultiplex, multiplex
from ...stream.queue import DeepQueue
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import (
    job_layout,
    outer_layout,
    product_layout,
    result_layout,
    row_layout,
)
from ..outer.product import OuterProduct
from .multiply_stage import MultiplyStage
from .partial_row_merge import PartialRowMerge, row_end_layout
from .queue_set import EmptiedQueue, QueueSet, following_set
from .row_merge import RowMerge


class ProcessingElement(wiring.Component):
    """Multiplies, and merges the products of each row.

    In phase I of a row the products go into one of the sets of queues, in phase II from there to
    the output, while another set takes the next row. In each phase an entry moves per cycle. With a
    ``row_queue`` rows without products pass from phase to phase without a set.

    The latency of (+) does not slow phase I down: entries are claimed when they are sent through
    the adder, and only a merge whose queue's first entry is still in there waits for it. What is
    appended goes past the adder.

    Source: MatRaptor, section on its architecture; the order in which values are summed is that
    of :class:`PartialRowMerge` and :class:`AdderTree`.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: stream of pairs of values, see :func:`product_layout`
    o: stream of entries of C, see :func:`result_layout`. It may take back its valid at ``stop``
    stop: in; drops everything; afterwards all is as after a reset
    overflow: out; an entry would have gone into a full queue. Until ``stop``, nothing more is
        taken; rows before it still leave
    unsorted: out; the same way: the columns of a row of B do not ascend
    error_row: out; with an error, the row of A
    start, job, lane, rows_in_lane, columns, index_error: where there is an outer-product mode, see
        :class:`OuterProduct`; in that mode ``i`` are rows of B
    multiplied: out; a product is accepted in this cycle
    merge_step: out; an entry is moved in a merge of phase I
    merge_wait: out; a merge of phase I waits for an entry that is in the adder
    set_wait: out; a product waits until phase II has emptied a set of queues
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        outer: dict[str, wiring.Member] = {}
        if config.outer_product:
            outer = {
                "start": In(1),
                "job": In(job_layout(config)),
                "lane": In(config.lane_bits),
                "rows_in_lane": In(32),
                "columns": In(stream.Signature(outer_layout(config))),
                "index_error": Out(1),
            }
        super().__init__(
            {
                **outer,
                "i": In(stream.Signature(product_layout(config))),
                "o": Out(stream.Signature(result_layout(config))),
                "stop": In(1),
                "overflow": Out(1),
                "unsorted": Out(1),
                "error_row": Out(row_layout(config)),
                "multiplied": Out(1),
                "merge_step": Out(1),
                "merge_wait": Out(1),
                "set_wait": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.multiply = multiply = MultiplyStage(config)
        m.submodules.merge = merge = PartialRowMerge(config)
        m.submodules.row_merge = row_merge = RowMerge(config)
        sets = [QueueSet(config) for _ in range(config.queue_sets)]
        filled = Signal(config.queue_sets)
        fills = Signal()
        empties = Signal()
        filling = following_set(m, config, "filling", fills, self.stop)
        emptying = following_set(m, config, "emptying", empties, self.stop)
        errors: dict[str, Value] = {
            "overflow": merge.overflow,
            "unsorted": merge.unsorted,
            "error_row": merge.error_row,
        }
        if config.outer_product:
            errors = self._outer(m, multiply, merge, row_merge, sets)
        else:
            wiring.connect(m, wiring.flipped(self.i), multiply.i)
            wiring.connect(m, multiply.o, merge.i)
            wiring.connect(m, row_merge.o, wiring.flipped(self.o))
        m.d.comb += [
            merge.free.eq(~filled.bit_select(filling, 1)),
            multiply.clear.eq(self.stop),
            merge.clear.eq(self.stop),
            row_merge.clear.eq(self.stop),
            merge.source.eq(Array(part.source.as_value() for part in sets)[filling]),
            fills.eq(merge.row_end & merge.filled) if config.row_queue else fills.eq(merge.row_end),
            empties.eq(row_merge.done & row_merge.filled),
        ]
        self._pass_rows(m, merge, row_merge, filled=filled, filling=filling, emptying=emptying)
        for q in range(config.queues):
            m.submodules[f"emptied_{q}"] = emptied = EmptiedQueue(config)
            m.d.comb += [
                emptied.done.eq(empties),
                emptied.clear.eq(self.stop),
                row_merge.heads[q].eq(emptied.o.head),
                row_merge.valid[q].eq(emptied.o.valid),
                row_merge.empty[q].eq(emptied.o.empty),
                row_merge.single[q].eq(emptied.o.single),
            ]
            for s, part in enumerate(sets):
                m.d.comb += [
                    emptied.sets[s].head.eq(part.heads[q]),
                    emptied.sets[s].valid.eq(part.valid[q]),
                    emptied.sets[s].empty.eq(part.empty[q]),
                    emptied.sets[s].single.eq(part.single[q]),
                ]
        for s, part in enumerate(sets):
            m.submodules[f"set_{s}"] = part
            with m.If(fills & (filling == s)):
                m.d.sync += filled[s].eq(1)
            with m.Elif(empties & (emptying == s)):
                m.d.sync += filled[s].eq(0)
            m.d.comb += [
                part.clear.eq(self.stop),
                part.selected.eq(merge.selected),
                part.source_pop.eq(merge.pop),
                part.filling.eq(filling == s),
                part.pop.eq(row_merge.step & row_merge.filled & (emptying == s)),
                part.popped.eq(row_merge.popped),
            ]
        self._move(m, merge, sets, filling)
        m.d.comb += [getattr(self, name).eq(value) for name, value in errors.items()]
        pair = multiply.i
        m.d.comb += [
            self.multiplied.eq(pair.valid & pair.ready & pair.payload.present),
            self.merge_step.eq(merge.move & merge.entry.merging),
            self.merge_wait.eq(merge.starved),
            self.set_wait.eq(merge.i.valid & ~merge.free),
        ]
        with m.If(self.stop):
            m.d.sync += filled.eq(0)
        return m

    def _pass_rows(
        self,
        m: Module,
        merge: PartialRowMerge,
        row_merge: RowMerge,
        *,
        filled: Signal,
        filling: Signal,
        emptying: Signal,
    ) -> None:
        """The rows whose phase I has ended, in their order: beside their sets, or in a queue."""
        config, ended = self.config, row_end_layout(self.config)
        if config.row_queue:
            layout = data.StructLayout({"ended": ended, "filled": 1})
            m.submodules.rows = rows = DeepQueue(layout, config.row_queue)
            m.d.comb += [
                rows.clear.eq(self.stop),
                rows.i.valid.eq(merge.row_end),
                rows.i.payload.ended.eq(merge.ended),
                rows.i.payload.filled.eq(merge.filled),
                merge.room.eq(rows.i.ready),
                row_merge.active.eq(rows.o.valid),
                row_merge.filled.eq(rows.o.payload.filled),
                row_merge.ended.eq(rows.o.payload.ended),
                rows.o.ready.eq(row_merge.done),
            ]
            return
        m.d.comb += [
            merge.room.eq(1),
            row_merge.active.eq(filled.bit_select(emptying, 1)),
            row_merge.filled.eq(1),
        ]
        for s in range(config.queue_sets):
            row = Signal(ended, name=f"ended_{s}", reset_less=True)
            with m.If(merge.row_end & (filling == s)):
                m.d.sync += row.eq(merge.ended)
            with m.If(emptying == s):
                m.d.comb += row_merge.ended.eq(row)

    def _outer(
        self,
        m: Module,
        multiply: MultiplyStage,
        merge: PartialRowMerge,
        row_merge: RowMerge,
        sets: list[QueueSet],
    ) -> dict[str, Value]:
        """The other mode: between the same ends, with the same multiplier and memories."""
        queues, mode = self.config.queues, self.job.mode
        m.submodules.outer = outer = OuterProduct(self.config)
        bypass_unless(m, mode, self.i, (outer.i, outer.products), multiply.i)
        demultiplex(m, mode, multiply.o, (merge.i, outer.partials))
        multiplex(m, mode, (row_merge.o, outer.o), self.o)
        wiring.connect(m, wiring.flipped(self.columns), outer.columns)
        m.d.comb += [
            outer.start.eq(self.start & mode & (self.rows_in_lane != 0)),
            outer.stop.eq(self.stop),
            self.index_error.eq(outer.index_error),
        ]
        for name in ("job", "lane", "rows_in_lane"):
            m.d.comb += getattr(outer, name).eq(getattr(self, name))
        for s, part in enumerate(sets):
            m.d.comb += part.directly.eq(mode)
            # Sums are in those of two sets.
            for q in range(queues if s < 2 else 0):
                m.d.comb += [
                    part.direct[q].eq(outer.memories[s * queues + q]),
                    outer.heads[s * queues + q].eq(part.words[q]),
                ]
        return {
            "overflow": Mux(mode, outer.overflow, merge.overflow),
            "unsorted": Mux(mode, outer.unsorted, merge.unsorted),
            "error_row": Mux(mode, outer.error_row.as_value(), merge.error_row.as_value()),
        }

    def _move(
        self, m: Module, merge: PartialRowMerge, sets: list[QueueSet], filling: Signal
    ) -> None:
        """The way of an entry: past the adder, or through it."""
        config, entry = self.config, merge.entry
        stages = config.adder_stages
        m.submodules.add = add = OptionalSum(config.operators, config.format, stages)
        summed = Signal()
        m.d.comb += [
            summed.eq(merge.move & entry.merging),
            add.a.eq(entry.kept),
            add.b.eq(entry.product),
            add.a_present.eq(entry.takes_kept),
            add.b_present.eq(entry.takes_product),
            add.advance.eq(1),
        ]
        m.submodules.sums = sums = ValidPipeline(stages)
        m.d.comb += [sums.i.eq(summed), sums.advance.eq(1), sums.clear.eq(self.stop)]
        column = delay(m, entry.column, stages, Value.cast(1), "column")
        target = delay(m, entry.target, stages, Value.cast(1), "target")
        place = delay(m, filling, stages, Value.cast(1), "place")
        for s, part in enumerate(sets):
            # Nothing is appended to a set while sums are in flight: appending comes first
            # in a row, and a row begins with empty queues.
            here = Signal(name=f"appends_{s}")
            m.d.comb += [
                here.eq(merge.append & (filling == s)),
                part.claim.eq(merge.move & (filling == s)),
                part.claim_queue.eq(entry.target),
                part.write.eq(here | (sums.o & (place == s))),
                part.write_queue.eq(Mux(here, entry.target, target)),
                part.entry.value.eq(Mux(here, entry.product, add.o)),
                part.entry.column.eq(Mux(here, merge.i.payload.column, column)),
            ]
