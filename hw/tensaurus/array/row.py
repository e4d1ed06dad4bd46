"""A row of the array, but for its elements."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.queue import DeepQueue
from ...stream.stream_registers import SkidBuffer
from ..layouts import ROW_EVENTS, SlotKind, slot_layout, tile_token_layout
from .head.row_head import RowHead
from .head.sum_level import ring_step
from .layouts import (
    answer_layout,
    decoded_layout,
    level_offset,
    levels,
    multiply_layout,
    operand_layout,
    plan_layout,
    released_layout,
    requests_layout,
    slice_range,
    slot_range,
    store_layout,
    sum_layout,
)
from .operand_window import OperandWindow
from .processing_element import RowControl

OPEN_TILES = 255
"""Tiles that may be open ahead of a row."""


class RowDrain(wiring.Component):
    """Offers the vectors of complete slices, in order, while their tile is open.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    vectors: in; of a slice
    i: stream of slices, see :func:`released_layout`
    complete: in; pulse: one more of them can be read
    open: in; pulse: one more tile is open; at most ``OPEN_TILES`` ahead
    offer: out; a vector
    slot, slice, vector: out; where it is, and what
    taken: in; it leaves
    freed: out; slots that are free
    drained: out; pulse: all slices of the tile have left
    waits: out; a slice could leave if its tile were open
    idle: out; there is nothing
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        count = plan_layout(config)["vectors"].shape.elem_shape
        super().__init__(
            {
                "vectors": In(count),
                "i": In(stream.Signature(released_layout(config))),
                "complete": In(1),
                "open": In(1),
                "offer": Out(1),
                "slot": Out(slot_range(config)),
                "slice": Out(slice_range(config)),
                "vector": Out(count),
                "taken": In(1),
                "freed": Out(range(config.output_slots + 1)),
                "drained": Out(1),
                "waits": Out(1),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, slots = self.config, self.config.output_slots
        m.submodules.queue = queue = DeepQueue(released_layout(config), slots)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        first = queue.o.payload
        complete = Signal(range(slots + 2))
        held = Signal(range(slots + 2))
        tiles = Signal(range(OPEN_TILES + 1))
        there = Signal()
        last = Signal()
        put = Signal()
        place = ring_step(m, "place", first.result, self.vector, slots)
        offset = level_offset(config, levels(config) - 1)
        m.d.comb += [
            queue.clear.eq(self.clear),
            there.eq(queue.o.valid & (complete != 0)),
            last.eq(self.vector + 1 == self.vectors),
            self.offer.eq(there & ~first.end & (tiles != 0)),
            self.slot.eq(place + offset),
            self.slice.eq(first.slice),
            self.drained.eq(there & first.end & (tiles != 0)),
            queue.o.ready.eq(self.drained | (self.taken & last)),
            self.freed.eq(Mux(self.taken & last, first.size, 0)),
            self.waits.eq(there & (tiles == 0)),
            put.eq(self.i.valid & self.i.ready),
            self.idle.eq(held == 0),
        ]
        left = queue.o.valid & queue.o.ready
        m.d.sync += [
            complete.eq(complete + self.complete - left),
            held.eq(held + put - left),
            tiles.eq(tiles + self.open - self.drained),
        ]
        with m.If(self.taken):
            m.d.sync += self.vector.eq(Mux(last, 0, self.vector + 1))
        with m.If(self.clear):
            m.d.sync += [complete.eq(0), held.eq(0), tiles.eq(0), self.vector.eq(0)]
        return m


class SlotDecoder(wiring.Component):
    """Accepts a tile's token, then the row's slots of that tile, up to its end.

    Headers are taken out: every value has its slice. Latency one cycle; a slot a cycle, and a
    header also while a value waits.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    plan: in; see :func:`plan_layout`
    tiles: stream of tiles' tokens
    i: stream of slots, see :func:`slot_layout`
    o: stream of values and ends, see :func:`decoded_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "plan": In(plan_layout(config)),
                "tiles": In(stream.Signature(tile_token_layout(config))),
                "i": In(stream.Signature(slot_layout(config))),
                "o": Out(stream.Signature(decoded_layout(config))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot, plan = self.i.payload, self.plan
        # The head decides late whether it takes a value: two may be here.
        m.submodules.decoded = decoded = SkidBuffer(decoded_layout(self.config), clearable=True)
        wiring.connect(m, decoded.o, wiring.flipped(self.o))
        out = decoded.i.payload
        move = Signal()
        header = Signal()
        slice_ = Signal(slice_range(self.config), name="slice_number")
        m.d.comb += [
            header.eq(slot.kind == SlotKind.HEADER),
            move.eq(self.i.valid & self.tiles.valid & ~header & decoded.i.ready),
            self.i.ready.eq(move | (self.i.valid & self.tiles.valid & header)),
            self.tiles.ready.eq(move & (slot.kind == SlotKind.END)),
            decoded.i.valid.eq(move),
            decoded.clear.eq(self.clear),
        ]
        with m.If(self.i.valid & self.i.ready & header):
            m.d.sync += slice_.eq(slot.index[0])
        operands = self._operands(m)
        temporary = levels(self.config) - 1
        before = [Signal.like(index, name=f"before_{n}") for n, index in enumerate(slot.index)]
        slice_before = Signal.like(slice_)
        changes = [index != old for index, old in zip(slot.index, before, strict=True)]
        with m.If(move & (slot.kind == SlotKind.VALUE)):
            m.d.sync += slice_before.eq(slice_)
            m.d.sync += [old.eq(index) for index, old in zip(slot.index, before, strict=True)]
        nothing = Const(0, operand_layout(self.config).size)
        m.d.comb += [
            out.end.eq(slot.kind == SlotKind.END),
            out.value.eq(slot.value),
            out.slice.eq(slice_),
            out.new_slice.eq(slice_ != slice_before),
            out.product.eq(Array(operands)[plan.product_mode]),
        ]
        for level in range(temporary):
            # Level l is multiplied by mode order - 2 - l.
            choice = [*([nothing] * (level + 1)), *operands[: temporary - level]]
            new = [*([Const(0, 1)] * (level + 1)), *changes[: temporary - level]]
            m.d.comb += [
                out.fibers[level].eq(Array(choice)[plan.product_mode]),
                out.new_fibers[level].eq(Array(new)[plan.product_mode]),
            ]
        return m

    def _operands(self, m: Module) -> list[Value]:
        """Computes the address of the slot's row of the operand, for every mode."""
        config, plan = self.config, self.plan
        found: list[Value] = []
        for n in range(config.order - 1):
            operand = Signal(operand_layout(config), name=f"operand_{n + 1}")
            index = self.i.payload.index[n][: config.spm_scalars.bit_length()]
            m.d.comb += [
                operand.address.eq(plan.region[n] + index * plan.count[n]),
                operand.side.eq(self.tiles.payload.sides[n]),
            ]
            found.append(data.View.as_value(operand))
        return found


_TILES = 2
"""Tokens of tiles that wait for a row."""


class Row(wiring.Component):
    """Turns the slots of a row into the control words of its elements, and sends its finished
    slices.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    plan: in; see :func:`plan_layout`
    slots, tiles: streams, see :class:`ComputeArray`
    units, scalars, unit_granted, scalar_granted, unit_arrives, scalar_arrives: see
      :class:`OperandWindow`
    unit_conflict, scalar_conflict: in; requests are there, and none is served
    scalar_answer, scalar_vector: in; from the scratchpad of scalars
    scalar: out; the value of it that is meant, in lane 0
    fetch, multiply, sum, store: out; see :class:`ProcessingElement`
    open, offer, slot, slice, vector, taken, drained: see :class:`RowDrain`
    ended: out; all operations of a tile have been carried out
    the members of ``ROW_EVENTS``: out; whether it happens
    idle: out; nothing is in flight
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        answer, requests = answer_layout(config), requests_layout(config)
        vector = config.vlen * config.format.bits
        super().__init__(
            {
                "plan": In(plan_layout(config)),
                "slots": In(stream.Signature(slot_layout(config))),
                "tiles": In(stream.Signature(tile_token_layout(config))),
                **{f"{kind}s": Out(requests) for kind in ("unit", "scalar")},
                **{f"{kind}_granted": In(answer) for kind in ("unit", "scalar")},
                **{f"{kind}_arrives": In(answer) for kind in ("unit", "scalar")},
                **{f"{kind}_conflict": In(1) for kind in ("unit", "scalar")},
                "scalar_answer": In(answer),
                "scalar_vector": In(vector),
                "scalar": Out(config.format.bits),
                "fetch": Out(range(config.window)),
                "multiply": Out(multiply_layout(config)),
                "sum": Out(sum_layout(config)),
                "store": Out(store_layout(config)),
                "open": In(1),
                "offer": Out(1),
                "slot": Out(slot_range(config)),
                "slice": Out(slice_range(config)),
                "vector": Out(plan_layout(config)["vectors"].shape.elem_shape),
                "taken": In(1),
                "drained": Out(1),
                "ended": Out(1),
                **{name: Out(1) for name in ROW_EVENTS},
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.tile_queue = tiles = DeepQueue(tile_token_layout(config), _TILES)
        m.submodules.decoder = decoder = SlotDecoder(config)
        m.submodules.head = head = RowHead(config)
        m.submodules.window = window = OperandWindow(config)
        m.submodules.control = control = RowControl(config)
        m.submodules.drain = drain = RowDrain(config)
        wiring.connect(m, wiring.flipped(self.tiles), tiles.i)
        wiring.connect(m, tiles.o, decoder.tiles)
        wiring.connect(m, wiring.flipped(self.slots), decoder.i)
        wiring.connect(m, decoder.o, head.i)
        wiring.connect(m, head.o, window.i)
        wiring.connect(m, head.released, drain.i)
        for part in (tiles, decoder, head, window, control, drain):
            m.d.comb += part.clear.eq(self.clear)
        for part in (decoder, head):
            m.d.comb += part.plan.eq(self.plan)
        for name in ("unit", "scalar"):
            m.d.comb += [
                getattr(self, f"{name}s").eq(getattr(window, f"{name}s")),
                getattr(window, f"{name}_granted").eq(getattr(self, f"{name}_granted")),
                getattr(window, f"{name}_arrives").eq(getattr(self, f"{name}_arrives")),
            ]
        bits = config.format.bits
        lanes = [self.scalar_vector[n * bits : (n + 1) * bits] for n in range(config.vlen)]
        # The lane is looked up in the cycle in which the vector arrives.
        m.d.comb += [
            window.lane_index.eq(self.scalar_answer.index),
            self.scalar.eq(Array(lanes)[window.lane]),
            control.goes.eq(window.goes),
            control.operation.eq(window.operation),
            control.index.eq(window.index),
            control.answer.eq(self.scalar_answer),
            control.scalar.eq(self.scalar),
            self.ended.eq(control.ended),
            drain.vectors.eq(self.plan.vectors[-1]),
            drain.complete.eq(control.released),
            drain.open.eq(self.open),
            drain.taken.eq(self.taken),
            head.freed.eq(drain.freed),
        ]
        for name in ("fetch", "multiply", "sum", "store"):
            m.d.comb += Value.cast(getattr(self, name)).eq(Value.cast(getattr(control, name)))
        for name in ("offer", "slot", "slice", "vector", "drained"):
            m.d.comb += getattr(self, name).eq(getattr(drain, name))
        self._events(m, head, window)
        idle = head.idle & window.idle & control.idle & drain.idle
        m.d.comb += self.idle.eq(idle & ~tiles.o.valid & ~decoder.o.valid & ~self.slots.valid)
        return m

    def _events(self, m: Module, head: RowHead, window: OperandWindow) -> None:
        """Registers the events that are counted, one cycle after they happen."""
        happens = {
            "products": window.goes & window.operation.active,
            "conflicts": self.unit_conflict | self.scalar_conflict,
            "wait_slots": head.wait_slots,
            "wait_operands": window.waits,
            "wait_sums": head.wait_sums,
            "wait_output": head.wait_output,
        }
        for name, value in happens.items():
            m.d.sync += getattr(self, name).eq(value)
