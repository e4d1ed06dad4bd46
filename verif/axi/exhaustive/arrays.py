"""A component all of whose streams are arrays, so that one bench fits several."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.verif.axi.wrapped import pass_members, with_ready

__all__ = ["Arrays"]


class Arrays(wiring.Component):
    """A component with the members of another; single streams are arrays of one, and each stream
    has a port for its READY."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._single = [
            name
            for name, member in inner.signature.members.items()
            if member.is_signature and not member.dimensions
        ]
        members = dict(inner.signature.members)
        for name, member in members.items():
            if member.is_signature:
                members[name] = with_ready(member)
        super().__init__(
            {
                name: member.array(1) if name in self._single else member
                for name, member in members.items()
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        pass_members(m, inner, self)
        return m
