"""The sorting queues that a row is merged in."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.matraptor import MatRaptorConfig
from ..layouts import direct_layout, entry_layout
from .partial_row_merge import source_layout
from .sorting_queue import SortingQueue

__all__ = ["QueueSet"]


class QueueSet(wiring.Component):
    """``queues`` sorting queues, with one entry written per cycle.

    Source: MatRaptor, section on its architecture.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    claim, claim_queue: in; an entry more will be written to that queue
    write, write_queue, entry: in; an entry
    source_queue: in; the queue to be shown at ``source``
    source: out; its state, see :func:`source_layout`
    source_pop: in; takes its head
    pop: in; takes the heads of all these queues
    clear: in; forgets all entries at the end of the cycle
    heads, valid, empty, single: out; of each queue, see :class:`SortingQueue`
    directly, direct: in; of each queue, likewise, where there is an outer-product mode
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        count = config.queues
        entry = entry_layout(config)
        members: dict[str, wiring.Member] = {}
        if config.outer_product:
            direct = data.ArrayLayout(direct_layout(config), count)
            members = {"directly": In(1), "direct": In(direct)}
        super().__init__(
            {
                **members,
                "claim": In(1),
                "claim_queue": In(range(count)),
                "write": In(1),
                "write_queue": In(range(count)),
                "entry": In(entry),
                "source_queue": In(range(count)),
                "source": Out(source_layout(config)),
                "source_pop": In(1),
                "pop": In(count),
                "clear": In(1),
                "heads": Out(data.ArrayLayout(entry, count)),
                "valid": Out(count),
                "empty": Out(count),
                "single": Out(count),
            }
        )

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        entry = entry_layout(config)
        direct = direct_layout(config) if config.outer_product else None
        shown: Value = Value.cast(0)
        for q in range(config.queues):
            m.submodules[f"queue_{q}"] = queue = SortingQueue(entry, config.queue_depth, direct)
            if direct is not None:
                m.d.comb += [queue.directly.eq(self.directly), queue.direct.eq(self.direct[q])]
            selected = Signal(name=f"selected_{q}")
            m.d.comb += [
                selected.eq(self.source_queue == q),
                queue.claim.eq(self.claim & (self.claim_queue == q)),
                queue.write.eq(self.write & (self.write_queue == q)),
                queue.entry.eq(self.entry),
                queue.clear.eq(self.clear),
                queue.pop.eq(self.pop[q] | (self.source_pop & selected)),
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
            shown = shown | Mux(selected, state.as_value(), 0)
        m.d.comb += self.source.eq(shown)
        return m
