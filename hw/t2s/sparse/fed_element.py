"""A processing element of entries with its feeders."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.t2s.parts import OperandPart
from ...spec.t2s.sparse_parts import GatherPart, SparseElementPart, SparsePlan
from ...spec.t2s.timing import entry_timing, timing_of
from ...stream.fork_join import Fork
from ...stream.queue import Queue
from ..blocks import block_depth
from ..loader import in_containers, word_layout
from ..nest import Nest
from ..products import VectorSum, later, sum_of_products
from .addressed_sums import AddressedSums
from .entries_loader import ends_iteration, token_layout


class SparsePe(wiring.Component):
    """Processing element that adds products of sparse entries to the sums it keeps.

    Operations are ``sums[slot, n] = sums[slot, n] (+) products``, for n = 0, 1, ... of each entry.
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
        """Builds the arithmetic; operands are delayed if the sum is later than they are."""
        factors = self._part.factors
        wait = entry_timing(self._part).lead - timing_of(factors).lead
        m.submodules.arithmetic = arithmetic = (
            VectorSum(factors) if factors.vector > 1 else sum_of_products(factors)
        )
        for name, word in self._operands().items():
            m.d.comb += getattr(arithmetic, f"i_{name}").eq(later(m, name, word, wait))
        m.d.comb += [arithmetic.c.eq(sums.sum), sums.result.eq(arithmetic.o)]

    def _operands(self) -> dict[str, Value]:
        """Returns the operands of the products, by their names in ``factors``."""
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


class GatherFeeder(wiring.Component):
    """Keeps a block of words, and sends those at the places of the entries that arrive.

    It takes the next block when tokens end an iteration of its level.

    With two halves it takes a block while entries ask for words of another one. An entry is done
    when its words are sent; a word leaves every cycle, also from an entry to the next. A token that
    is no entry takes a cycle. Two cycles from an entry to its first word; entries, and the token
    that ends an iteration, wait for the block. Words lie in the memory as ``block_depth`` says.

    What comes is passed on in the cycle in which it is taken, without a register between: when
    there is room here and in the next copy. So all copies have the same words.

    Parameters
    ----------
    part: what the function is; all its trip counts are constants

    Members
    -------
    i: words, stream of ``word_layout``
    o_onward: the same words, to the copies behind this one
    t: tokens
    o: words of entries
    """

    def __init__(self, part: GatherPart) -> None:
        self._part = part
        word = stream.Signature(word_layout(part.word_bits))
        super().__init__(
            {
                "i": In(word),
                "o_onward": Out(word),
                "t": In(stream.Signature(token_layout(part.layout))),
                "o": Out(word),
            }
        )

    @property
    def part(self) -> GatherPart:
        return self._part

    @property
    def trip_bits(self) -> int:
        """Width of trip counts that are not constants: 0, as no such trip counts exist."""
        return 0

    @property
    def depth(self) -> int:
        """Words of the memory."""
        return max(2, block_depth(self._part.extents, double=self._part.double))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        capacity = 1 + self._part.double
        blocks = Signal(range(capacity + 1))
        filled = Signal()
        emptied = Signal()
        with m.If(filled != emptied):
            m.d.sync += blocks.eq(Mux(filled, blocks + 1, blocks - 1))
        put, write_place = self._fill(m, blocks != capacity, filled)
        step, read_place = self._read(m, blocks != 0, emptied)
        m.submodules.buffer = buffer = Memory(shape=self._part.word_bits, depth=self.depth, init=[])
        write_port = buffer.write_port()
        read_port = buffer.read_port()
        m.d.comb += [
            write_port.en.eq(put),
            write_port.addr.eq(self._address(m, "fill_half", filled, write_place)),
            write_port.data.eq(self.i.payload.data),
            read_port.en.eq(step),
            read_port.addr.eq(self._address(m, "read_half", emptied, read_place)),
            self.o.payload.data.eq(read_port.data),
        ]
        return m

    def _fill(self, m: Module, room: Value, filled: Signal) -> tuple[Signal, list[Value]]:
        """Words that come. Returns whether one is written, and the digits of its place."""
        part = self._part
        put = Signal()
        nest = Nest(m, "fill", self, part.fill, put, values=part.fill_place, ends=True)
        m.d.comb += [
            self.i.ready.eq(room & self.o_onward.ready),
            self.o_onward.valid.eq(self.i.valid & room),
            self.o_onward.payload.eq(self.i.payload),
            put.eq(self.i.valid & self.i.ready),
            filled.eq(put & nest.last),
        ]
        return put, [nest.value(name) for name in part.fill_place]

    def _read(self, m: Module, there: Value, emptied: Signal) -> tuple[Signal, list[Value]]:
        """Tokens that come. Returns whether a word is read, and the digits of its place."""
        part = self._part
        token = self.t.payload
        step = Signal()
        ends = Signal()
        valid = Signal()
        nest = Nest(m, "read", self, part.read, step, values=part.read_place, ends=True)
        m.d.comb += [
            step.eq(self.t.valid & token.present & there & (self.o.ready | ~valid)),
            ends.eq(ends_iteration(part.layout, token, part.level)),
            emptied.eq(self.t.valid & ends & there),
            self.t.ready.eq(Mux(token.present, step & nest.last, there | ~ends)),
            self.o.valid.eq(valid),
        ]
        m.d.sync += valid.eq(step | (valid & ~self.o.ready))
        chosen = [
            token[f"at_{index}"][: (extent - 1).bit_length()]
            for index, extent in zip(part.coordinates, part.extents, strict=False)
        ]
        return step, [*chosen, *(nest.value(name) for name in part.read_place)]

    def _address(self, m: Module, name: str, advance: Signal, digits: list[Value]) -> Value:
        """Returns the address of a word; in a double buffer, the end of a block switches halves."""
        half: list[Value] = []
        if self._part.double:
            half = [Signal(name=name)]
            with m.If(advance):
                m.d.sync += half[0].eq(~half[0])
        return Cat(*half, *reversed(digits))


ELEMENT_TOKENS = 4
"""Tokens that wait for an element: words for them come two cycles later."""

FEEDER_TOKENS = 2
"""Tokens that wait for a feeder."""


class FedElement(wiring.Component):
    """Element with a feeder for each dense operand, which sends the words that entries select.

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
