"""Routes streams along one of two paths, by a select."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Value

__all__ = ["bypass_unless", "demultiplex", "multiplex"]


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
