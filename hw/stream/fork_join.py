"""One stream to several."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any, ClassVar

from amaranth.hdl import Cat, Const, Module, ShapeLike, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


def connect_fields(m: Module, source: Any, sink: Any, **fields: ValueLike) -> None:
    """Connects two streams of different payloads: the arguments give the fields of the sink's
    payload, computed from the source's. A source that never stalls needs a sink that is always
    ready."""
    m.d.comb += sink.valid.eq(source.valid)
    if not isinstance(source.ready, Const):
        m.d.comb += source.ready.eq(sink.ready)
    elif not isinstance(sink.ready, Const):
        raise ValueError("`sink` must be always ready, as `source` is")
    m.d.comb += [sink.payload[name].eq(value) for name, value in fields.items()]


class Join(wiring.Component):
    """Joins streams: it accepts a transfer from each input that the next one is composed of, in the
    same cycle. No latency.

    Parameters
    ----------
    payloads: shapes of the inputs' transfers, by name; at least 2

    Members
    -------
    i_<name>: the streams
    needs_<name>: in; the next transfer takes one from this input; so it does if it is left alone.
        At least one is needed. It may depend on the payload of an input that is needed
    o: the stream; of an input that is not needed the payload means nothing
    """

    def __init__(self, payloads: Mapping[str, ShapeLike]) -> None:
        if len(payloads) < 2:
            raise ValueError(f"`payloads` must be of at least 2 inputs, not {len(payloads)}")
        self._names = tuple(payloads)
        members: dict[str, wiring.Member] = {}
        for name, payload in payloads.items():
            members[f"i_{name}"] = In(stream.Signature(payload))
            members[f"needs_{name}"] = In(1, init=1)
        joined = data.StructLayout(dict(payloads))
        super().__init__({**members, "o": Out(stream.Signature(joined))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs: dict[str, Any] = {name: getattr(self, f"i_{name}") for name in self._names}
        needs: dict[str, Value] = {name: getattr(self, f"needs_{name}") for name in self._names}
        # An input is no reason to wait: it offers something, or nothing is wanted of it.
        there = {name: i.valid | ~needs[name] for name, i in inputs.items()}
        m.d.comb += self.o.valid.eq(reduce(and_, there.values()))
        for name, i in inputs.items():
            others = reduce(and_, (there[other] for other in self._names if other != name))
            m.d.comb += [
                self.o.payload[name].eq(i.payload),
                i.ready.eq(self.o.ready & needs[name] & others),
            ]
        return m


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
