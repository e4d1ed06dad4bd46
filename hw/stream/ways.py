"""Streams that take one way or another, as the mode of the job says."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Value

__all__ = ["detour", "merge_ways", "split_ways"]


def split_ways(m: Module, mode: Value, source: Any, ways: tuple[Any, Any]) -> None:
    """Connect the source to the first way, or while ``mode`` is set to the second.

    Here as below, ``mode`` changes only while no transfer is on offer.
    """
    first, second = ways
    m.d.comb += [
        first.payload.eq(source.payload),
        first.valid.eq(source.valid & ~mode),
        second.payload.eq(source.payload),
        second.valid.eq(source.valid & mode),
        source.ready.eq(Mux(mode, second.ready, first.ready)),
    ]


def merge_ways(m: Module, mode: Value, ways: tuple[Any, Any], target: Any) -> None:
    """Connect the first way to the target, or while ``mode`` is set the second."""
    first, second = ways
    m.d.comb += [
        target.payload.eq(_choice(mode, first, second)),
        target.valid.eq(Mux(mode, second.valid, first.valid)),
        first.ready.eq(target.ready & ~mode),
        second.ready.eq(target.ready & mode),
    ]


def detour(m: Module, mode: Value, source: Any, way: tuple[Any, Any], target: Any) -> None:
    """Connect the source to the target, or while ``mode`` is set to the way's beginning, and its
    end to the target."""
    begin, end = way
    m.d.comb += [
        begin.payload.eq(source.payload),
        begin.valid.eq(source.valid & mode),
        source.ready.eq(Mux(mode, begin.ready, target.ready)),
        target.payload.eq(_choice(mode, source, end)),
        target.valid.eq(Mux(mode, end.valid, source.valid)),
        end.ready.eq(target.ready & mode),
    ]


def _choice(mode: Value, first: Any, second: Any) -> Value:
    return Mux(mode, Value.cast(second.payload), Value.cast(first.payload))
