"""Which partial sums of a group are added next."""

from __future__ import annotations

from enum import Enum

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.ring import ring_address
from .layouts import group_layout, level_offset, level_slots, log_layout, plan_layout, slot_range
from .ring_step import ring_step

__all__ = ["Pair", "PairSums"]


class Pair(Enum):
    """The pairs of at most four partial sums: the first two, the other two, and what these gave.
    The first pair exists from two partial sums on, the last from three."""

    FIRST = 2
    LAST = 3
    SECOND = 4


class PairSums(wiring.Component):
    """Goes over the groups of a level, in order, and offers the sums of one of their pairs.

    The total of a pair is where its right side was. A group without such a pair takes one cycle, a
    group of ``vectors`` pairs as many as it takes to have them all ``taken``. A sum is offered only
    when both of its sides are complete.

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
    pointer: out; of the group in the ring of groups
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
        vector = Signal.like(self.vectors)
        here = Signal()
        concerned = Signal()
        last = Signal()
        passes = Signal()
        exists = group.partials == 4 if pair is Pair.SECOND else group.partials >= pair.value
        m.d.comb += [
            here.eq((self.behind != 0) & self.allowed),
            concerned.eq(exists),
            # Only a group of one vector has more than two partial sums.
            last.eq(vector + 1 == self.vectors),
            passes.eq(here & (~concerned | (self.taken & last))),
        ]
        if pair is Pair.FIRST:
            left = ring_step(m, "left_place", group.base, vector, slots)
            right = ring_step(m, "right_place", left, self.vectors, slots)
        elif pair is Pair.SECOND:
            left = ring_step(m, "left_place", group.base, 2, slots)
            right = group.result
        else:
            left = ring_step(m, "left_place", group.base, 1, slots)
            right = group.result
        m.d.comb += [self.left.eq(left + offset), self.right.eq(right + offset)]
        busy = [
            log.valid & (log.slot == side)
            for log in self.recent
            for side in (self.left, self.right)
        ]
        m.d.comb += self.offer.eq(here & concerned & ~Cat(busy).any())
        pointer = ring_address(m, "group_number", slots, advance=passes, clear=self.clear)
        m.d.comb += self.pointer.eq(pointer)
        with m.If(passes | self.clear):
            m.d.sync += vector.eq(0)
        with m.Elif(self.taken):
            m.d.sync += vector.eq(vector + 1)
        m.d.sync += self.behind.eq(self.behind + self.close - passes)
        with m.If(self.clear):
            m.d.sync += self.behind.eq(0)
        return m
