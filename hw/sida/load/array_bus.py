"""Readers of several arrays on one bus a channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out

from ...axi.interconnect import ReadInterconnect
from ...axi.layouts import address_layout, beat_layout
from ...spec.sida import SidaConfig

__all__ = ["bus_id_bits", "bus_members", "connect_bus"]


def bus_id_bits(config: SidaConfig, readers: int) -> int:
    """Width of an ID of the bus: a reader's number, above the reader's own ID."""
    return (config.outstanding - 1).bit_length() + (readers - 1).bit_length()


def bus_members(config: SidaConfig, names: tuple[str, ...]) -> dict[str, Member]:
    """Returns the bus ports of a part with these readers.

    ``ar`` and ``r``: arrays by channel. ``read_beats_*``: by reader, the channels that bring it a
    beat.
    """
    id_bits = bus_id_bits(config, len(names))
    request = stream.Signature(address_layout(config.addr_bits, id_bits))
    beat = stream.Signature(beat_layout(config.data_bits, id_bits), always_ready=True)
    return {
        **{f"read_beats_{name}": Out(config.channels) for name in names},
        "ar": Out(request).array(config.channels),
        "r": In(beat).array(config.channels),
    }


def connect_bus(m: Module, config: SidaConfig, part: Any, readers: Mapping[str, Any]) -> None:
    """Connect the :func:`bus_members` of a part with its readers, in the order of their IDs."""
    for channel in range(config.channels):
        m.submodules[f"bus_{channel}"] = bus = ReadInterconnect(
            len(readers),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            slot_bits=(config.outstanding - 1).bit_length(),
        )
        for number, (name, reader) in enumerate(readers.items()):
            mine = bus.reader_r[number]
            wiring.connect(m, reader.ar[channel], bus.reader_ar[number])
            wiring.connect(m, mine, reader.r[channel])
            m.d.comb += getattr(part, f"read_beats_{name}")[channel].eq(mine.valid & mine.ready)
        wiring.connect(m, bus.ar, wiring.flipped(part.ar[channel]))
        wiring.connect(m, wiring.flipped(part.r[channel]), bus.r)
