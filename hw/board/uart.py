"""A serial line: eight data bits, no parity, one stop bit."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["UartReceiver", "UartTransmitter"]

_BITS = 8
_LEAST = 4
"""Cycles of a bit at least: two of them pass before the receiver sees an edge."""


def _checked(divisor: int) -> int:
    if divisor < _LEAST:
        raise ValueError(f"`divisor` must be at least {_LEAST}, not {divisor}")
    return divisor


class UartReceiver(wiring.Component):
    """Receives bytes from a serial line, and samples each bit in its middle.

    A byte without a stop bit is dropped. Nothing waits: a byte that is not taken is lost.

    Parameters
    ----------
    divisor: cycles of a bit, at least 4

    Members
    -------
    line: in; high while nothing is sent
    o: stream of bytes, each half a bit before its stop bit ends
    """

    def __init__(self, divisor: int) -> None:
        self._divisor = _checked(divisor)
        super().__init__(
            {"line": In(1, init=1), "o": Out(stream.Signature(_BITS, always_ready=True))}
        )

    @property
    def divisor(self) -> int:
        return self._divisor

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The line has no relation to the clock.
        first = Signal(init=1)
        level = Signal(init=1)
        m.d.sync += [first.eq(self.line), level.eq(first)]
        wait = Signal(range(self._divisor))
        byte = Signal(_BITS, reset_less=True)
        place = Signal(range(_BITS))
        sample = Signal()
        m.d.comb += [sample.eq(wait == 0), self.o.payload.eq(byte)]
        m.d.sync += [wait.eq(wait - 1), self.o.valid.eq(0)]
        with m.If(sample):
            m.d.sync += wait.eq(self._divisor - 1)
        with m.FSM(name="bit"):
            with m.State("idle"):
                m.d.sync += wait.eq(self._divisor // 2 - 1)
                with m.If(~level):
                    m.next = "start"
            with m.State("start"):
                m.d.sync += place.eq(0)
                with m.If(sample):
                    m.next = "data"
                    with m.If(level):
                        m.next = "idle"
            with m.State("data"), m.If(sample):
                m.d.sync += [byte.eq(Cat(byte[1:], level)), place.eq(place + 1)]
                with m.If(place == _BITS - 1):
                    m.next = "stop"
            with m.State("stop"), m.If(sample):
                m.d.sync += self.o.valid.eq(level)
                m.next = "idle"
                with m.If(~level):
                    m.next = "broken"
            with m.State("broken"), m.If(level):
                m.next = "idle"
        return m


class UartTransmitter(wiring.Component):
    """Sends bytes over a serial line, one every ten bits.

    Parameters
    ----------
    divisor: cycles of a bit, at least 4

    Members
    -------
    i: stream of bytes
    line: out, from a register; high while nothing is sent
    """

    def __init__(self, divisor: int) -> None:
        self._divisor = _checked(divisor)
        super().__init__({"i": In(stream.Signature(_BITS)), "line": Out(1, init=1)})

    @property
    def divisor(self) -> int:
        return self._divisor

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # From the first on: start bit, data, stop bit.
        bits = Signal(_BITS + 2, init=-1)
        left = Signal(range(_BITS + 3))
        wait = Signal(range(self._divisor))
        m.d.comb += [self.i.ready.eq(left == 0), self.line.eq(bits[0])]
        with m.If(left == 0), m.If(self.i.valid):
            m.d.sync += [
                bits.eq(Cat(Const(0, 1), self.i.payload, Const(1, 1))),
                left.eq(_BITS + 2),
                wait.eq(self._divisor - 1),
            ]
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.Else():
            m.d.sync += [
                bits.eq(Cat(bits[1:], Const(1, 1))),
                left.eq(left - 1),
                wait.eq(self._divisor - 1),
            ]
        return m
