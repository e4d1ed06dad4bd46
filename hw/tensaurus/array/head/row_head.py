"""The head of a row: from slots to the operations of its elements."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ....spec.tensaurus import OVERDUE, TensaurusConfig
from ..layouts import (
    decoded_layout,
    levels,
    operation_layout,
    plan_layout,
    released_layout,
)
from .choice import Choice
from .fiber_products import FiberProducts
from .operation_log import OperationLog
from .operations import choose_fibers, choose_values
from .sum_level import SumLevel

__all__ = ["RowHead"]


class RowHead(wiring.Component):
    """Decides what the elements of a row do, operation by operation.

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
    idle: out; nothing is under way here
    wait_slots, wait_sums, wait_output: out; there is no operation but a pause: for want of slots,
      of sums or of room for them, of room in the output register
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
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

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self._config, self.plan
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
            Signal(name="product_room"),
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
        # What is offered stays so until it is taken.
        return age == OVERDUE - 1

    def _priorities(self, m: Module, choice: Choice, overdue: Value) -> None:
        """Which operation it is."""
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
        product = choice.product & choice.product_room
        waits = Cat(products.waits for products in choice.fibers).any()
        m.d.comb += [
            choice.product_goes.eq(may & product & ~taken),
            needed.eq(pending | waits | (output.complete & self.released.ready)),
            choice.pause_goes.eq(choice.ready & Mux(overdue, 1, ~(taken | product) & needed)),
            choice.issued.eq(Cat(*choice.fiber_goes, choice.product_goes, choice.pause_goes).any()),
        ]

    def _waits(self, m: Module, choice: Choice) -> None:
        """Why there is none."""
        idles = Signal()
        full = Signal(name="output_full")
        product_waits = choice.product & ~choice.product_room
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
