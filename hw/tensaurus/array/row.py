"""A row of the array, but for its elements."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.deep_queue import DeepQueue
from ..layouts import ROW_EVENTS, slot_layout, tile_token_layout
from .head.row_head import RowHead
from .layouts import (
    answer_layout,
    multiply_layout,
    plan_layout,
    requests_layout,
    slice_range,
    slot_range,
    store_layout,
    sum_layout,
)
from .operand_window import OperandWindow
from .row_control import RowControl
from .row_drain import RowDrain
from .slot_decoder import SlotDecoder

__all__ = ["Row"]

_TILES = 2
"""Tokens of tiles that wait for a row."""


class Row(wiring.Component):
    """From slots to the words of the row's elements, and the slices that leave them.

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
    idle: out; nothing is under way
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
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

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
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
        # The lane is looked up in the cycle in which the vector is there.
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
        """What is counted, a cycle after it happened."""
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
