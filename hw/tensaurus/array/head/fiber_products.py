"""Multiplies the sums of fibers that are complete: the operations of their groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....spec.tensaurus import TensaurusConfig
from ..layouts import (
    group_layout,
    info_layout,
    level_offset,
    level_slots,
    log_layout,
    operand_layout,
    plan_layout,
    slot_range,
)
from .sum_level import SumLevel, ring_step


class FiberProducts(wiring.Component):
    """Generates the operations of the oldest group of a temporary level: each vector times the same
    vector of a row of an operand (MTTKRP), or all of them times one scalar after the other (TTMc).

    An operation is offered when the sum that it multiplies is complete by the time the operation
    is carried out. A group takes one cycle to look at.

    Parameters
    ----------
    config: of the accelerator
    level: a temporary one

    Members
    -------
    by_scalars: in; the operand's row is one of scalars
    vectors, repeats: in; of a group; how often it is multiplied
    complete, group, about: in; the level's oldest group, if it is complete
    sums: in; slots that the sums of the latest operations go to
    starts: in; slots that their products go to
    offer: out; an operation
    waits: out; there will be one, after further operations
    ends: out; there is the end of a tile in place of a group
    operand: out; of the operation
    slot: out; what it multiplies
    last: out; it is the last one of its group
    taken: in; it is carried out
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig, level: int) -> None:
        self.config: Final = config
        self._level = level
        count = plan_layout(config)["count"].shape.elem_shape
        log, product = log_layout(config), config.product_latency
        super().__init__(
            {
                "by_scalars": In(1),
                "vectors": In(count),
                "repeats": In(count),
                "complete": In(1),
                "group": In(group_layout(config, level)),
                "about": In(info_layout(config, level)),
                "sums": In(data.ArrayLayout(log, config.sum_latency + product)),
                "starts": In(data.ArrayLayout(log, product)),
                "offer": Out(1),
                "waits": Out(1),
                "ends": Out(1),
                "operand": Out(operand_layout(config)),
                "slot": Out(slot_range(config)),
                "last": Out(1),
                "taken": In(1),
                "clear": In(1),
            }
        )

    @property
    def level(self) -> int:
        return self._level

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, level = self.config, self._level
        slots = level_slots(config, level)
        loaded = Signal()
        place = Signal(range(slots))
        vector = Signal.like(self.vectors)
        scalar = Signal.like(self.repeats)
        last_vector = Signal()
        busy = Signal()
        fiber = self.about.fibers[0]
        logs = [*self.sums, *self.starts]
        m.d.comb += [
            self.ends.eq(self.complete & self.about.end),
            self.slot.eq(place + level_offset(config, level)),
            self.operand.address.eq(fiber.address + Mux(self.by_scalars, scalar, vector)),
            self.operand.side.eq(fiber.side),
            busy.eq(Cat(log.valid & (log.slot == self.slot) for log in logs).any()),
            self.offer.eq(loaded & ~busy),
            self.waits.eq(loaded & busy),
            last_vector.eq(vector + 1 == self.vectors),
            self.last.eq(last_vector & (scalar + 1 == self.repeats)),
        ]
        with m.If(self.taken):
            m.d.sync += [
                place.eq(ring_step(m, "next_place", place, 1, slots)),
                vector.eq(vector + 1),
            ]
            with m.If(last_vector):
                m.d.sync += [place.eq(self.group.result), vector.eq(0), scalar.eq(scalar + 1)]
            with m.If(self.last):
                m.d.sync += [loaded.eq(0), scalar.eq(0)]
        with m.Elif(~loaded):
            m.d.sync += [
                loaded.eq(self.complete & ~self.about.end),
                place.eq(self.group.result),
            ]
        with m.If(self.clear):
            m.d.sync += [loaded.eq(0), vector.eq(0), scalar.eq(0)]
        return m


@dataclass
class Choice:
    """Choice among the sources of operations: those that offer one, have space, and are granted;
    and the operation issued.

    Members
    -------
    plan: of the job, see :func:`plan_layout`
    operation: that is issued in this cycle, see :func:`operation_layout`
    sums: the levels of sums, the output register last
    fibers: the products of each level's sums but the last one's
    fiber_room, fiber_goes: of each of those: there is room for what it is added to; it goes
    product, product_fits, product_goes: of a value: there is one, and room; it goes
    pause_goes: an operation that is none goes
    ready: an operation may be issued
    issued: one is
    closing: groups end, of sums of fibers
    """

    plan: Any
    operation: data.View[data.StructLayout]
    sums: list[SumLevel]
    fibers: list[FiberProducts]
    fiber_room: list[Signal]
    fiber_goes: list[Signal]
    product: Signal
    product_fits: Signal
    product_goes: Signal
    pause_goes: Signal
    ready: Signal
    issued: Signal
    closing: list[Signal]
