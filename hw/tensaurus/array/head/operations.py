"""The operations of a row that may come next: products of values, and of the sums of fibers."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream

from ....spec.tensaurus import TensaurusConfig
from ..layouts import Source, info_layout, operand_layout, slice_range
from .choice import Choice
from .sum_level import SumLevel

__all__ = ["choose_fibers", "choose_values"]


def choose_values(
    m: Module, config: TensaurusConfig, values: stream.Interface, clear: Signal, choice: Choice
) -> None:
    """Products of values, and where fibers and slices end.

    Parameters
    ----------
    values: stream of values, see :func:`decoded_layout`
    clear: forgets everything at the end of the cycle
    """
    plan, slot, operation = choice.plan, values.payload, choice.operation
    first, output = choice.sums[0], choice.sums[-1]
    temporary = len(choice.sums) - 1

    def of_first(name: str) -> Value:
        """A member of the level that products go to."""
        if not temporary:
            return Value.cast(getattr(output, name))
        return Mux(plan.last, getattr(output, name), getattr(first, name))

    held = Signal(data.ArrayLayout(operand_layout(config), temporary), name="fibers")
    slice_ = Signal(slice_range(config))
    vector = Signal.like(plan.vectors[0])
    vectors = Signal.like(plan.vectors[0])
    differs = Signal(temporary)
    sliced = Signal(name="slice_ends")
    leaves = Signal()
    closing = Signal()
    ending = Signal()
    last = Signal()
    is_open = of_first("open")
    m.d.comb += [
        vectors.eq(Mux(plan.last, plan.vectors[-1], plan.vectors[0])),
        sliced.eq(slot.end | (slot.slice != slice_)),
        leaves.eq(is_open & (sliced | differs.any())),
        closing.eq(values.valid & leaves & of_first("can_close")),
        ending.eq(values.valid & slot.end & ~is_open & of_first("can_close")),
        last.eq(vector + 1 == vectors),
        choice.product.eq(values.valid & ~slot.end & (~leaves | closing)),
        choice.product_room.eq(of_first("room")),
    ]
    for level in range(temporary):
        m.d.comb += differs[level].eq(slot.fibers[level] != held[level])
    with m.If(choice.product_goes):
        m.d.sync += [vector.eq(Mux(last, 0, vector + 1)), slice_.eq(slot.slice)]
        m.d.sync += [held[level].eq(slot.fibers[level]) for level in range(temporary)]
    with m.If(clear):
        m.d.sync += vector.eq(0)
    m.d.comb += values.ready.eq(Mux(slot.end, ending, choice.product_goes & last))
    closed = closing | ending
    if temporary:
        info = Signal(info_layout(config, 0), name="fiber_info")
        m.d.comb += [
            info.fibers.eq(held),
            info.slice.eq(slice_),
            info.end.eq(ending),
            info.closes[0].eq(sliced),
            first.info.eq(info),
            first.close.eq(closed & ~plan.last),
            first.push.eq(choice.product_goes & ~plan.last),
        ]
        if temporary == 2:
            m.d.comb += [
                info.closes[0].eq(sliced | (plan.second & differs[1])),
                info.closes[1].eq(sliced),
            ]
    with m.If(plan.last):
        m.d.comb += [
            output.close.eq(closed),
            output.info.slice.eq(slice_),
            output.info.end.eq(ending),
            output.push.eq(choice.product_goes),
        ]
    with m.If(choice.product_goes):
        m.d.comb += [
            operation.active.eq(1),
            operation.source.eq(Mux(plan.scalar_products, Source.SCALAR, Source.UNIT)),
            operation.operand.address.eq(slot.product.address + vector),
            operation.operand.side.eq(slot.product.side),
            operation.scalar.eq(slot.value),
            operation.start.eq(of_first("starts")),
            operation.slot.eq(of_first("slot")),
        ]


def choose_fibers(m: Module, clear: Signal, choice: Choice) -> None:
    """Products of the fibers' sums, and the groups above that end with them.

    Parameters
    ----------
    clear: forgets everything at the end of the cycle
    """
    plan, sums, operation = choice.plan, choice.sums, choice.operation
    output = sums[-1]
    for level, products in enumerate(choice.fibers):
        lower, goes = sums[level], choice.fiber_goes[level]
        ends = Signal(name=f"group_{level}_ends")
        targets: list[tuple[SumLevel, Value]] = [(output, Const(1, 1))]
        if level + 2 < len(sums):
            targets = [(sums[level + 1], plan.second), (output, ~plan.second)]
        can_close = Cat(t.can_close & here for t, here in targets).any()
        room = Cat(t.room & here for t, here in targets).any()
        m.d.comb += [
            choice.fiber_room[level].eq(room & (can_close | ~products.last)),
            products.taken.eq(goes),
            ends.eq(products.ends & can_close),
            lower.finish.eq((goes & products.last) | ends),
        ]
        about = products.about
        for target, here in targets:
            closes = Signal(name=f"group_{level}_closes_{target.level}")
            choice.closing.append(closes)
            info = Signal.like(target.info, name=f"info_{level}_{target.level}")
            with m.If(here):
                # A group ends behind its last product.
                m.d.sync += closes.eq(~clear & (ends | (goes & products.last & about.closes[0])))
            m.d.sync += [info.slice.eq(about.slice), info.end.eq(about.end)]
            if target is not output:
                m.d.sync += [
                    info.fibers[0].eq(about.fibers[1]),
                    info.closes[0].eq(about.closes[1]),
                ]
            with m.If(closes):
                m.d.comb += [target.close.eq(1), target.info.eq(info)]
            with m.If(goes & here):
                m.d.comb += [
                    target.push.eq(1),
                    operation.start.eq(target.starts),
                    operation.slot.eq(target.slot),
                ]
        with m.If(goes):
            m.d.comb += [
                operation.active.eq(1),
                operation.source.eq(Mux(plan.scalar_fibers, Source.SCALAR, Source.UNIT)),
                operation.operand.eq(products.operand),
                operation.fiber.eq(1),
                operation.fiber_slot.eq(products.slot),
            ]
