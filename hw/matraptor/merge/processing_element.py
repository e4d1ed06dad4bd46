"""The processing element: products into rows of C."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import OptionalSum, delay
from ...spec.matraptor import MatRaptorConfig
from ...stream.multiplex import bypass_unless, demultiplex, multiplex
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import (
    direct_layout,
    entry_layout,
    job_layout,
    outer_layout,
    product_layout,
    result_layout,
    row_layout,
)
from ..outer.product import OuterProduct
from .multiply_stage import MultiplyStage
from .partial_row_merge import PartialRowMerge, row_end_layout, source_layout
from .row_merge import RowMerge, SortingQueue


class QueueSet(wiring.Component):
    """Set of ``queues`` sorting queues, with one entry written per cycle.

    Source: MatRaptor, section on its architecture.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    claim, claim_queue: in; an entry more will be written to that queue
    write, write_queue, entry: in; an entry
    selected: in; one bit for each queue: the one to be shown at ``source``
    source: out; its state, see :func:`source_layout`
    source_pop: in; takes its head, if ``filling``; it arrives late
    filling: in; phase I has this set
    pop, popped: in; takes the heads of all queues that are ``popped``, which arrive late
    clear: in; forgets all entries at the end of the cycle
    heads, valid, empty, single: out; of each queue, see :class:`SortingQueue`
    directly, direct, words: in, in, out; of each queue, likewise, where there is an outer-product
        mode
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        count = config.queues
        entry = entry_layout(config)
        members: dict[str, wiring.Member] = {}
        if config.outer_product:
            direct = data.ArrayLayout(direct_layout(config), count)
            words = data.ArrayLayout(entry, count)
            members = {"directly": In(1), "direct": In(direct), "words": Out(words)}
        super().__init__(
            {
                **members,
                "claim": In(1),
                "claim_queue": In(range(count)),
                "write": In(1),
                "write_queue": In(range(count)),
                "entry": In(entry),
                "selected": In(count),
                "source": Out(source_layout(config)),
                "source_pop": In(1),
                "filling": In(1),
                "pop": In(1),
                "popped": In(count),
                "clear": In(1),
                "heads": Out(data.ArrayLayout(entry, count)),
                "valid": Out(count),
                "empty": Out(count),
                "single": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        entry = entry_layout(config)
        direct = direct_layout(config) if config.outer_product else None
        shown: Value = Value.cast(0)
        for q in range(config.queues):
            m.submodules[f"queue_{q}"] = queue = SortingQueue(entry, config.queue_depth, direct)
            if direct is not None:
                m.d.comb += [
                    queue.directly.eq(self.directly),
                    queue.direct.eq(self.direct[q]),
                    self.words[q].eq(queue.word),
                ]
            m.d.comb += [
                queue.claim.eq(self.claim & (self.claim_queue == q)),
                queue.write.eq(self.write & (self.write_queue == q)),
                queue.entry.eq(self.entry),
                queue.clear.eq(self.clear),
                queue.pop.eq(
                    (self.pop & self.popped[q])
                    | (self.source_pop & (self.selected[q] & self.filling))
                ),
                self.heads[q].eq(queue.head),
                self.valid[q].eq(queue.valid),
                self.empty[q].eq(queue.empty),
                self.single[q].eq(queue.single),
            ]
            state = Signal(source_layout(config), name=f"state_{q}")
            m.d.comb += [
                state.head.eq(queue.head),
                state.valid.eq(queue.valid),
                state.empty.eq(queue.empty),
                state.single.eq(queue.single),
            ]
            shown = shown | Mux(self.selected[q], state.as_value(), 0)
        m.d.comb += self.source.eq(shown)
        return m


class EmptiedQueue(wiring.Component):
    """Shows a queue of the set that phase II empties.

    It has a register of its own that says which set this is: a single one would take long to drive
    the multiplexers of all queues.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    sets: array; the queue's state in each set, see :func:`source_layout`
    done: in; the other set is next
    clear: in; as after a reset, at the end of the cycle
    o: out; the queue's state in the set
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        state = source_layout(config)
        super().__init__(
            {
                "sets": In(data.ArrayLayout(state, 2)),
                "done": In(1),
                "clear": In(1),
                "o": Out(state),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        second = Signal()
        first, other = (self.sets[s].as_value() for s in range(2))
        m.d.comb += self.o.as_value().eq(Mux(second, other, first))
        m.d.sync += second.eq((second ^ self.done) & ~self.clear)
        return m


class ProcessingElement(wiring.Component):
    """Multiplies, and merges the products of each row.

    In phase I of a row the products go into one of two sets of queues, in phase II from there to
    the output, while the other set takes the next row. In each phase an entry moves per cycle.

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
        sets = [QueueSet(config) for _ in range(2)]
        filled = Signal(2)
        filling = Signal()
        emptying = Signal()
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
            merge.free.eq(~Mux(filling, filled[1], filled[0])),
            multiply.clear.eq(self.stop),
            merge.clear.eq(self.stop),
            row_merge.clear.eq(self.stop),
            row_merge.active.eq(Mux(emptying, filled[1], filled[0])),
            merge.source.eq(Mux(filling, sets[1].source.as_value(), sets[0].source.as_value())),
        ]
        for q in range(config.queues):
            m.submodules[f"emptied_{q}"] = emptied = EmptiedQueue(config)
            m.d.comb += [
                emptied.done.eq(row_merge.done),
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
            ended = Signal(row_end_layout(config), name=f"ended_{s}", reset_less=True)
            with m.If(merge.row_end & (filling == s)):
                m.d.sync += [filled[s].eq(1), ended.eq(merge.ended)]
            with m.Elif(row_merge.done & (emptying == s)):
                m.d.sync += filled[s].eq(0)
            with m.If(emptying == s):
                m.d.comb += row_merge.ended.eq(ended)
            m.d.comb += [
                part.clear.eq(self.stop),
                part.selected.eq(merge.selected),
                part.source_pop.eq(merge.pop),
                part.filling.eq(filling == s),
                part.pop.eq(row_merge.step & (emptying == s)),
                part.popped.eq(row_merge.popped),
            ]
        m.d.sync += [
            filling.eq(filling ^ merge.row_end),
            emptying.eq(emptying ^ row_merge.done),
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
            m.d.sync += [filled.eq(0), filling.eq(0), emptying.eq(0)]
        return m

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
            for q in range(queues):
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
