"""A part whose ports pass through a wrapper that can spoil them, one way at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from tilewright.verif.axi.wrapped import pass_members

__all__ = ["SpoiltPart"]


class SpoiltPart(wiring.Component):
    """Base of the wrappers, each of which overrides what ``pass_through`` connects.

    Parameters
    ----------
    inner: the part; its members are streams, arrays of one stream, and plain values
    ways: what is done to it, and the fault that must be found

    Members
    -------
    those of the part, and ``spoil``: in; which of ``ways``, from 1; 0: none
    """

    def __init__(self, inner: Any, ways: Mapping[str, Any]) -> None:
        self._inner, self._ways = inner, ways
        super().__init__({**inner.signature.members, "spoil": In(range(len(ways) + 1))})

    def pass_through(self, m: Module) -> dict[str, Value]:
        """Connect all members with those of the part; returns whether each way is asked for."""
        m.submodules.inner = inner = self._inner
        pass_members(m, inner, self)
        return {name: self.spoil == number for number, name in enumerate(self._ways, 1)}

    def held(self, m: Module, *ports: Any) -> list[Signal]:
        """For each port whether its VALID waited for READY in the cycle before."""
        waits = [Signal(name=f"held_{number}") for number in range(len(ports))]
        m.d.sync += [w.eq(port.valid & ~port.ready) for w, port in zip(waits, ports, strict=True)]
        return waits
