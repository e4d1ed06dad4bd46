"""Which partial sums of a group are added next."""

from __future__ import annotations

from enum import Enum

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec.tensaurus import TensaurusConfig
from ....stream.ring import moved_count, ring_address
from ..layouts import group_layout, level_offset, level_slots, log_layout, plan_layout, slot_range
from ..ring_step import ring_step

__all__ = ["Pair", "PairSums"]


class Pair(Enum):
    """The pairs of at most four partial sums: the first two, the other two, and what these gave.
    The first pair exists from two partial sums on, the last from three."""

    FIRST = 2
    LAST = 3
    SECOND = 4


class PairSums(wiring.Component):
    """Goes over the groups of a level, in order, and offers the sums of one of their pairs.

    The total of a pair is where its right side was. A group takes one cycle to look at, and one of
    ``vectors`` pairs then as many as it takes to have them all ``taken``. A sum is offered only
    when both of its sides are complete, and from then on until it is taken.

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
        self._config, self._level, self._pair = config, level, pair
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
    def config(self) -> TensaurusConfig:
        return self._config

    @property
    def level(self) -> int:
        return self._level

    @property
    def pair(self) -> Pair:
        return self._pair

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pair, group = self._pair, self.group
        slots = level_slots(self._config, self._level)
        offset = level_offset(self._config, self._level)
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
