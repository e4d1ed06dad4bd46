"""Routes packets of beats from lanes to the burst writers of channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import store_layout
from ..channels.beat_packer import count_bits, write_request_layout
from ..spec.channels import ChannelGeometry
from ..stream.ring import moved_count

_DEPTH = 4
"""Packets of a lane that may wait: a power of two."""


def packet_layout(geometry: ChannelGeometry) -> data.StructLayout:
    """A packet: ``beats`` beats, for ``address`` and what follows it in its block; and the
    ``channel`` of that."""
    return data.StructLayout(
        {
            "address": geometry.addr_bits,
            "beats": count_bits(geometry),
            "channel": geometry.channel_bits,
        }
    )


class PacketRouter(wiring.Component):
    """Routes packets to their channels: each channel takes one packet at a time, from the lanes
    that offer one for it in turn.

    A packet is offered once all its beats are; four of a lane may wait. A beat a cycle in each
    channel and of each lane, over packets too. A packet's request goes together with its last
    beat.

    Parameters
    ----------
    geometry: of the memory's channels
    lanes: at least 1

    Members
    -------
    packet, beats: the lanes' sides (arrays)
    request, data: streams to burst writers, one a channel (arrays)
    idle: out; of each lane, whether all its packets have left
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, geometry: ChannelGeometry, lanes: int) -> None:
        self._geometry, self._lanes = geometry, lanes
        beat = stream.Signature(store_layout(geometry.data_bits))
        request = stream.Signature(write_request_layout(geometry))
        super().__init__(
            {
                "packet": In(stream.Signature(packet_layout(geometry))).array(lanes),
                "beats": In(beat).array(lanes),
                "request": Out(request).array(geometry.channels),
                "data": Out(beat).array(geometry.channels),
                "idle": Out(lanes),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = range(self._lanes)
        busy = Signal(self._lanes)
        # Lanes whose packet, if they send one, ends in this cycle; those that take up a packet.
        ending = Signal(self._lanes)
        granted = Signal(self._lanes)
        queues = [self._queue(m, lane, granted[lane], ending[lane]) for lane in lanes]
        free = Signal(self._lanes)
        takes, ends, grants = [], [], []
        for channel in range(self._geometry.channels):
            sent, ended, chosen = self._channel(m, channel, queues, free)
            takes.append(sent)
            ends.append(ended)
            grants.append(chosen)
        m.d.comb += [ending.eq(_any(ends)), granted.eq(_any(grants)), free.eq(~busy | ending)]
        m.d.sync += busy.eq(granted | ~free)
        for lane in lanes:
            m.d.comb += [
                self.beats[lane].ready.eq(Cat(sent[lane] for sent in takes).any()),
                self.idle[lane].eq(queues[lane].empty),
            ]
        with m.If(self.clear):
            m.d.sync += busy.eq(0)
        return m

    def _queue(self, m: Module, lane: int, granted: Value, ends: Value) -> SimpleNamespace:
        """The packets of a lane: the ``next`` one, if there is (``offers``), which leaves when it
        is ``granted``; and the ``current`` one, up to its end, and whether its next beat is its
        ``last``. The choice of a lane, which is late, only moves addresses here."""
        layout = packet_layout(self._geometry)
        source = self.packet[lane]
        places = [Signal(layout, reset_less=True, name=f"packet_{lane}_{n}") for n in range(_DEPTH)]
        address = {
            name: Signal(range(_DEPTH), name=f"{name}_{lane}")
            for name in ("put", "next", "current")
        }
        # Packets that have not ended, and those that are not granted.
        held = Signal(range(_DEPTH + 1), name=f"held_{lane}")
        waiting = Signal(range(_DEPTH + 1), name=f"waiting_{lane}")
        put = Signal(name=f"puts_{lane}")
        current: Any = Signal(layout, name=f"current_packet_{lane}")
        left = Signal(len(current.beats), name=f"left_{lane}")
        last = Signal(name=f"last_{lane}")
        m.d.comb += [
            source.ready.eq(held != _DEPTH),
            put.eq(source.valid & source.ready),
            current.eq(Array(places)[address["current"]]),
        ]
        m.d.sync += [
            held.eq(moved_count(held, put, ends)),
            waiting.eq(moved_count(waiting, put, granted)),
        ]
        with m.If(put):
            m.d.sync += [Array(places)[address["put"]].eq(source.payload)]
            m.d.sync += address["put"].eq(address["put"] + 1)
        following: Any = Array(places)[address["next"]]
        with m.If(granted):
            m.d.sync += [
                address["current"].eq(address["next"]),
                address["next"].eq(address["next"] + 1),
                left.eq(following.beats),
                last.eq(following.beats == 1),
            ]
        with m.Elif(self.beats[lane].valid & self.beats[lane].ready):
            m.d.sync += [left.eq(left - 1), last.eq(left == 2)]
        with m.If(self.clear):
            m.d.sync += [held.eq(0), waiting.eq(0)]
            m.d.sync += [each.eq(0) for each in address.values()]
        return SimpleNamespace(
            next=following,
            offers=waiting != 0,
            current=current,
            last=last,
            empty=held == 0,
        )

    def _channel(
        self, m: Module, channel: int, queues: Sequence[SimpleNamespace], free: Value
    ) -> tuple[Value, Value, Value]:
        """A channel; returns the lanes of which it takes a beat, ends a packet, and takes a
        packet."""
        lanes = range(self._lanes)
        # The lane whose packet is sent, if there is one, and the number of the last such lane.
        owner = Signal(len(lanes), name=f"owner_{channel}")
        source = Signal(range(max(2, len(lanes))), name=f"source_{channel}")
        here = Signal(name=f"here_{channel}")
        last = Signal(name=f"last_{channel}")
        moved = Signal(name=f"moved_{channel}")
        opens = Signal(name=f"opens_{channel}")
        request, out = self.request[channel], self.data[channel]
        packet = Array(queue.current for queue in queues)[source]
        m.d.comb += [
            last.eq((owner & Cat(queue.last for queue in queues)).any()),
            here.eq((owner & Cat(beats.valid for beats in self.beats)).any()),
            out.payload.eq(Array(beats.payload for beats in self.beats)[source]),
            out.valid.eq(here & (request.ready | ~last)),
            request.payload.address.eq(packet.address),
            request.payload.beats.eq(packet.beats),
            request.valid.eq(here & last & out.ready),
            moved.eq(out.valid & out.ready),
            opens.eq(~owner.any() | (moved & last)),
        ]
        wanted = Signal(len(lanes), name=f"wanted_{channel}")
        for lane, queue in enumerate(queues):
            offers = queue.offers & (queue.next.channel == channel)
            m.d.comb += wanted[lane].eq(offers & free[lane])
        following = Signal.like(source, name=f"following_{channel}")
        m.d.comb += following.eq(self._next(source, wanted))
        chosen = Signal(len(lanes), name=f"chosen_{channel}")
        m.d.comb += chosen.eq(Cat(following == lane for lane in lanes) & wanted)
        with m.If(opens):
            m.d.sync += [owner.eq(chosen), source.eq(following)]
        with m.If(self.clear):
            m.d.sync += owner.eq(0)
        return Mux(moved, owner, 0), Mux(moved & last, owner, 0), Mux(opens, chosen, 0)

    def _next(self, source: Value, wanted: Value) -> Value:
        """The next lane after the one served last that wants the channel."""
        choices = []
        for served in range(self._lanes):
            choice: Value = source
            for step in reversed(range(1, self._lanes + 1)):
                candidate = (served + step) % self._lanes
                choice = Mux(wanted[candidate], Const(candidate, len(source)), choice)
            choices.append(choice)
        return Array(choices)[source]


def _any(sets: Sequence[Value]) -> Value:
    """The union of sets of lanes."""
    return reduce(or_, sets)
