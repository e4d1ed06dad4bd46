"""Payloads of the streams around AXI."""

from __future__ import annotations

from amaranth.lib import data

__all__ = [
    "address_layout",
    "beat_layout",
    "burst_layout",
    "data_layout",
    "request_layout",
    "response_layout",
    "routed_layout",
    "store_layout",
    "write_layout",
]


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


def request_layout(addr_bits: int, count_bits: int) -> data.StructLayout:
    """Request to read or write ``beats`` beats from ``address`` on, which is in bytes."""
    return data.StructLayout({"address": addr_bits, "beats": count_bits})


def burst_layout(addr_bits: int) -> data.StructLayout:
    """A burst: ``address``, ``length`` (beats less one), ``last`` of its request."""
    return data.StructLayout({"address": addr_bits, "length": 8, "last": 1})


def data_layout(data_bits: int) -> data.StructLayout:
    """A beat that was read: ``data``, ``last`` of its request."""
    return data.StructLayout({"data": data_bits, "last": 1})


def store_layout(data_bits: int) -> data.StructLayout:
    """A beat to write: ``data``, ``strobe`` (a bit for each byte)."""
    return data.StructLayout({"data": data_bits, "strobe": data_bits // 8})
