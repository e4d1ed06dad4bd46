"""What takes the results of elements whose rows are sparse."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.parts import Count, RoutePart
from ...spec.t2s.sparse_parts import CollectPart
from ..layouts import word_layout
from ..route import Route

__all__ = ["ResultCollector"]


class ResultCollector(wiring.Component):
    """Takes a row of results from one element after the other, as the loops of rows say.

    Each element sends its rows in the order of its slots. No latency; one word a cycle. While it
    waits for an element, the others keep theirs: they wait for it as soon as their sums are full.

    Parameters
    ----------
    part: loops of rows, and the words of one
    elements: how many elements there are

    Members
    -------
    i: array of streams, words from the elements
    o: words, see :func:`word_layout`
    """

    def __init__(self, part: CollectPart, elements: int) -> None:
        extents = {one.name: one.extent for one in part.nest}
        named = extents.get(part.elements, 1)
        if named != elements:
            raise ValueError(
                f"`elements` must be the trip count of its loop, {named}, not {elements}"
            )
        if None in extents.values():
            name = next(name for name, extent in extents.items() if extent is None)
            raise ValueError(f"the trip count of {name} must be a constant, not a register's")
        self._part, self._elements = part, elements
        word = stream.Signature(word_layout(part.word_bits))
        super().__init__({"i": In(word).array(elements), "o": Out(word)})

    @property
    def part(self) -> CollectPart:
        return self._part

    @property
    def elements(self) -> int:
        return self._elements

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.route = route = Route(self._route, trip_bits=1)
        for source, branch in zip(self.i, route.branches, strict=True):
            wiring.connect(m, wiring.flipped(source), branch)
        wiring.connect(m, route.o, wiring.flipped(self.o))
        return m

    @property
    def _route(self) -> RoutePart:
        """Loops from that of elements on: those outside of it go round the same elements."""
        part = self._part
        names = [one.name for one in part.nest]
        if self._elements == 1:
            return RoutePart("results", part.word_bits, (), (), joins=True)
        word = "word"
        while word in names:
            word += "_"
        nest = (*part.nest[names.index(part.elements) :], Count(word, part.words))
        return RoutePart("results", part.word_bits, nest, (part.elements,), joins=True)
