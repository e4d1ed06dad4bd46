"""All functions of a design with sparse operands between its loaders and its unloader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.arithmetic import pad_pattern
from ...spec.t2s.design import Design
from ...spec.t2s.parts import Count, RoutePart
from ...spec.t2s.sparse_parts import CollectPart, TokenLayout
from ...stream.stream_registers import OutputRegister
from ..loader import word_layout
from ..route import Route
from .entries_loader import key_fields, says_nothing, token_layout
from .fed_element import FedElement

_ANY = {"intersection": False, "union": True}
"""For each kind of merge: whether it keeps an entry that only one tensor has."""


class Merger(wiring.Component):
    """Merges entries of the same place; drops or pads those of one tensor alone.

    Both streams have a tile's entries in the same order, each place at most once, and the same
    ends; so has what leaves. What says nothing is dropped. Latency one cycle. In each cycle in
    which what leaves is taken, and both streams offer something, at least one moves on, and an end
    is a token, as a pair is.

    Source: merge lattices, as TACO's. An intersection has one point, where both have an entry; a
    union has three.

    Parameters
    ----------
    layout: of the tokens that come
    kind: "intersection" or "union"
    order: fields by which entries of a tile are ordered, the slowest one first: ``slot``,
        ``at_<index>``
    pad: (union) pattern of the word of an entry that is not there

    Members
    -------
    i_a, i_b: the tokens of two tensors
    o: tokens of both, with ``value_0`` of the first and ``value_1`` of the second; of a union
        ``there`` says which are
    """

    def __init__(
        self, layout: TokenLayout, kind: str, order: Sequence[str], *, pad: int = 0
    ) -> None:
        self._layout, self._kind, self._order, self._pad = layout, kind, tuple(order), pad
        self._merged = layout.merged(lacking=_ANY[kind])
        token = stream.Signature(token_layout(layout))
        super().__init__(
            {
                "i_a": In(token),
                "i_b": In(token),
                "o": Out(stream.Signature(token_layout(self._merged))),
            }
        )

    @property
    def layout(self) -> TokenLayout:
        return self._layout

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def order(self) -> tuple[str, ...]:
        return self._order

    @property
    def pad(self) -> int:
        return self._pad

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = OutputRegister(self.o.payload.shape())
        wiring.connect(m, register.o, wiring.flipped(self.o))
        a, b = self.i_a.payload, self.i_b.payload
        nothing_a = Signal()
        nothing_b = Signal()
        both = Signal()
        takes_a = Signal()
        takes_b = Signal()
        moves = Signal()
        m.d.comb += [
            nothing_a.eq(says_nothing(a)),
            nothing_b.eq(says_nothing(b)),
            both.eq(self.i_a.valid & self.i_b.valid & ~nothing_a & ~nothing_b),
        ]
        # An end is behind all entries. Two ends are equal: their tiles are the same one.
        key_a, key_b = self._key(a), self._key(b)
        m.d.comb += [
            takes_a.eq(a.present & (~b.present | (key_a <= key_b)) | ~a.present & ~b.present),
            takes_b.eq(b.present & (~a.present | (key_b <= key_a)) | ~a.present & ~b.present),
            self.i_a.ready.eq(nothing_a | (both & takes_a & moves)),
            self.i_b.ready.eq(nothing_b | (both & takes_b & moves)),
        ]
        if _ANY[self._kind]:
            m.d.comb += [register.i.valid.eq(both), moves.eq(register.i.ready)]
        else:
            # An entry of one tensor alone is dropped.
            m.d.comb += [
                register.i.valid.eq(both & takes_a & takes_b),
                moves.eq(register.i.ready | ~(takes_a & takes_b)),
            ]
        merged = register.i.payload
        present = {"value_0": takes_a & a.present, "value_1": takes_b & b.present}
        values = {"value_0": a.value, "value_1": b.value}
        for name, value in values.items():
            word = value
            if _ANY[self._kind]:
                word = Mux(present[name], value, Const(self._pad, len(value)))
            m.d.comb += merged[name].eq(word)
        if self._merged.lacking:
            m.d.comb += merged.there.eq(Cat(present.values()))
        for one in self._layout.fields:
            if one.name == "value":
                continue
            m.d.comb += merged[one.name].eq(a[one.name])
            if _ANY[self._kind]:
                with m.If(~takes_a):
                    m.d.comb += merged[one.name].eq(b[one.name])
        return m

    def _key(self, token: Any) -> Value:
        """Returns the position of an entry in its tile as a number, the first field on top."""
        return Cat(*(token[name] for name in reversed(self._order)))


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


class SparseArray(wiring.Component):
    """Connects processing elements for entries to their feeders and to the results.

    Each element's tokens go to it and to its own feeder of every dense operand, each at its own
    time. Words of dense operands come to the feeders of the first element; each passes all on to
    that of the next one, through a register.

    It never stops while memory goes on. Tokens come in vectors, a token an element, and a vector
    has the ends of tiles for all elements or for none: so once a single element has the token that
    ends a tile, all others have it, or can take it without the first one. Let there be an element
    that waits. For a word: its feeder has its token, or gets it, as nobody else takes longer than
    the entries before; and the block comes, since all feeders empty the one before, whose end they
    have, or can take. For its results to leave: the collector waits for an element that is behind,
    which has the tokens to the end of its tile, or can take them. So the slowest one always goes
    on. Queues of tokens save cycles, not more.

    Source: T2S-Tensor, section 6.2.1: sparse tensors.

    Parameters
    ----------
    design: its parts; ``design.sparse`` has those of entries

    Members
    -------
    i_<tensor>: of a sparse operand, an array of streams of tokens, one for each element; of a dense
        one, words, from its loader
    o: words of the result
    clear: in; forgets all words at the end of the cycle
    busy: out; the last element begins an operation
    """

    def __init__(self, design: Design) -> None:
        assert design.sparse
        self._design, self._plan = design, design.sparse
        tokens = {
            f"i_{one.tensor}": In(stream.Signature(token_layout(one.layout))).array(one.elements)
            for one in self._plan.entries
        }
        words = {f"i_{one.tensor}": In(_words(one.word_bits)) for one in design.loaders}
        result = Out(_words(design.unloader.word_bits))
        super().__init__({**tokens, **words, "o": result, "clear": In(1), "busy": Out(1)})

    @property
    def design(self) -> Design:
        return self._design

    def elaborate(self, platform: object) -> Elaboratable:
        m = Module()
        plan, name = self._plan, self._design.element.name
        m.submodules.collector = collector = ResultCollector(plan.collect, plan.rows.element_extent)
        words = {one.tensor: wiring.flipped(self._operand(one.tensor)) for one in plan.gathers}
        for number, tokens in enumerate(self._tokens(m)):
            m.submodules[f"{name}_{number}"] = element = FedElement(plan)
            wiring.connect(m, tokens, element.t)
            results = collector.i[number]
            m.d.comb += [
                results.payload.data.eq(element.o.payload),
                results.valid.eq(element.o.valid),
                element.o.ready.eq(results.ready),
            ]
            for tensor in words:
                wiring.connect(m, words[tensor], getattr(element, f"i_{tensor}"))
                words[tensor] = self._onward(m, number, tensor, element)
            if number == plan.rows.element_extent - 1:
                m.d.comb += self.busy.eq(element.busy)
        wiring.connect(m, collector.o, wiring.flipped(self.o))
        return ResetInserter(self.clear)(m)

    def _operand(self, tensor: str) -> Any:
        return getattr(self, f"i_{tensor}")

    def _onward(self, m: Module, number: int, tensor: str, element: FedElement) -> Any:
        """Words of an operand that an element's feeder passes on; behind the last one, nowhere."""
        source = getattr(element, f"o_{tensor}")
        if number == self._plan.rows.element_extent - 1:
            m.d.comb += source.ready.eq(1)
            return None
        m.submodules[f"{tensor}_{number}_onward"] = register = OutputRegister(
            source.payload.shape()
        )
        wiring.connect(m, source, register.i)
        return register.o

    def _tokens(self, m: Module) -> list[Any]:
        """Returns the tokens of each element, those of two tensors merged."""
        plan = self._plan
        streams = [
            [wiring.flipped(one) for one in self._operand(part.tensor)] for part in plan.entries
        ]
        if not plan.merge:
            return streams[0]
        ((a,), (b,)) = streams
        tensor, layout = plan.entries[0].tensor, plan.entries[0].layout
        fmt = self._design.word_format(tensor)
        pad = pad_pattern((), self._design.program.tensor(tensor).pad, fmt)
        m.submodules.merger = merger = Merger(
            layout,
            plan.merge,
            key_fields(plan),
            pad=pad << (fmt.container_bits - fmt.bits),
        )
        wiring.connect(m, a, merger.i_a)
        wiring.connect(m, b, merger.i_b)
        return [merger.o]


def _words(bits: int) -> stream.Signature:
    return stream.Signature(word_layout(bits))
