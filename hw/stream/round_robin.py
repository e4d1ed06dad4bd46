"""Merges several streams into one, round robin."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .skid_buffer import SkidBuffer

__all__ = ["RoundRobin"]


class RoundRobin(wiring.Component):
    """Merges streams round robin: one transfer per cycle from the next input that offers one.

    An input that offers waits for at most one transfer of each other input. Latency one cycle.

    Parameters
    ----------
    payload: shape of a transfer
    inputs: number of inputs, at least 1

    Members
    -------
    i: array of streams
    o: stream with ``payload`` and ``source``, the number of the input it came from
    """

    def __init__(self, payload: ShapeLike, inputs: int) -> None:
        self._inputs = inputs
        source = max(1, (inputs - 1).bit_length())
        self._layout = data.StructLayout({"payload": payload, "source": source})
        super().__init__(
            {
                "i": In(stream.Signature(payload)).array(inputs),
                "o": Out(stream.Signature(self._layout)),
            }
        )

    @property
    def inputs(self) -> int:
        return self._inputs

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = SkidBuffer(self._layout)
        wiring.connect(m, register.o, wiring.flipped(self.o))
        offered = Signal()
        choice = Signal(self._layout["source"].shape)
        last = Signal.like(choice)
        with m.Switch(last):
            for served in range(self._inputs):
                with m.Case(served):
                    # The last assignment counts: the input behind the one served last.
                    for step in reversed(range(1, self._inputs + 1)):
                        candidate = (served + step) % self._inputs
                        with m.If(self.i[candidate].valid):
                            m.d.comb += choice.eq(candidate)
        m.d.comb += [
            offered.eq(Cat(i.valid for i in self.i).any()),
            register.i.valid.eq(offered),
            register.i.payload.source.eq(choice),
            register.i.payload.payload.eq(Array(i.payload for i in self.i)[choice]),
        ]
        for index, source in enumerate(self.i):
            m.d.comb += source.ready.eq(register.i.ready & offered & (choice == index))
        with m.If(offered & register.i.ready):
            m.d.sync += last.eq(choice)
        return m
