"""Streams connected field by field."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, ValueLike

__all__ = ["connect_fields"]


def connect_fields(m: Module, source: Any, sink: Any, **fields: ValueLike) -> None:
    """Connect two streams of different payloads: the fields of the sink's are given, made of what
    the source offers. A source that is never held up needs a sink that is always ready."""
    m.d.comb += sink.valid.eq(source.valid)
    if not isinstance(source.ready, Const):
        m.d.comb += source.ready.eq(sink.ready)
    elif not isinstance(sink.ready, Const):
        raise ValueError("`sink` must be always ready, as `source` is")
    m.d.comb += [sink.payload[name].eq(value) for name, value in fields.items()]
