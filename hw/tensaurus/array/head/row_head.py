"""The head of a row: from slots to the operations of its elements."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ....spec.tensaurus import OVERDUE, TensaurusConfig
from ..layouts import (
    Source,
    decoded_layout,
    info_layout,
    levels,
    log_layout,
    operand_layout,
    operation_layout,
    plan_layout,
    released_layout,
    slice_range,
)
from .fiber_products import Choice, FiberProducts
from .sum_level import SumLevel


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
    begun = Signal(name="value_begun")
    free = Signal(name="first_free")
    again = Signal(name="first_again")
    goes = Signal(name="value_fits")
    sliced = Signal(name="slice_ends")
    leaves = Signal()
    closing = Signal()
    ending = Signal()
    last = Signal()
    is_open = of_first("open")
    m.d.comb += [
        vectors.eq(Mux(plan.last, plan.vectors[-1], plan.vectors[0])),
        sliced.eq(slot.end | (slot.new_slice & ~begun)),
        leaves.eq(is_open & (sliced | differs.any())),
        closing.eq(values.valid & leaves & of_first("can_close")),
        ending.eq(values.valid & slot.end & ~is_open & of_first("can_close")),
        last.eq(vector + 1 == vectors),
        choice.product.eq(values.valid & ~slot.end & (~leaves | closing)),
        # Without waiting for what closes: behind a group that ends a product starts a sum.
        free.eq(of_first("free")),
        again.eq(of_first("again")),
        goes.eq(Mux(leaves, of_first("can_close") & free, free | again)),
        choice.product_fits.eq(values.valid & ~slot.end & goes),
    ]
    if temporary:
        m.d.comb += differs.eq(Mux(begun, 0, slot.new_fibers))
    with m.If(choice.product_goes):
        m.d.sync += [vector.eq(Mux(last, 0, vector + 1)), begun.eq(~last), slice_.eq(slot.slice)]
        m.d.sync += [held[level].eq(slot.fibers[level]) for level in range(temporary)]
    with m.If(clear):
        m.d.sync += [vector.eq(0), begun.eq(0)]
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
    ending = [Signal(name=f"group_{level}_closing") for level in range(len(sums))]
    closing: list[list[Value]] = [[] for _ in sums]
    for level, products in enumerate(choice.fibers):
        lower, goes = sums[level], choice.fiber_goes[level]
        ends = Signal(name=f"group_{level}_ends")
        targets: list[tuple[SumLevel, Value]] = [(output, Const(1, 1))]
        if level + 2 < len(sums):
            targets = [(sums[level + 1], plan.second), (output, ~plan.second)]
        can_close = Cat(t.can_close & here for t, here in targets).any()
        room = Cat((t.free | (t.again & ~ending[t.level])) & here for t, here in targets).any()
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
            closing[target.level].append(closes)
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
    for signal, closes in zip(ending, closing, strict=True):
        m.d.comb += signal.eq(Cat(closes).any())


class OperationLog(wiring.Component):
    """Logs the slots of operations until they can be read again.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    advance: in; an operation is issued
    sum, start: in; the slot that its sum goes to, that its product begins
    sums, starts: out; those of the latest operations, latest first
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        log, product = log_layout(config), config.product_latency
        super().__init__(
            {
                "advance": In(1),
                "sum": In(log),
                "start": In(log),
                "sums": Out(data.ArrayLayout(log, config.sum_latency + product)),
                "starts": Out(data.ArrayLayout(log, product)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for new, kept in ((self.sum, self.sums), (self.start, self.starts)):
            with m.If(self.advance):
                m.d.sync += kept[0].eq(new)
                m.d.sync += [kept[n].eq(kept[n - 1]) for n in range(1, len(kept))]
            with m.If(self.clear):
                m.d.sync += [entry.valid.eq(0) for entry in kept]
        return m


class RowHead(wiring.Component):
    """Selects the operations of a row's elements.

    An operation is a product of a value, a product of a fiber's sum, or none; it leaves the adder
    free if there is none or if it begins a sum, and then partial sums of a group that is closed may
    be added. A fiber's product comes before a value's. All distances that the pipelines of the
    elements ask for are kept in operations, so that nothing ever waits for a sum once it is
    issued, and the order of additions follows from the slots alone.

    An operation a cycle, if slots and room for sums are there; latency one cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    plan: in; see :func:`plan_layout`
    i: stream of values, see :func:`decoded_layout`
    o: stream of operations, see :func:`operation_layout`
    released: stream of slices that are complete as soon as their operation is carried out
    freed: in; slots of the output register that are free again
    idle: out; nothing is in flight here
    wait_slots, wait_sums, wait_output: out; there is no operation but a pause: for lack of slots,
      of sums or of room for them, of room in the output register
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "plan": In(plan_layout(config)),
                "i": In(stream.Signature(decoded_layout(config))),
                "o": Out(stream.Signature(operation_layout(config))),
                "released": Out(stream.Signature(released_layout(config))),
                "freed": In(range(config.output_slots + 1)),
                "idle": Out(1),
                "wait_slots": Out(1),
                "wait_sums": Out(1),
                "wait_output": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self.config, self.plan
        m.submodules.log = log = OperationLog(config)
        m.d.comb += log.clear.eq(self.clear)
        sums = [SumLevel(config, level) for level in range(levels(config))]
        for level, part in enumerate(sums):
            m.submodules[f"level_{level}"] = part
            m.d.comb += [
                part.vectors.eq(plan.vectors[level]),
                part.span.eq(plan.span[level]),
                part.clear.eq(self.clear),
            ]
            m.d.comb += [part.recent[n].eq(log.sums[n]) for n in range(config.sum_latency - 1)]
        temporary = sums[:-1]
        fibers = [FiberProducts(config, level) for level in range(len(temporary))]
        for level, (part, products) in enumerate(zip(temporary, fibers, strict=True)):
            m.submodules[f"fibers_{level}"] = products
            m.d.comb += [
                products.by_scalars.eq(plan.scalar_fibers),
                products.vectors.eq(plan.vectors[level]),
                products.repeats.eq(plan.repeats[level]),
                products.complete.eq(part.complete),
                products.group.eq(part.group),
                products.about.eq(part.about),
                products.sums.eq(log.sums),
                products.starts.eq(log.starts),
                products.clear.eq(self.clear),
            ]
        choice = Choice(
            plan,
            Signal(operation_layout(config), name="operation"),
            sums,
            fibers,
            [Signal(name=f"fiber_{level}_room") for level in range(len(fibers))],
            [Signal(name=f"fiber_{level}_goes") for level in range(len(fibers))],
            Signal(name="product"),
            Signal(name="product_fits"),
            Signal(name="product_goes"),
            Signal(name="pause_goes"),
            Signal(name="ready"),
            Signal(name="issued"),
            [],
        )
        self._register(m, choice)
        overdue = self._reductions(m, choice, log)
        choose_values(m, config, self.i, self.clear, choice)
        choose_fibers(m, self.clear, choice)
        self._priorities(m, choice, overdue)
        self._waits(m, choice)
        return m

    def _register(self, m: Module, choice: Choice) -> None:
        """The register of the operation that is issued, and the slice that may be complete."""
        output, operation, issued = choice.sums[-1], choice.operation, choice.issued
        valid = Signal()
        m.d.comb += [choice.ready.eq(self.o.ready | ~valid), self.o.valid.eq(valid)]
        with m.If(issued):
            m.d.sync += self.o.payload.eq(operation)
        m.d.sync += valid.eq(~self.clear & (issued | (valid & ~self.o.ready)))
        slice_, released = output.about, self.released.payload
        m.d.comb += [
            operation.release.eq(output.complete & self.released.ready),
            operation.end.eq(slice_.end),
            self.released.valid.eq(issued & output.complete),
            output.finish.eq(issued & operation.release),
            released.result.eq(output.group.result),
            released.size.eq(output.group.size),
            released.slice.eq(slice_.slice),
            released.end.eq(slice_.end),
            output.freed.eq(self.freed),
        ]

    def _reductions(self, m: Module, choice: Choice, log: OperationLog) -> Value:
        """Sums of partial sums where the adder is free; whether one has waited for too long."""
        sums, operation = choice.sums, choice.operation
        free = Signal(name="adder_free")
        age = Signal(range(OVERDUE))
        offered = Cat(part.offer for part in sums).any()
        m.d.comb += [
            free.eq(choice.pause_goes | operation.start),
            operation.reduce.eq(free & offered),
        ]
        above: Value = Const(0, 1)
        for part in reversed(sums):
            m.d.comb += part.taken.eq(choice.issued & free & part.offer & ~above)
            above = above | part.offer
        for part in sums:
            with m.If(part.offer):
                m.d.comb += [operation.left.eq(part.left), operation.right.eq(part.right)]
        with m.If(self.clear | (choice.issued & operation.reduce) | ~offered):
            m.d.sync += age.eq(0)
        with m.Elif(choice.issued & (age != OVERDUE - 1)):
            m.d.sync += age.eq(age + 1)
        m.d.comb += [
            log.advance.eq(choice.issued),
            log.sum.valid.eq((operation.active & ~operation.start) | operation.reduce),
            log.sum.slot.eq(Mux(operation.reduce, operation.right, operation.slot)),
            log.start.valid.eq(operation.start),
            log.start.slot.eq(operation.slot),
        ]
        # An offer stays until it is accepted.
        return age == OVERDUE - 1

    def _priorities(self, m: Module, choice: Choice, overdue: Value) -> None:
        """Chooses the next operation by priority."""
        output = choice.sums[-1]
        pending = Cat(part.pending for part in choice.sums).any()
        may = Signal()
        needed = Signal(name="pause_needed")
        m.d.comb += may.eq(choice.ready & ~overdue)
        taken: Value = Const(0, 1)
        for level in reversed(range(len(choice.fibers))):
            offered = choice.fibers[level].offer & choice.fiber_room[level]
            m.d.comb += choice.fiber_goes[level].eq(may & offered & ~taken)
            taken = taken | offered
        product = choice.product_fits
        waits = Cat(products.waits for products in choice.fibers).any()
        m.d.comb += [
            choice.product_goes.eq(may & product & ~taken),
            needed.eq(pending | waits | (output.complete & self.released.ready)),
            choice.pause_goes.eq(choice.ready & Mux(overdue, 1, ~(taken | product) & needed)),
            choice.issued.eq(Cat(*choice.fiber_goes, choice.product_goes, choice.pause_goes).any()),
        ]

    def _waits(self, m: Module, choice: Choice) -> None:
        """Finds the reason if no operation is issued."""
        idles = Signal()
        full = Signal(name="output_full")
        product_waits = choice.product & ~choice.product_fits
        blocked = [
            products.offer & ~room
            for products, room in zip(choice.fibers, choice.fiber_room, strict=True)
        ]
        m.d.comb += [
            idles.eq(choice.ready & ~Cat(*choice.fiber_goes, choice.product_goes).any()),
            full.eq(Mux(self.plan.last, product_waits, Cat(*blocked).any())),
            self.wait_output.eq(idles & full),
            self.wait_sums.eq(idles & ~full & self.i.valid & choice.product),
            self.wait_slots.eq(idles & ~full & ~self.i.valid),
            self.idle.eq(
                ~self.i.valid
                & ~self.o.valid
                & ~Cat(part.open | part.pending | part.complete for part in choice.sums).any()
                & ~Cat(*choice.closing).any()
            ),
        ]
