"""Groups of sums of one level: slots, partial sums, and complete groups."""

from __future__ import annotations

from enum import Enum
from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ....spec.tensaurus import TensaurusConfig
from ....stream.ring import moved_count, ring_address
from ..layouts import (
    group_layout,
    info_layout,
    level_offset,
    level_slots,
    levels,
    log_layout,
    plan_layout,
    slot_range,
)


def ring_step(m: Module, name: str, place: ValueLike, steps: ValueLike, size: int) -> Value:
    """Computes the place so many steps, up to ``size``, after another on a ring of ``size``
    places."""
    total = Signal(range(2 * size), name=f"{name}_total")
    found = Signal(range(size), name=name)
    m.d.comb += [
        total.eq(Value.cast(place) + Value.cast(steps)),
        found.eq(Mux(total >= size, total - size, total)),
    ]
    return found


class Pair(Enum):
    """Pairs of at most four partial sums: the first two, the other two, and the sums of these. The
    first pair exists from two partial sums on, the last from three."""

    FIRST = 2
    LAST = 3
    SECOND = 4


class PairSums(wiring.Component):
    """Walks the groups of a level in order, and offers the sums of one of their pairs.

    The total of a pair is where its right side was. A group takes one cycle to look at, and one of
    ``vectors`` pairs then as many as it takes to have them all ``taken``. A sum is offered only
    when both of its sides are complete, and from then on until it is accepted.

    Parameters
    ----------
    config: of the accelerator
    level: of sums
    pair: which one

    Members
    -------
    vectors: in; of a group
    close: in; a group is complete but for its pairs; counts from the next cycle on
    group: in; the group number ``pointer`` of the ring
    recent: in; slots that the sums of the latest operations go to
    allowed: in; the group's other pairs are added
    offer, left, right: out; a sum that may be added in this cycle
    taken: in; it is
    pointer: out; in the ring of groups, of the one that is looked at next
    behind: out; groups that have not been gone over
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig, level: int, pair: Pair) -> None:
        self.config: Final = config
        self._level, self._pair = level, pair
        slots = level_slots(config, level)
        super().__init__(
            {
                "vectors": In(plan_layout(config)["vectors"].shape.elem_shape),
                "close": In(1),
                "group": In(group_layout(config, level)),
                "recent": In(data.ArrayLayout(log_layout(config), config.sum_latency - 1)),
                "allowed": In(1),
                "offer": Out(1),
                "left": Out(slot_range(config)),
                "right": Out(slot_range(config)),
                "taken": In(1),
                "pointer": Out(range(slots)),
                "behind": Out(range(slots + 1)),
                "clear": In(1),
            }
        )

    @property
    def level(self) -> int:
        return self._level

    @property
    def pair(self) -> Pair:
        return self._pair

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pair, group = self._pair, self.group
        slots = level_slots(self.config, self._level)
        offset = level_offset(self.config, self._level)
        loaded = Signal()
        left = Signal(range(slots))
        right = Signal(range(slots))
        last = Signal()
        exists = group.partials == 4 if pair is Pair.SECOND else group.partials >= pair.value
        looks = Signal()
        passes = Signal()
        m.d.comb += [
            looks.eq((self.behind != 0) & ~loaded),
            passes.eq(Mux(loaded, self.taken & last, looks & ~exists)),
            self.left.eq(left + offset),
            self.right.eq(right + offset),
        ]
        if pair is Pair.FIRST:
            vector = Signal.like(self.vectors)
            m.d.comb += last.eq(vector + 1 == self.vectors)
            with m.If(looks):
                m.d.sync += [
                    left.eq(group.base),
                    right.eq(ring_step(m, "second_sum", group.base, self.vectors, slots)),
                    vector.eq(0),
                ]
            with m.Elif(self.taken):
                m.d.sync += [
                    left.eq(ring_step(m, "next_left", left, 1, slots)),
                    right.eq(ring_step(m, "next_right", right, 1, slots)),
                    vector.eq(vector + 1),
                ]
        else:
            # Only a group of one vector has more than two partial sums.
            m.d.comb += last.eq(1)
            before = 1 if pair is Pair.LAST else 2
            with m.If(looks):
                m.d.sync += [
                    left.eq(ring_step(m, "left_place", group.base, before, slots)),
                    right.eq(group.result),
                ]
        with m.If(self.clear | (self.taken & last)):
            m.d.sync += loaded.eq(0)
        with m.Elif(looks):
            m.d.sync += loaded.eq(exists)
        busy = [
            log.valid & (log.slot == side)
            for log in self.recent
            for side in (self.left, self.right)
        ]
        m.d.comb += self.offer.eq(loaded & self.allowed & ~Cat(busy).any())
        pointer = ring_address(m, "group_number", slots, advance=looks, clear=self.clear)
        m.d.comb += self.pointer.eq(pointer)
        m.d.sync += self.behind.eq(moved_count(self.behind, self.close, passes))
        with m.If(self.clear):
            m.d.sync += self.behind.eq(0)
        return m


class SumLevel(wiring.Component):
    """Assigns slots to the products of a row's operations, and selects the partial sums that are
    added.

    A group's summands, of ``vectors`` vectors each, are distributed over as many partial sums as
    the adder's latency requires; each begins in a slot of its own, in operation order, on a ring.
    When a group is closed its partial sums are added, pair by pair, in operations that
    leave the adder free; then it is complete. Groups are complete, finished and freed in order.

    Time is counted in operations: what is said here holds if they are carried out in order, at most
    one a cycle.

    Parameters
    ----------
    config: of the accelerator
    level: which one

    Members
    -------
    vectors, span: in; vectors of a group, and of its partial sums together
    close: in; the open group ends before this cycle's operation, or (``info.end``, with no open
      group) the tile does
    info: in; what the group is for, see :func:`info_layout`
    can_close: out; there is room for two such
    open: out; there is an open group
    push: in; an operation adds a product
    free, again: out; there is a slot for it; it needs none, unless the open group ends before it
    starts, slot: out; the slot, and whether its sum begins with it
    recent: in; slots that the sums of the latest operations go to, latest first
    offer, left, right: out; a sum of two partial sums that may be added in this cycle
    taken: in; it is
    pending: out; closed groups have partial sums that are not added, or may have
    complete: out; the oldest group is; with ``group`` and its ``about`` (as it was in ``info``)
    finish: in; it is done with
    freed: in; of the output's level: slots that are free from the next cycle on, oldest first. A
      temporary level frees a group's slots when it is done with, and those of all partial sums
      but the last, where the total is, as soon as it is the oldest one and complete
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig, level: int) -> None:
        self.config: Final = config
        self._level = level
        plan = plan_layout(config)
        slot = slot_range(config)
        slots = level_slots(config, level)
        super().__init__(
            {
                "vectors": In(plan["vectors"].shape.elem_shape),
                "span": In(plan["span"].shape.elem_shape),
                "close": In(1),
                "info": In(info_layout(config, level)),
                "can_close": Out(1),
                "open": Out(1),
                "push": In(1),
                "free": Out(1),
                "again": Out(1),
                "starts": Out(1),
                "slot": Out(slot),
                "recent": In(data.ArrayLayout(log_layout(config), config.sum_latency - 1)),
                "offer": Out(1),
                "left": Out(slot),
                "right": Out(slot),
                "taken": In(1),
                "pending": Out(1),
                "complete": Out(1),
                "group": Out(group_layout(config, level)),
                "about": Out(info_layout(config, level)),
                "finish": In(1),
                "freed": In(range(slots + 1)),
                "clear": In(1),
            }
        )

    @property
    def level(self) -> int:
        return self._level

    def elaborate(self, platform: object) -> Module:
        m = Module()
        closed = self._slots(m)
        self._groups(m, closed)
        return m

    def _slots(self, m: Module) -> Signal:
        """Deals out slots; the open group, as it would be closed now."""
        slots = level_slots(self.config, self._level)
        group = Signal(group_layout(self.config, self._level), name="open_group")
        used = Signal(range(slots + 1))
        goes_on = Signal()
        wrapped = Signal()
        position = Signal.like(self.span)
        following = Signal.like(self.span)
        vector = Signal.like(self.vectors)
        begins = Signal()
        takes = Signal()
        tail = ring_address(m, "tail", slots, advance=takes, clear=self.clear)
        local = Mux(self.starts, tail, ring_step(m, "place_again", group.base, position, slots))
        m.d.comb += [
            goes_on.eq(self.open & ~self.close),
            self.starts.eq(~(goes_on & wrapped)),
            self.free.eq(used != slots),
            self.again.eq(self.open & wrapped),
            self.slot.eq(local + level_offset(self.config, self._level)),
            takes.eq(self.push & self.starts),
            begins.eq(~goes_on | (vector == 0)),
            following.eq(Mux(goes_on, position, 0) + 1),
        ]
        with m.If(self.push):
            full = following == self.span
            m.d.sync += [
                position.eq(Mux(full, 0, following)),
                wrapped.eq((goes_on & wrapped) | full),
                vector.eq(Mux(goes_on, vector, 0) + 1),
            ]
            with m.If(Mux(goes_on, vector, 0) + 1 == self.vectors):
                m.d.sync += vector.eq(0)
        with m.If(takes):
            m.d.sync += group.size.eq(Mux(goes_on, group.size, 0) + 1)
            with m.If(begins):
                m.d.sync += [
                    group.result.eq(tail),
                    group.partials.eq(Mux(goes_on, group.partials, 0) + 1),
                ]
            with m.If(~goes_on):
                m.d.sync += group.base.eq(tail)
        m.d.sync += [self.open.eq(goes_on | self.push), used.eq(self._used(m, used, takes))]
        with m.If(self.clear):
            m.d.sync += [self.open.eq(0), used.eq(0)]
        return group

    def _used(self, m: Module, used: Signal, takes: Signal) -> Value:
        """Slots that are used from the next cycle on. ``takes`` and ``finish`` are known late, and
        only choose."""

        def moved(name: str, freed: ValueLike) -> Value:
            """The number, less those that are free again, and one more if one is taken."""
            less = Signal.like(used, name=f"less_{name}")
            more = Signal.like(used, name=f"more_{name}")
            m.d.comb += [less.eq(used - freed), more.eq(used - freed + 1)]
            return Mux(takes, more, less)

        if self._level == levels(self.config) - 1:
            return moved("freed", self.freed)
        rest = Signal()
        freed = Signal.like(self.freed, name="freed_here")
        goes_on = self.complete & ~self.about.end
        with m.If(goes_on & ~rest):
            m.d.comb += freed.eq(self.group.size - self.vectors)
        m.d.sync += rest.eq(~self.clear & ~self.finish & goes_on)
        done = moved("done", Mux(rest, self.vectors, self.group.size))
        return Mux(self.finish, done, moved("trimmed", freed))

    def _queued(self, m: Module, queued: Signal) -> None:
        """Counts the closed groups, and says whether there is room for two, from a register."""
        fits = Signal(init=1)
        most = level_slots(self.config, self._level) - 1
        following = Mux(self.close, queued + 1 < most, queued < most + 1)
        m.d.comb += self.can_close.eq(fits)
        m.d.sync += [
            queued.eq(moved_count(queued, self.close, self.finish)),
            fits.eq(Mux(self.close == self.finish, queued < most, following)),
        ]
        with m.If(self.clear):
            m.d.sync += [queued.eq(0), fits.eq(1)]

    def _groups(self, m: Module, closed: Signal) -> None:
        """Keeps the ring of closed groups, and the walks over it."""
        config, level = self.config, self._level
        slots = level_slots(config, level)
        layout = group_layout(config, level)
        m.submodules.groups = groups = Memory(shape=layout, depth=slots, init=[])
        m.submodules.infos = infos = Memory(shape=info_layout(config, level), depth=slots, init=[])
        queued = Signal(range(slots + 1))
        written = ring_address(m, "written", slots, advance=self.close, clear=self.clear)
        oldest = ring_address(m, "oldest", slots, advance=self.finish, clear=self.clear)
        entry = Signal(layout, name="entry")
        m.d.comb += entry.eq(closed)
        with m.If(~self.open):
            m.d.comb += [entry.partials.eq(0), entry.size.eq(0)]
        for memory, value in ((groups, entry), (infos, self.info)):
            write = memory.write_port()
            m.d.comb += [write.en.eq(self.close), write.addr.eq(written), write.data.eq(value)]
        self._queued(m, queued)
        walks: list[PairSums] = []
        for pair in Pair:
            if pair.value > config.sum_latency:
                continue
            m.submodules[f"pair_{pair.name.lower()}"] = walk = PairSums(config, level, pair)
            read = groups.read_port(domain="comb")
            m.d.comb += [
                read.addr.eq(walk.pointer),
                walk.group.eq(read.data),
                walk.vectors.eq(self.vectors),
                walk.close.eq(self.close),
                walk.recent.eq(self.recent),
                walk.clear.eq(self.clear),
            ]
            walks.append(walk)
        self._choose(m, walks)
        done = [walk.behind < queued for walk in walks]
        found, about = groups.read_port(domain="comb"), infos.read_port(domain="comb")
        m.d.comb += [
            found.addr.eq(oldest),
            about.addr.eq(oldest),
            self.group.eq(found.data),
            self.about.eq(about.data),
            self.complete.eq(Cat(done).all()),
            self.pending.eq(Cat(walk.behind != 0 for walk in walks).any()),
        ]

    def _choose(self, m: Module, walks: list[PairSums]) -> None:
        """One of the sums that may be added: the last of a group first."""
        by_pair = {walk.pair: walk for walk in walks}
        order = [by_pair[p] for p in (Pair.LAST, Pair.FIRST, Pair.SECOND) if p in by_pair]
        before: Value = Cat()
        for walk in order:
            others = [w for w in walks if w.pair is not Pair.LAST]
            ahead = [w.behind < walk.behind for w in others]
            m.d.comb += walk.allowed.eq(Cat(ahead).all() if walk.pair is Pair.LAST else 1)
            m.d.comb += walk.taken.eq(self.taken & walk.offer & ~before.any())
            before = Cat(before, walk.offer)
        for walk in reversed(order):
            with m.If(walk.offer):
                m.d.comb += [self.left.eq(walk.left), self.right.eq(walk.right)]
        m.d.comb += self.offer.eq(before.any())
