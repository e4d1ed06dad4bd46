"""Streams connected field by field."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, ValueLike

__all__ = ["connect_fields"]


def connect_fields(m: Module, source: Any, sink: Any, **fields: ValueLike) -> None:
    """Connect two streams of different payloads: the fields of the sink's are given, made of what
    the source offers."""
    m.d.comb += [sink.valid.eq(source.valid), source.ready.eq(sink.ready)]
    m.d.comb += [sink.payload[name].eq(value) for name, value in fields.items()]
