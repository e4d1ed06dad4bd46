"""Sets of sorting queues: one takes the entries of a row while another one is emptied."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ..layouts import direct_layout, entry_layout
from .partial_row_merge import source_layout
from .row_merge import SortingQueue

__all__ = ["EmptiedQueue", "QueueSet", "following_set"]


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


def following_set(
    m: Module, config: MatRaptorConfig, name: str, advance: Value, clear: Value
) -> Signal:
    """Returns the number of a set, which ``advance`` makes that of the next one."""
    last = config.queue_sets - 1
    number = Signal(range(config.queue_sets), name=name)
    with m.If(clear | (advance & (number == last))):
        m.d.sync += number.eq(0)
    with m.Elif(advance):
        m.d.sync += number.eq(number + 1)
    return number


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
    done: in; the next set follows
    clear: in; as after a reset, at the end of the cycle
    o: out; the queue's state in the set
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        state = source_layout(config)
        super().__init__(
            {
                "sets": In(data.ArrayLayout(state, config.queue_sets)),
                "done": In(1),
                "clear": In(1),
                "o": Out(state),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = following_set(m, self.config, "number", self.done, self.clear)
        states = Array(state.as_value() for state in self.sets)
        m.d.comb += self.o.as_value().eq(states[number])
        return m
