"""The processing element of entries."""

from __future__ import annotations

from functools import reduce
from operator import and_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.parts import OperandPart
from ...spec.t2s.sparse_parts import SparseElementPart
from ...spec.t2s.sparse_timing import entry_timing
from ...spec.t2s.timing import timing_of
from ..arithmetic.products import later
from ..arithmetic.vector_sum import VectorSum, sum_of_products
from ..layouts import in_containers, word_layout
from .addressed_sums import AddressedSums
from .layouts import ends_iteration, token_layout

__all__ = ["SparsePe"]


class SparsePe(wiring.Component):
    """``sums[slot, n] = sums[slot, n] (+) products``, for n = 0, 1, ... of each entry.

    Such an operation takes a word of each dense operand, all in the same cycle; an entry's token is
    taken with the last of its operations. With the token that ends an iteration of the outermost
    level all sums are complete. They leave slot by slot, each slot's in the order of n, while the
    operations of the next such iteration go on; where no entry came, the identity leaves. Tokens
    that say nothing, or end an iteration of inner levels alone, take a cycle and do nothing.

    An operation a cycle. It waits

    * for its token, and for a word of each dense operand;
    * while an operation with the same sum is under way: there are :func:`entry_timing`'s ``again``
      cycles from one to the next, at least. If an entry has as many operations, none waits;
    * with two halves, while all sums of both the last two tiles wait to leave; with one, until
      those of the last tile have left. So does the token that makes them complete;
    * for as many cycles as there are sums, after a reset: then they are as nothing ever came.

    The first result is offered :attr:`latency` cycles after the token that ends the tile is taken,
    or when all results of the tile before have left; then one a cycle.

    Source: thesis on T2S-Tensor, section 6.2.1: sparse tensors.

    Parameters
    ----------
    part: its operands, arithmetic, sums and tokens

    Members
    -------
    t: the tokens, see :func:`token_layout`
    i_<operand>: words of the dense operands, see :func:`word_layout`
    o: complete sums, each in its container, those that stand side by side at once
    busy: out; an operation begins
    """

    def __init__(self, part: SparseElementPart) -> None:
        _check(part)
        self._part = part
        words = {
            f"i_{one.name}": In(stream.Signature(word_layout(self._bits(one))))
            for one in part.dense
        }
        super().__init__(
            {
                "t": In(stream.Signature(token_layout(part.layout))),
                **words,
                "o": Out(stream.Signature(part.element.result_bits)),
                "busy": Out(1),
            }
        )

    @property
    def part(self) -> SparseElementPart:
        return self._part

    @property
    def latency(self) -> int:
        """Cycles from the token that ends a tile to the first result."""
        return entry_timing(self._part).drain

    def _bits(self, operand: OperandPart) -> int:
        element = self._part.element
        return operand.lanes * element.word_format(operand).container_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, token = self._part, self.t.payload
        m.submodules.sums = sums = AddressedSums(part)
        streams = [getattr(self, f"i_{one.name}") for one in part.dense]
        words_here: Value = reduce(and_, (one.valid for one in streams), Const(1))
        may_begin = Signal()
        completes = Signal()
        m.d.comb += [
            may_begin.eq(words_here & sums.free),
            completes.eq(ends_iteration(part.layout, token, part.layout.levels[0])),
            self.busy.eq(self.t.valid & token.present & may_begin),
            self.t.ready.eq(Mux(token.present, may_begin & sums.last, ~completes | sums.open)),
            *(one.ready.eq(self.busy) for one in streams),
            sums.slot.eq(token.slot),
            sums.started.eq(self.busy),
            sums.ends.eq(self.t.valid & ~token.present & completes & sums.open),
        ]
        self._compute(m, sums)
        m.d.comb += [
            self.o.valid.eq(sums.o.valid),
            self.o.payload.eq(in_containers(part.element, sums.o.payload)),
            sums.o.ready.eq(self.o.ready),
        ]
        return m

    def _compute(self, m: Module, sums: AddressedSums) -> None:
        """The arithmetic; its operands wait if the sum comes later than it would take it."""
        factors = self._part.factors
        wait = entry_timing(self._part).lead - timing_of(factors).lead
        m.submodules.arithmetic = arithmetic = (
            VectorSum(factors) if factors.vector > 1 else sum_of_products(factors)
        )
        for name, word in self._operands().items():
            m.d.comb += getattr(arithmetic, f"i_{name}").eq(later(m, name, word, wait))
        m.d.comb += [arithmetic.c.eq(sums.sum), sums.result.eq(arithmetic.o)]

    def _operands(self) -> dict[str, Value]:
        """What is multiplied, by its name in ``factors``."""
        part, layout = self._part, self._part.layout
        names = [one.name for one in layout.fields[: layout.words]]
        values: list[Value] = [self.t.payload[name] for name in names]
        dense: list[Value] = [getattr(self, f"i_{one.name}").payload.data for one in part.dense]
        if part.union:
            values, dense = [Cat(values)], [self._where_there(word) for word in dense]
        operands = part.factors.operands
        return {one.name: word for one, word in zip(operands, values + dense, strict=True)}

    def _where_there(self, word: Value) -> Value:
        """A dense operand's word for each value of the token; where that is not there, its pad: the
        product of two pads alone changes no sum."""
        arithmetic = self._part.element.arithmetic
        fmt = arithmetic.element
        padding = arithmetic.semirings[0].padding_in(fmt)
        assert padding is not None
        pad = Const(padding[1] << (fmt.container_bits - fmt.bits), len(word))
        return Cat(Mux(there, word, pad) for there in self.t.payload.there)


def _check(part: SparseElementPart) -> None:
    """Raises ValueError for what an element cannot be."""
    element, layout = part.element, part.layout
    sums = layout.slots * part.ring_words
    lanes = layout.words if part.union else 1
    names = ", ".join(one.name for one in element.operands)
    refused = [
        ("sums", element.sums, str(sums)),
        ("lanes", element.arithmetic.lanes, str(lanes)),
        ("inner", ", ".join(element.inner), f"all operands, {names}"),
        ("halves", part.halves, "1 or 2"),
        ("lacking", layout.lacking, str(part.union)),
    ]
    kept = [
        element.sums == sums,
        element.arithmetic.lanes == lanes,
        element.inner == tuple(one.name for one in element.operands),
        part.halves in (1, 2),
        layout.lacking == part.union,
    ]
    for (name, value, allowed), holds in zip(refused, kept, strict=True):
        if not holds:
            raise ValueError(f"`{name}` must be {allowed}, not {value}")
    if part.union and element.vector > 1:
        raise ValueError(f"`vector` of a union must be 1, not {element.vector}")
    for operand in element.operands:
        if operand.starts:
            raise ValueError(f"sums of entries must start from the identity, not {operand.name}")
    for one in part.ring:
        if one.extent is None:
            raise ValueError(f"the trip count of {one.name} must be a constant, not a register's")
