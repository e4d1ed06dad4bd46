"""Payloads of the streams around AXI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


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
    of all (and not ``busy``), the error of the first that has one. The address is undefined without
    an error."""
    idle = Cat(part.idle for part in parts).all()
    m.d.comb += [
        group.idle.eq(idle if busy is None else idle & ~busy),
        group.error.eq(Cat(part.error for part in parts).any()),
    ]
    *before, last = parts
    m.d.comb += [part.stop.eq(group.stop) for part in parts]
    m.d.comb += group.error_address.eq(last.error_address)
    for part in reversed(before):
        with m.If(part.error):
            m.d.comb += group.error_address.eq(part.error_address)


def _identified(fields: dict[str, int], id_bits: int) -> data.StructLayout:
    return data.StructLayout(fields | ({"id": id_bits} if id_bits else {}))


def address_layout(addr_bits: int, id_bits: int = 0) -> data.StructLayout:
    """Payload of AR and AW: ``address`` in bytes, ``length`` (beats less one), ``id`` if it has
    bits."""
    return _identified({"address": addr_bits, "length": 8}, id_bits)


def routed_layout(addr_bits: int, channel_bits: int, id_bits: int = 0) -> data.StructLayout:
    """Payload of AR before its manager is known: as ``address_layout``, and the ``channel`` if that
    has bits."""
    channel = {"channel": channel_bits} if channel_bits else {}
    return _identified({"address": addr_bits, "length": 8, **channel}, id_bits)


def beat_layout(data_bits: int, id_bits: int = 0) -> data.StructLayout:
    """Payload of R: ``data``, ``response`` (AXI's code), ``last`` of its burst, ``id``."""
    return _identified({"data": data_bits, "response": 2, "last": 1}, id_bits)


def write_layout(data_bits: int) -> data.StructLayout:
    """Payload of W: ``data``, ``strobe`` (a bit for each byte), ``last`` of its burst."""
    return data.StructLayout({"data": data_bits, "strobe": data_bits // 8, "last": 1})


def response_layout(id_bits: int = 0) -> data.StructLayout:
    """Payload of B: ``response`` (AXI's code), ``id``."""
    return _identified({"response": 2}, id_bits)


def written_layout(addr_bits: int) -> data.StructLayout:
    """Memory has answered a write at ``address``, if ``valid``."""
    return data.StructLayout({"valid": 1, "address": addr_bits})


def request_layout(addr_bits: int, count_bits: int) -> data.StructLayout:
    """Request to read or write ``beats`` beats from ``address`` on, which is in bytes."""
    return data.StructLayout({"address": addr_bits, "beats": count_bits})


def burst_layout(addr_bits: int) -> data.StructLayout:
    """A burst: ``address``, ``length`` (beats less one), ``last`` of its request."""
    return data.StructLayout({"address": addr_bits, "length": 8, "last": 1})


def data_layout(data_bits: int, *, failed: bool = False) -> data.StructLayout:
    """A beat that was read: ``data``, ``last`` of its request; if wanted, whether it ``failed``."""
    return data.StructLayout({"data": data_bits, "last": 1, **({"failed": 1} if failed else {})})


def store_layout(data_bits: int) -> data.StructLayout:
    """A beat to write: ``data``, ``strobe`` (a bit for each byte)."""
    return data.StructLayout({"data": data_bits, "strobe": data_bits // 8})
