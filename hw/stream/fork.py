"""One stream to several."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Fork"]


class Fork(wiring.Component):
    """Sends each transfer once to every output it is for. No latency.

    A lazy fork offers it to an output while all others that it is for are ready, so that they take
    it in the same cycle; it has no registers. An output that is ready must stay so until it takes
    something, and must not wait for its valid.

    An eager fork offers it to each output at once, remembers which have taken it, and takes it
    from ``i`` with the last of them.

    Parameters
    ----------
    payload: shape of a transfer
    outputs: number of outputs, at least 2
    eager: which of the two

    Members
    -------
    i: the stream
    o: array of streams
    to: in; which outputs the transfer at ``i`` is for; all, if it is left alone. It stays as it is
        while the transfer waits
    clear: (eager) in; forgets at the end of the cycle which outputs have taken what is at ``i``
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload"}

    def __init__(self, payload: ShapeLike, outputs: int, *, eager: bool = False) -> None:
        if outputs < 2:
            raise ValueError(f"`outputs` must be at least 2, not {outputs}")
        self._payload, self._outputs, self._eager = payload, outputs, eager
        signature = stream.Signature(payload)
        clear = {"clear": In(1)} if eager else {}
        super().__init__(
            {
                "i": In(signature),
                "o": Out(signature).array(outputs),
                "to": In(outputs, init=(1 << outputs) - 1),
                **clear,
            }
        )

    @property
    def outputs(self) -> int:
        return self._outputs

    @property
    def eager(self) -> bool:
        return self._eager

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pending = Signal(self._outputs)
        # An output is no reason to wait: it is ready, or has nothing to take.
        free = Signal(self._outputs)
        m.d.comb += [
            pending.eq(self.to),
            free.eq(Cat(o.ready for o in self.o) | ~pending),
            self.i.ready.eq(free.all()),
        ]
        for index, o in enumerate(self.o):
            m.d.comb += [o.valid.eq(self.i.valid & pending[index]), o.payload.eq(self.i.payload)]
        if self._eager:
            taken = Signal(self._outputs)
            m.d.comb += pending.eq(self.to & ~taken)
            with m.If(self.clear | (self.i.valid & self.i.ready)):
                m.d.sync += taken.eq(0)
            with m.Elif(self.i.valid):
                m.d.sync += taken.eq(taken | free)
        else:
            for index, o in enumerate(self.o):
                others = Cat(bit for n, bit in enumerate(free) if n != index)
                m.d.comb += o.valid.eq(self.i.valid & pending[index] & others.all())
        return m
