"""Queues the shares of sets in a bank, and takes their elements one by one."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...stream.deep_queue import DeepQueue

__all__ = ["ScatterBank", "scattered_layout", "share_layout"]


def share_layout(payload: ShapeLike, width: int) -> data.StructLayout:
    """A bank's part of a set: the ``leaves`` that are the bank's; whether a ``mark`` follows them;
    all ``payloads``."""
    return data.StructLayout(
        {"leaves": width, "mark": 1, "payloads": data.ArrayLayout(payload, width)}
    )


def scattered_layout(payload: ShapeLike) -> data.StructLayout:
    """Output of a scatter to a bank: an element, if ``present``; a ``mark`` after it, or alone."""
    return data.StructLayout({"present": 1, "mark": 1, "payload": payload})


class ScatterBank(wiring.Component):
    """Queues sets, and takes the bank's elements out of each, in ascending order of leaves.

    An element a cycle; latency three cycles.

    Parameters
    ----------
    payload: shape of an element
    width: leaves of a set
    window: sets

    Members
    -------
    i: stream, see :func:`share_layout`, of sets with something for this bank
    o: stream, see :func:`scattered_layout`
    clear: in; forgets everything at the end of the cycle
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload", "WINDOW": "window"}

    def __init__(self, payload: ShapeLike, width: int, window: int) -> None:
        self._payload, self._width, self._window = payload, width, window
        super().__init__(
            {
                "i": In(stream.Signature(share_layout(payload, width))),
                "o": Out(stream.Signature(scattered_layout(payload))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sets = sets = DeepQueue(self.i.payload.shape(), self._window)
        wiring.connect(m, wiring.flipped(self.i), sets.i)
        share = sets.o.payload
        gone = Signal(self._width)
        left = Signal(self._width)
        first = Signal(self._width)
        free = Signal()
        moves = Signal()
        ends = Signal()
        m.d.comb += [
            sets.clear.eq(self.clear),
            free.eq(~self.o.valid | self.o.ready),
            left.eq(share.leaves & ~gone),
            first.eq(left & ~(left - 1)),
            moves.eq(sets.o.valid & free),
            ends.eq(left == first),
            sets.o.ready.eq(free & ends),
        ]
        with m.If(moves):
            m.d.sync += gone.eq(Mux(ends, 0, gone | first))
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(moves),
                self.o.payload.present.eq(left.any()),
                self.o.payload.mark.eq(share.mark & ends),
                Cat(self.o.payload.payload).eq(self._chosen(share, first)),
            ]
        with m.If(self.clear):
            m.d.sync += [gone.eq(0), self.o.valid.eq(0)]
        return m

    def _chosen(self, share: data.View, first: Signal) -> Value:
        found: Value = Cat(share.payloads[0]) & first[0].replicate(len(Cat(share.payloads[0])))
        for n in range(1, self._width):
            payload = Cat(share.payloads[n])
            found = found | (payload & first[n].replicate(len(payload)))
        return found
