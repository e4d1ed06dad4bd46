"""Streams connected field by field."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, ValueLike

__all__ = ["connect_fields"]


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
