"""A processing element of entries with its feeders."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.sparse_parts import SparsePlan
from ...stream.fork import Fork
from ...stream.queue import Queue
from ..layouts import word_layout
from .gather_feeder import GatherFeeder
from .layouts import token_layout
from .sparse_pe import SparsePe

__all__ = ["ELEMENT_TOKENS", "FEEDER_TOKENS", "FedElement"]

ELEMENT_TOKENS = 4
"""Tokens that wait for an element: words for them come two cycles later."""

FEEDER_TOKENS = 2
"""Tokens that wait for a feeder."""


class FedElement(wiring.Component):
    """An element, and a feeder of each dense operand that sends it the words its entries ask for.

    A token goes to the element and to all feeders, to each when it has room for it; the next one
    comes when all have it. Queues let an element work on an entry while its feeders read the words
    of those behind it: an operation a cycle.

    Parameters
    ----------
    plan: what elements and feeders are

    Members
    -------
    t: tokens
    i_<operand>, o_<operand>: words of a dense operand, and the same words for the next copy
    o: results
    busy: out; an operation begins
    """

    def __init__(self, plan: SparsePlan) -> None:
        self._plan = plan
        members: dict[str, Any] = {}
        for one in plan.gathers:
            word = stream.Signature(word_layout(one.word_bits))
            members |= {f"i_{one.tensor}": In(word), f"o_{one.tensor}": Out(word)}
        super().__init__(
            {
                "t": In(stream.Signature(token_layout(plan.element.layout))),
                **members,
                "o": Out(stream.Signature(plan.element.element.result_bits)),
                "busy": Out(1),
            }
        )

    @property
    def plan(self) -> SparsePlan:
        return self._plan

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan = self._plan
        m.submodules.element = element = SparsePe(plan.element)
        sinks = {"element": element.t}
        for one in plan.gathers:
            m.submodules[one.name] = feeder = GatherFeeder(one)
            wiring.connect(m, wiring.flipped(getattr(self, f"i_{one.tensor}")), feeder.i)
            wiring.connect(m, feeder.o_onward, wiring.flipped(getattr(self, f"o_{one.tensor}")))
            wiring.connect(m, feeder.o, getattr(element, f"i_{one.tensor}"))
            sinks[one.name] = feeder.t
        for (name, sink), source in zip(sinks.items(), self._tokens(m, len(sinks)), strict=True):
            depth = ELEMENT_TOKENS if name == "element" else FEEDER_TOKENS
            m.submodules[f"{name}_tokens"] = queue = Queue(self.t.payload.shape(), depth)
            wiring.connect(m, source, queue.i)
            wiring.connect(m, queue.o, sink)
        wiring.connect(m, element.o, wiring.flipped(self.o))
        m.d.comb += self.busy.eq(element.busy)
        return m

    def _tokens(self, m: Module, count: int) -> list[Any]:
        """Tokens for each of so many."""
        if count == 1:
            return [wiring.flipped(self.t)]
        m.submodules.fork = fork = Fork(self.t.payload.shape(), count, eager=True)
        wiring.connect(m, wiring.flipped(self.t), fork.i)
        return list(fork.o)
