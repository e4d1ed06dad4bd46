"""Chooses: values by a bit each, and one of two paths of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, ShapeLike, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .stream_registers import SkidBuffer


class Gate(wiring.Component):
    """Passes a stream on, but offers nothing new while held; a transfer that has been offered
    stays.

    ``i.ready`` follows ``o.ready``, and ``o`` follows ``i``, in the same cycle.

    Parameters
    ----------
    payload: shape of a transfer

    Members
    -------
    i, o: the streams
    hold: in; may change in any cycle, with ``i`` or without
    """

    def __init__(self, payload: ShapeLike) -> None:
        signature = stream.Signature(payload)
        super().__init__({"i": In(signature), "o": Out(signature), "hold": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered = Signal()
        passes = Signal()
        m.d.comb += [
            passes.eq(offered | ~self.hold),
            self.o.valid.eq(self.i.valid & passes),
            self.o.payload.eq(self.i.payload),
            self.i.ready.eq(self.o.ready & passes),
        ]
        m.d.sync += offered.eq(self.o.valid & ~self.o.ready)
        return m


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


def lowest_one(m: Module, value: Value, *, name: str) -> Value:
    """Returns the lowest one of some bits alone; its delay grows with the logarithm of their
    number."""
    seen, distance = value, 1
    while distance < len(value):
        wider = Signal(len(value), name=f"{name}_{distance}")
        m.d.comb += wider.eq(seen | (seen << distance))
        seen, distance = wider, 2 * distance
    return (value & ~(seen << 1))[: len(value)]


def one_of(select: Value, values: Sequence[ValueLike]) -> Value:
    """Returns the value whose bit of ``select`` is set; of several bits, all of these values ored;
    0 without any."""
    width = max(len(Value.cast(value)) for value in values)
    return reduce(or_, (Value.cast(v) & select[n].replicate(width) for n, v in enumerate(values)))


def demultiplex(m: Module, select: Value, source: Any, sinks: tuple[Any, Any]) -> None:
    """Connects a stream to the first sink, or while ``select`` is set to the second.

    Here as below, ``select`` changes only while no transfer is on offer.
    """
    first, second = sinks
    m.d.comb += [
        first.payload.eq(source.payload),
        first.valid.eq(source.valid & ~select),
        second.payload.eq(source.payload),
        second.valid.eq(source.valid & select),
        source.ready.eq(Mux(select, second.ready, first.ready)),
    ]


def multiplex(m: Module, select: Value, sources: tuple[Any, Any], sink: Any) -> None:
    """Connects the first source to the sink, or while ``select`` is set the second."""
    first, second = sources
    m.d.comb += [
        sink.payload.eq(_choice(select, first, second)),
        sink.valid.eq(Mux(select, second.valid, first.valid)),
        first.ready.eq(sink.ready & ~select),
        second.ready.eq(sink.ready & select),
    ]


def bypass_unless(m: Module, enable: Value, source: Any, part: tuple[Any, Any], sink: Any) -> None:
    """Connects the source to the sink, or while ``enable`` is set to the input of a part, and its
    output to the sink."""
    begin, end = part
    m.d.comb += [
        begin.payload.eq(source.payload),
        begin.valid.eq(source.valid & enable),
        source.ready.eq(Mux(enable, begin.ready, sink.ready)),
        sink.payload.eq(_choice(enable, source, end)),
        sink.valid.eq(Mux(enable, end.valid, source.valid)),
        end.ready.eq(sink.ready & enable),
    ]


def _choice(select: Value, first: Any, second: Any) -> Value:
    return Mux(select, Value.cast(second.payload), Value.cast(first.payload))
