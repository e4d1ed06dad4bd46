"""The slices of a row that are complete, and leave."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.deep_queue import DeepQueue
from .layouts import level_offset, levels, plan_layout, released_layout, slice_range, slot_range
from .ring_step import ring_step

__all__ = ["OPEN_TILES", "RowDrain"]

OPEN_TILES = 255
"""Tiles that may be open ahead of a row."""


class RowDrain(wiring.Component):
    """Offers the vectors of slices that are complete, in order, while their tile is open.

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
        self._config = config
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

    @property
    def config(self) -> TensaurusConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, slots = self._config, self._config.output_slots
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
