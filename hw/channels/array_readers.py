"""The readers of a sparse matrix, one for each of its two arrays."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import beat_layout, routed_layout
from ..axi.ordered_reader import OrderedReader
from ..axi.supervision import Supervision, supervise
from ..spec.channels import ChannelGeometry

__all__ = ["READERS", "array_reader", "connect_readers", "reader_members"]

READERS = ("pairs", "entries")
"""Arrays that have readers of their own."""


def array_reader(geometry: ChannelGeometry, outstanding: int) -> OrderedReader:
    """One of the readers."""
    return OrderedReader(
        addr_bits=geometry.addr_bits,
        data_bits=geometry.data_bits,
        channel_bits=geometry.channel_bits,
        outstanding=outstanding,
        burst_beats=geometry.block_beats,
    )


def reader_members(geometry: ChannelGeometry, outstanding: int) -> dict[str, wiring.Member]:
    """Members that the two readers add to the component that contains them."""
    slot_bits = (outstanding - 1).bit_length()
    request = routed_layout(geometry.addr_bits, geometry.channel_bits, slot_bits)
    beat = beat_layout(geometry.data_bits, slot_bits)
    members: dict[str, wiring.Member] = {}
    for name in READERS:
        members[f"{name}_ar"] = Out(stream.Signature(request))
        members[f"{name}_r"] = In(stream.Signature(beat, always_ready=True))
        members[f"read_beats_{name}"] = Out(1)
    return {**members, **Supervision(geometry.addr_bits).members}


def connect_readers(
    m: Module, loader: wiring.Component, readers: dict[str, OrderedReader], busy: Signal
) -> None:
    """Connects the members of :func:`reader_members`; the error is that of the first reader."""
    supervise(m, loader, [readers[name] for name in READERS], busy=busy)
    for name in READERS:
        reader, r = readers[name], getattr(loader, f"{name}_r")
        wiring.connect(m, reader.ar, wiring.flipped(getattr(loader, f"{name}_ar")))
        wiring.connect(m, wiring.flipped(r), reader.r)
        m.d.comb += getattr(loader, f"read_beats_{name}").eq(r.valid & r.ready)
