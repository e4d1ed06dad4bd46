"""A component inside another one that has its members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out


def pass_members(m: Module, inner: Any, outer: Any, names: Iterable[str] | None = None) -> None:
    """Connect members of a component inside with those of the same names outside: all of them, or
    some; each is a stream, a plain value, or an array of one dimension of either."""
    members = inner.signature.members
    for name in members if names is None else names:
        member = members[name]
        inside, outside = each_of(getattr(inner, name)), each_of(getattr(outer, name))
        for one, other in zip(inside, outside, strict=True):
            if member.is_signature:
                wiring.connect(m, one, wiring.flipped(other))
            else:
                m.d.comb += other.eq(one) if member.flow == Out else one.eq(other)


def with_ready(member: wiring.Member) -> wiring.Member:
    """A stream's member; one that is always ready has a port for it."""
    plain = stream.Signature(member.signature.members["payload"].shape)
    return member.flow(plain).array(*member.dimensions)


def each_of(member: Any) -> list[Any]:
    """The members of an array, or a single one."""
    return list(member) if isinstance(member, (list, tuple)) else [member]
