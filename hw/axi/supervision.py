"""Stops the components that read or write memory, and collects the errors that they report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Supervision", "supervise"]


class Supervision(wiring.Signature):
    """The members that every reader, writer and group of them has beside its streams.

    Parameters
    ----------
    addr_bits: width of an address

    Members
    -------
    stop: in, a pulse or longer; drops everything
    idle: out; nothing is left to be done, the bus owes nothing
    error: out; a bad response has come and no ``stop`` since
    error_address: out; with ``error``, the address
    """

    def __init__(self, addr_bits: int) -> None:
        super().__init__(
            {"stop": In(1), "idle": Out(1), "error": Out(1), "error_address": Out(addr_bits)}
        )


def supervise(m: Module, group: Any, parts: Sequence[Any], *, busy: Value | None = None) -> None:
    """Connect the :class:`Supervision` of a group with that of its parts: ``stop`` to all, ``idle``
    of all (and not ``busy``), the error of the first that has one."""
    idle = Cat(part.idle for part in parts).all()
    m.d.comb += [
        group.idle.eq(idle if busy is None else idle & ~busy),
        group.error.eq(Cat(part.error for part in parts).any()),
    ]
    for part in reversed(parts):
        m.d.comb += part.stop.eq(group.stop)
        with m.If(part.error):
            m.d.comb += group.error_address.eq(part.error_address)
