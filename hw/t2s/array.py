"""All functions of a design between its loaders and its unloader."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, ResetInserter, ShapeLike, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.t2s.design import Design, End, Link
from ..stream.queue import DeepQueue, Queue
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .copies import component_of
from .loader import word_layout
from .pe import Pe

__all__ = ["PeArray"]

_FEW = 16
"""Queues of up to so many words are read without a clock."""

Built = dict[tuple[str, tuple[int, ...]], Any]
"""Components by function and place."""


class PeArray(wiring.Component):
    """Connects processing elements to the parts that feed them and take their results.

    Copies of functions work on their own, as words come, and wait for each other.

    Source: T2S-Tensor, section 3.4: the kernels of a design and their channels.

    Parameters
    ----------
    design: its parts
    trip_bits: width of a trip count that a register has

    Members
    -------
    i_<tensor>: words of the operands, from their loaders
    o: words of the result
    trips_<index>: trip counts of the outermost loops; constant while words are inside
    clear: in; forgets all words at the end of the cycle
    busy: out; the element farthest from the feeders begins a product
    """

    def __init__(self, design: Design, trip_bits: int) -> None:
        self._design, self._trip_bits = design, trip_bits
        words = {f"i_{one.tensor}": In(_words(one.word_bits)) for one in design.loaders}
        trips = {f"trips_{name}": In(trip_bits) for name in design.indices}
        super().__init__(
            {
                **words,
                "o": Out(_words(design.unloader.word_bits)),
                **trips,
                "clear": In(1),
                "busy": Out(1),
            }
        )

    @property
    def design(self) -> Design:
        return self._design

    def elaborate(self, platform: object) -> Elaboratable:
        m = Module()
        built: Built = {}
        for copy in self._design.copies:
            component = component_of(self._design, copy, self._trip_bits)
            if component is None:
                continue
            m.submodules[copy.name] = component
            built[copy.function, copy.place] = component
            for index in self._design.indices:
                if (port := f"trips_{index}") in component.signature.members:
                    m.d.comb += getattr(component, port).eq(getattr(self, port))
            if "copies" in component.signature.members:
                m.d.comb += component.copies.eq(copy.ahead)
        for link in self._design.links:
            self._link(m, link, built)
        self._edges(m, built)
        elements = [one for one in built.values() if isinstance(one, Pe)]
        m.d.comb += self.busy.eq(elements[-1].busy)
        return ResetInserter(self.clear)(m)

    def _link(self, m: Module, link: Link, built: Built) -> None:
        source, sink = self._port(link.source, built), self._port(link.sink, built)
        queue = _queue(source.payload.shape(), link.depth)
        if queue is None:
            _pass(m, source, sink)
            return
        m.submodules[f"{link.name}_queue"] = queue
        _pass(m, source, queue.i)
        _pass(m, queue.o, sink)

    def _edges(self, m: Module, built: Built) -> None:
        """Accepts, and so drops, the operands that the last elements of rows pass on."""
        linked = {one.source for one in self._design.links}
        for (name, place), component in built.items():
            for operand in self._design.element.operands if isinstance(component, Pe) else ():
                for loop in operand.forwards:
                    port = f"o_{operand.name}_{loop}"
                    if End(name, place, port) not in linked:
                        m.d.comb += getattr(component, port).ready.eq(1)

    def _port(self, end: End, built: Built) -> Any:
        """Returns the stream at an end, or that of a loader or of the unloader."""
        if (end.function, end.place) not in built:
            tensor = end.function.rpartition("_")[0]
            return getattr(self, f"i_{tensor}" if end.port == "o" else "o")
        port = getattr(built[end.function, end.place], end.port)
        return port if end.branch is None else port[end.branch]


def _queue(layout: ShapeLike, depth: int) -> Any:
    """Builds a queue of a depth: a register, a skid buffer or a memory; None for depth 0."""
    if depth < 3:
        made = (None, OutputRegister, SkidBuffer)[depth]
        return made(layout) if made else None
    return Queue(layout, depth) if depth <= _FEW else DeepQueue(layout, depth - 1)


def _words(bits: int) -> stream.Signature:
    return stream.Signature(word_layout(bits))


def _pass(m: Module, source: Any, sink: Any) -> None:
    """Connect two streams of words."""
    given, taken = Value.cast(source.payload), Value.cast(sink.payload)
    assert len(given) == len(taken)
    m.d.comb += [
        taken.eq(given),
        sink.valid.eq(source.valid),
        source.ready.eq(sink.ready),
    ]
