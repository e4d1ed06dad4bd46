"""The processing element."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..spec.t2s.parts import ElementPart, OperandPart
from ..spec.t2s.timing import FEW_SUMS, interlocked, timing_of
from ..stream.fork_join import Fork, Join
from ..stream.queue import DeepQueue, Queue
from ..stream.ring import moved_count, ring_address
from .loader import in_containers, word_layout
from .products import FactoredSum, PlainSum, TripleSum, VectorSum, later, sum_of_products


class SumRing(wiring.Component):
    """Keeps sums in a ring: each operation takes the next one, and writes it back later.

    Many sums are in a memory that is read a cycle ahead, few in one that is read without a clock.
    Where a sum would be taken again before it has been written back, operations are counted from
    ``started`` to ``done``, and there are never more of them than sums.

    A sum that was never written, or was written before a reset, means nothing.

    Parameters
    ----------
    width: bits of a sum
    sums: how many there are
    latency: cycles from ``take`` to ``done``
    lead: cycles from ``started`` to ``take``

    Members
    -------
    started: in; an operation begins. Only if ``free``
    free: out; another operation may
    take: in; an operation takes ``sum``, the one at its place; ``lead`` cycles after ``started``
    sum: out; of the operation that takes one next
    done: in; the sum of the oldest operation is ``result``
    result: in
    """

    def __init__(self, width: int, sums: int, *, latency: int, lead: int = 0) -> None:
        self._width, self._sums, self._latency, self._lead = width, sums, latency, lead
        super().__init__(
            {
                "started": In(1),
                "free": Out(1),
                "take": In(1),
                "sum": Out(width),
                "done": In(1),
                "result": In(width),
            }
        )

    @property
    def sums(self) -> int:
        return self._sums

    @property
    def interlocked(self) -> bool:
        """True if an operation may have to wait for one before it."""
        return interlocked(self._sums, self._latency)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._sums == 1:
            self._one_sum(m)
        elif self._sums <= FEW_SUMS or self.interlocked:
            self._read_at_once(m)
        else:
            self._read_ahead(m)
        m.d.comb += self.free.eq(1)
        if self.interlocked:
            under_way = Signal(range(self._sums + 1))
            m.d.sync += under_way.eq(moved_count(under_way, self.started, self.done))
            m.d.comb += self.free.eq(under_way != self._sums)
        return m

    def _one_sum(self, m: Module) -> None:
        held = Signal(self._width, reset_less=True)
        with m.If(self.done):
            m.d.sync += held.eq(self.result)
        m.d.comb += self.sum.eq(held)

    def _read_at_once(self, m: Module) -> None:
        storage = self._storage(m)
        read = storage.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(ring_address(m, "taken_place", self._sums, advance=self.take)),
            self.sum.eq(read.data),
        ]

    def _read_ahead(self, m: Module) -> None:
        """Reads the next sum when one is taken; operation n uses the sum that place n - 1 holds."""
        storage = self._storage(m, ahead=1)
        read = storage.read_port()
        m.d.comb += [
            read.addr.eq(ring_address(m, "next_place", self._sums, advance=self.take)),
            read.en.eq(self.take),
            self.sum.eq(read.data),
        ]

    def _storage(self, m: Module, ahead: int = 0) -> Memory:
        """Builds the memory of sums and its write: operation n writes to place n - ``ahead``."""
        m.submodules.storage = storage = Memory(
            shape=unsigned(self._width), depth=self._sums, init=[]
        )
        write = storage.write_port()
        begin = (self._sums - ahead) % self._sums
        place = ring_address(m, "done_place", self._sums, advance=self.done, begin=begin)
        m.d.comb += [
            write.en.eq(self.done),
            write.addr.eq(place),
            write.data.eq(self.result),
        ]
        return storage


class DrainedSums(wiring.Component):
    """Takes the sums out of a ring one after the other, once all are complete.

    No operation may begin meanwhile.

    The last of the operations is taken by the ring before the first sum is, and as many sums are
    taken as there are: then the ring is where it was.

    Source: T2S-Tensor, section 3.4.2: draining without overlap.

    Parameters
    ----------
    width: bits of a sum
    sums: how many there are
    latency: cycles from the beginning of an operation to its sum

    Members
    -------
    completing: in; an operation begins that completes a sum. Only without ``drains``
    drains: out; no operation may begin
    sum: in; the ring's next
    takes: out; it is taken
    o: sums
    """

    def __init__(self, width: int, sums: int, *, latency: int) -> None:
        self._sums, self._latency = sums, latency
        super().__init__(
            {
                "completing": In(1),
                "drains": Out(1),
                "sum": In(width),
                "takes": Out(1),
                "o": Out(stream.Signature(width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        complete = Signal(range(self._sums + 1))
        complete_next = Signal.like(complete)
        under_way = Signal(self._latency)
        m.d.sync += under_way.eq(Cat(self.completing, under_way)[: self._latency])
        m.d.comb += [
            complete_next.eq(moved_count(complete, self.completing, self.takes)),
            self.o.valid.eq(self.drains & ~under_way.any()),
            self.o.payload.eq(self.sum),
            self.takes.eq(self.o.valid & self.o.ready),
        ]
        begins, ends = complete_next == self._sums, complete_next == 0
        m.d.sync += [complete.eq(complete_next), self.drains.eq(Mux(self.drains, ~ends, begins))]
        return m


class Pe(wiring.Component):
    """Processing element that adds products to the sums it keeps, one sum after the other.

    Operations are ``sums[n] = sums[n] (+) products``, for n = 0, 1, ... ``sums`` - 1, 0, ...
    An operation takes a word of each operand and passes them on, in the same cycle: none is taken
    before all are there, all that they are passed on to are ready, and there is room for the result
    of a sum that is complete with them. What sums start from is an operand of those operations
    alone that begin one. An operation a cycle; fewer, if there are fewer sums than
    cycles from operands to a sum (see :class:`SumRing`). Results leave in the order of the
    operations: the first of them :attr:`latency` and one cycle after the operation, or two.

    It counts nothing but sums: words of the first operand say where sums begin and end. As many
    results as it has sums can wait to be taken while it goes on; if the part does not overlap,
    it does not go on until all of them have left.

    An output that operands are passed on to must stay ready until it takes something, and must not
    wait for its valid. Where a sum has never begun, what it is means nothing.

    Source: T2S-Tensor, sections 3.3 and 3.4: an element of the array.

    Parameters
    ----------
    part: its operands, arithmetic and sums

    Members
    -------
    i_<operand>: the operands, see :func:`word_layout`; words of the first have flags
    o_<operand>_<loop>: what is passed on along a loop, each as it came
    o: complete sums, each in its container, those that stand side by side at once
    busy: out; an operation begins
    """

    def __init__(self, part: ElementPart) -> None:
        self._part = part
        self._timing = timing_of(part)
        members: dict[str, wiring.Member] = {}
        for one in part.operands:
            signature = stream.Signature(self._words(one))
            members[f"i_{one.name}"] = In(signature)
            members |= {f"o_{one.name}_{loop}": Out(signature) for loop in one.forwards}
        members["o"] = Out(stream.Signature(part.result_bits))
        super().__init__({**members, "busy": Out(1)})

    @property
    def part(self) -> ElementPart:
        return self._part

    @property
    def latency(self) -> int:
        """Cycles from operands to the sum."""
        return self._timing.lead + self._timing.latency

    def _words(self, operand: OperandPart) -> data.StructLayout:
        bits = operand.lanes * self._part.word_format(operand).container_bits
        return word_layout(bits, flagged=operand is self._part.operands[0])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, timing = self._part, self._timing
        operation = self._pass_on(m, self._join(m))
        flags = operation.payload[part.operands[0].name]
        begins = Signal()
        completing = Signal()
        m.d.comb += [
            begins.eq(operation.valid & operation.ready),
            completing.eq(begins & flags.last),
            self.busy.eq(begins),
        ]
        m.submodules.arithmetic = arithmetic = _arithmetic(part)
        m.submodules.ring = ring = SumRing(
            part.vector * part.arithmetic.result.bits,
            part.sums,
            latency=timing.latency,
            lead=timing.lead,
        )
        for one in part.operands:
            if not one.starts:
                word = operation.payload[one.name].data
                m.d.comb += getattr(arithmetic, f"i_{one.name}").eq(word)
        start = later(m, "start", self._start(operation.payload), timing.lead)
        taken = self._later(m, "taken", begins, timing.lead)
        first = later(m, "first", flags.first, timing.lead)
        m.d.comb += [
            arithmetic.c.eq(Mux(first, start, ring.sum)),
            ring.started.eq(begins),
            ring.done.eq(self._later(m, "done", taken, timing.latency)),
            ring.result.eq(arithmetic.o),
        ]
        if part.overlaps:
            completed = self._later(m, "completed", completing, self.latency)
            room = self._results(m, completing, completed, arithmetic.o)
            m.d.comb += [
                ring.take.eq(taken),
                operation.ready.eq(ring.free & (room | ~flags.last)),
            ]
        else:
            drained = self._drained(m, completing, ring.sum)
            m.d.comb += [
                ring.take.eq(taken | drained.takes),
                operation.ready.eq(ring.free & ~drained.drains),
            ]
        return m

    def _start(self, operands: Any) -> Value:
        """Returns the initial sums: words that have arrived, or the identity."""
        part, fmt = self._part, self._part.arithmetic.result
        for one in part.operands:
            if one.starts:
                words = operands[one.name].data
                containers = [words.word_select(n, fmt.container_bits) for n in range(one.lanes)]
                patterns = Cat(word[fmt.container_bits - fmt.bits :] for word in containers)
                return patterns.replicate(part.vector // one.lanes)
        identity = Const(part.arithmetic.semirings[0].identity_in(fmt), fmt.bits)
        return identity.replicate(part.vector)

    def _join(self, m: Module) -> Any:
        """Joins the operands into one stream."""
        operands = self._part.operands
        if len(operands) == 1:
            [one] = operands
            layout = data.StructLayout({one.name: self._words(one)})
            joined = stream.Signature(layout).create(path=("operands",))
            source = getattr(self, f"i_{one.name}")
            m.d.comb += [
                joined.valid.eq(source.valid),
                joined.payload[one.name].eq(source.payload),
                source.ready.eq(joined.ready),
            ]
            return joined
        m.submodules.join = join = Join({one.name: self._words(one) for one in operands})
        for one in operands:
            source = wiring.flipped(getattr(self, f"i_{one.name}"))
            wiring.connect(m, source, getattr(join, f"i_{one.name}"))
            if one.starts:
                flags = getattr(self, f"i_{operands[0].name}").payload
                m.d.comb += getattr(join, f"needs_{one.name}").eq(flags.first)
        return join.o

    def _pass_on(self, m: Module, operands: Any) -> Any:
        """Pass operands on; what is left is a stream of operations."""
        outputs = [(one, loop) for one in self._part.operands for loop in one.forwards]
        if not outputs:
            return operands
        m.submodules.fork = fork = Fork(operands.payload.shape(), 1 + len(outputs))
        wiring.connect(m, operands, fork.i)
        if any(one.starts for one, _ in outputs):
            begins = operands.payload[self._part.operands[0].name].first
            m.d.comb += fork.to.eq(Cat(1, *(begins | (not one.starts) for one, _ in outputs)))
        for (one, loop), source in zip(outputs, fork.o[1:], strict=True):
            port = getattr(self, f"o_{one.name}_{loop}")
            m.d.comb += [
                port.valid.eq(source.valid),
                port.payload.eq(source.payload[one.name]),
                source.ready.eq(port.ready),
            ]
        return fork.o[0]

    def _later(self, m: Module, name: str, value: Value, cycles: int) -> Value:
        """Delays a bit by a number of cycles; it is 0 before the reset."""
        if not cycles:
            return value
        under_way = Signal(cycles, name=f"{name}_later")
        m.d.sync += under_way.eq(Cat(value, under_way)[:cycles])
        return under_way[-1]

    def _results(self, m: Module, completing: Value, completed: Value, result: Value) -> Value:
        """Queue results; whether there is room for one more.

        They are counted from where they begin, so that one that comes always finds a place.
        """
        sums = self._part.sums
        bits = self._part.vector * self._part.arithmetic.result.bits
        queue = Queue(bits, sums) if sums <= FEW_SUMS else DeepQueue(bits, sums)
        m.submodules.results = queue
        owed = Signal(range(sums + 1))
        owed_next = Signal.like(owed)
        leaves = Signal(name="result_leaves")
        m.d.comb += [
            queue.i.valid.eq(completed),
            queue.i.payload.eq(result),
            self.o.valid.eq(queue.o.valid),
            self.o.payload.eq(in_containers(self._part, queue.o.payload)),
            queue.o.ready.eq(self.o.ready),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        m.d.comb += owed_next.eq(moved_count(owed, completing, leaves))
        m.d.sync += owed.eq(owed_next)
        return owed != sums

    def _drained(self, m: Module, completing: Value, following: Value) -> DrainedSums:
        """Sends sums out of the ring, of which the next one is given."""
        drained = DrainedSums(len(following), self._part.sums, latency=self.latency)
        m.submodules.drained = drained
        m.d.comb += [
            drained.completing.eq(completing),
            drained.sum.eq(following),
            self.o.valid.eq(drained.o.valid),
            self.o.payload.eq(in_containers(self._part, drained.o.payload)),
            drained.o.ready.eq(self.o.ready),
        ]
        return drained


def _arithmetic(part: ElementPart) -> FactoredSum | VectorSum | TripleSum | PlainSum:
    """Returns the unit that adds products to sums."""
    if part.outer:
        return FactoredSum(part)
    return VectorSum(part) if part.vector > 1 else sum_of_products(part)
