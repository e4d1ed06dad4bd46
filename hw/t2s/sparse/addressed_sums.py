"""The sums of a processing element whose rows come in any order."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.t2s.sparse_parts import SparseElementPart
from ...spec.t2s.timing import FEW_SUMS, entry_timing
from ...stream.ring import moved_count, ring_address


class SumStore(wiring.Component):
    """Stores sums; reads one and writes one per cycle.

    Many are read a cycle ahead: ``sum`` is what was at ``read_place`` in the last cycle with
    ``reads``. Few are read without a clock, and one is a register: ``sum`` is what is at
    ``read_place``. What is written is there from the next cycle on. A reset leaves all as it is.

    Parameters
    ----------
    width: bits of a sum
    places: how many there are

    Members
    -------
    reads, read_place: in
    sum: out
    writes, write_place, written: in
    """

    def __init__(self, width: int, places: int) -> None:
        self._width, self._places = width, places
        bits = max(1, (places - 1).bit_length())
        super().__init__(
            {
                "reads": In(1),
                "read_place": In(bits),
                "sum": Out(width),
                "writes": In(1),
                "write_place": In(bits),
                "written": In(width),
            }
        )

    @property
    def width(self) -> int:
        return self._width

    @property
    def places(self) -> int:
        return self._places

    @property
    def ahead(self) -> int:
        """Cycles from reading to the sum."""
        return int(self._places > FEW_SUMS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._places == 1:
            held = Signal(self._width, reset_less=True)
            with m.If(self.writes):
                m.d.sync += held.eq(self.written)
            m.d.comb += self.sum.eq(held)
            return m
        m.submodules.storage = storage = Memory(
            shape=unsigned(self._width), depth=self._places, init=[]
        )
        write = storage.write_port()
        read = storage.read_port(domain="sync" if self.ahead else "comb")
        m.d.comb += [
            write.en.eq(self.writes),
            write.addr.eq(self.write_place),
            write.data.eq(self.written),
            read.addr.eq(self.read_place),
            self.sum.eq(read.data),
        ]
        if self.ahead:
            m.d.comb += read.en.eq(self.reads)
        return m


class Scoreboard(wiring.Component):
    """Keeps operations apart that take the same sum.

    No latency: ``free`` is of what is at ``place``, in the same cycle. A comparison a cycle that an
    operation is under way.

    Parameters
    ----------
    bits: of a place
    cycles: from an operation to the next one with the same sum, at least; at least 2

    Members
    -------
    place: in; of the sum that an operation would take
    started: in; it begins. Only if ``free``
    free: out; none has begun with the same place in the last ``cycles`` - 1 cycles
    """

    def __init__(self, bits: int, cycles: int) -> None:
        self._bits, self._cycles = bits, cycles
        super().__init__({"place": In(bits), "started": In(1), "free": Out(1)})

    @property
    def bits(self) -> int:
        return self._bits

    @property
    def cycles(self) -> int:
        return self._cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        same: list[Value] = []
        begun: Value = self.started
        place: Value = self.place
        for age in range(1, self._cycles):
            was_begun = Signal(name=f"begun_{age}")
            was_place = Signal(self._bits, name=f"place_{age}", reset_less=True)
            m.d.sync += [was_begun.eq(begun), was_place.eq(place)]
            same.append(was_begun & (was_place == self.place))
            begun, place = was_begun, was_place
        m.d.comb += self.free.eq(~reduce(or_, same))
        return m


class _Walk(NamedTuple):
    """Sums that leave, or that are cleared after a reset.

    Parameters
    ----------
    swept: all sums are the identity, or what entries have made of it
    drains: sums are read that are complete
    half, place: of the sum
    step: it is read, or cleared
    """

    swept: Value
    drains: Value
    half: Value
    place: Value
    step: Value


class _Operation(NamedTuple):
    """Operation in flight, if one is, and its sum."""

    begun: Value
    half: Value
    place: Value


class AddressedSums(wiring.Component):
    """Updates the sums that entries address, and sends those that are complete.

    Each operation takes the sum of its row and of its number in an entry, and writes it back later.
    A sum that has left is the identity again.

    An operation waits while one with the same sum is under way, see :func:`entry_timing`. Where an
    entry has as many operations as that takes, none ever does, and nothing is compared.

    With two halves, sums of the one leave while those of the other are computed: operations wait
    while both are complete. With one they wait until all sums have left. The first leaves
    :func:`entry_timing`'s ``drain`` cycles after ``ends``, further ones a sum a cycle, those of a
    row one behind the other. After a reset, whatever was there before, operations wait for as many
    cycles as a half has sums: these are cleared.

    Parameters
    ----------
    part: of the element

    Members
    -------
    slot: in; the row of the operation that would begin next
    free: out; it may
    started: in; it begins. Only if ``free``
    last: out; it is the last of its entry
    open: out; sums may be complete
    ends: in; they are, with all operations that have begun. Only if ``open``, and none begins
    sum: out; that of the operation which began ``lead`` cycles ago
    result: in; the sum of the operation which began ``lead`` and ``latency`` cycles ago
    o: complete sums
    """

    def __init__(self, part: SparseElementPart) -> None:
        self._part, self._timing = part, entry_timing(part)
        self._width = part.element.vector * part.element.arithmetic.result.bits
        super().__init__(
            {
                "slot": In(max(1, (part.layout.slots - 1).bit_length())),
                "free": Out(1),
                "started": In(1),
                "last": Out(1),
                "open": Out(1),
                "ends": In(1),
                "sum": Out(self._width),
                "result": In(self._width),
                "o": Out(stream.Signature(self._width)),
            }
        )

    @property
    def part(self) -> SparseElementPart:
        return self._part

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, timing = self._part, self._timing
        stores = [SumStore(self._width, part.places) for _ in range(part.halves)]
        left = Signal()
        complete = Signal(range(part.halves + 1))
        swept = Signal()
        m.d.sync += complete.eq(moved_count(complete, self.ends, left))
        m.d.comb += self.open.eq(swept & (complete != part.halves))
        number, last = _counted(m, "number", part.ring_words, self.started)
        half = _counted(m, "half", part.halves, self.ends)[0]
        place = Signal(range(max(2, part.places)))
        m.d.comb += [self.last.eq(last), place.eq(self._place(number, self.slot))]
        free: Value = self.open
        if timing.waits(part.ring_words):
            m.submodules.scoreboard = board = Scoreboard(len(place) + len(half), timing.again)
            m.d.comb += [board.place.eq(Cat(place, half)), board.started.eq(self.started)]
            free = free & board.free
        m.d.comb += self.free.eq(free)
        under_way = self._under_way(m, _Operation(self.started, half, place))
        walk = self._walk(m, swept, left, stores)
        reader = under_way[timing.lead - stores[0].ahead]
        for index, store in enumerate(stores):
            m.submodules[f"half_{index}"] = store
            self._half(m, store, index, reader, under_way[-1], walk)
        m.d.comb += self.sum.eq(_of_half(stores, under_way[timing.lead].half))
        return m

    def _place(self, number: Value, slot: Value) -> Value:
        """Returns the place of a sum in its half."""
        slots = (self._part.layout.slots - 1).bit_length()
        return Cat(number, slot[:slots])

    def _under_way(self, m: Module, operation: _Operation) -> list[_Operation]:
        """Returns the operations that began 0, 1, ... cycles ago, up to the complete one."""
        found = [operation]
        for age in range(1, self._timing.lead + self._timing.latency + 1):
            begun = Signal(name=f"under_way_{age}")
            half = Signal(len(operation.half), name=f"half_{age}_ago", reset_less=True)
            place = Signal(len(operation.place), name=f"place_{age}_ago", reset_less=True)
            before = found[-1]
            m.d.sync += [begun.eq(before.begun), place.eq(before.place)]
            if self._part.halves > 1:
                m.d.sync += half.eq(before.half)
            found.append(_Operation(begun, half if self._part.halves > 1 else before.half, place))
        return found

    def _walk(self, m: Module, swept: Signal, left: Signal, stores: list[SumStore]) -> _Walk:
        """Clear all sums after a reset; then let those leave that are complete."""
        part = self._part
        known = Signal(range(part.halves + 1))
        step = Signal()
        drains = Signal()
        number, number_last = _counted(m, "leaving_number", part.ring_words, step | ~swept)
        walked = (step | ~swept) & number_last
        slot, slot_last = _counted(m, "leaving_slot", part.layout.slots, walked)
        last = number_last & slot_last
        half = _counted(m, "leaving_half", part.halves, step & last)[0]
        # The last of the operations has been written when its sum is read.
        told: Value = self.ends
        for age in range(1, self._timing.lead + self._timing.latency):
            ended = Signal(name=f"ended_{age}_ago")
            m.d.sync += ended.eq(told)
            told = ended
        m.d.sync += [known.eq(moved_count(known, told, step & last)), swept.eq(swept | last)]
        m.d.comb += drains.eq(known != 0)
        if stores[0].ahead:
            valid = Signal(name="sum_leaves")
            held_last = Signal(reset_less=True)
            held_half = Signal(len(half), reset_less=True)
            m.d.comb += [
                step.eq(drains & (self.o.ready | ~valid)),
                self.o.valid.eq(valid),
                self.o.payload.eq(_of_half(stores, held_half)),
                left.eq(valid & self.o.ready & held_last),
            ]
            m.d.sync += valid.eq(step | (valid & ~self.o.ready))
            with m.If(step):
                m.d.sync += [held_last.eq(last), held_half.eq(half)]
        else:
            m.d.comb += [
                self.o.valid.eq(drains),
                self.o.payload.eq(_of_half(stores, half)),
                step.eq(drains & self.o.ready),
                left.eq(step & last),
            ]
        return _Walk(swept, drains, half, self._place(number, slot), step)

    def _half(
        self,
        m: Module,
        store: SumStore,
        number: int,
        reader: _Operation,
        done: _Operation,
        walk: _Walk,
    ) -> None:
        """Operations and sums that leave never meet in a half."""
        arithmetic = self._part.element.arithmetic
        word = Const(arithmetic.semirings[0].identity_in(arithmetic.result), arithmetic.result.bits)
        identity = word.replicate(self._part.element.vector)
        drains = walk.drains & (walk.half == number)
        clears = drains | ~walk.swept
        m.d.comb += [
            store.reads.eq(Mux(drains, walk.step, reader.begun & (reader.half == number))),
            store.read_place.eq(Mux(drains, walk.place, reader.place)),
            store.writes.eq(
                Mux(clears, walk.step | ~walk.swept, done.begun & (done.half == number))
            ),
            store.write_place.eq(Mux(clears, walk.place, done.place)),
            store.written.eq(Mux(clears, identity, self.result)),
        ]


def _counted(m: Module, name: str, extent: int, advance: Value) -> tuple[Value, Value]:
    """A count 0, 1, ... ``extent`` - 1, 0, ... and whether it is at its last: without a bit, if
    there is nothing to count."""
    if extent == 1:
        return Const(0, 0), Const(1)
    count = ring_address(m, name, extent, advance=advance)
    return count, count == extent - 1


def _of_half(stores: list[SumStore], half: Value) -> Value:
    """Selects the sum that a half returns."""
    if len(stores) == 1:
        return stores[0].sum
    return Mux(half, stores[1].sum, stores[0].sum)
