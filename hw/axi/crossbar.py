"""Readers that each reach all memory channels."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.multiplex import RoundRobin
from ..stream.queue import DeepQueue
from ..stream.stream_registers import SkidBuffer
from .layouts import address_layout, beat_layout, routed_layout

__all__ = ["ReadCrossbar"]


class ReadCrossbar(wiring.Component):
    """Routes the requests of each lane to the channels they name, and the beats back to the lanes.

    A channel takes one request a cycle, from the lanes that name it in turn; a lane takes one beat
    a cycle, from the channels that have one for it in turn. Nobody waits for more than one
    transfer of each other; what waits also holds up what is behind it. Latency: one cycle each way.
    Each channel has a register for a beat that its lane does not accept at once, so that RREADY
    follows neither RID nor the other channels (AXI4, A3).

    With a ``beat_queue`` each channel has a queue for each lane, so that beats for different lanes
    do not wait for each other; they take two cycles more.

    An ID on a channel is the lane's number above the lane's own ID. A request for a channel
    that does not exist, or a beat for such a lane, must not come.

    Parameters
    ----------
    lanes, channels: at least 1 each
    addr_bits, data_bits: widths of the bus
    lane_id_bits: width of a lane's IDs
    beat_queue: beats that may wait in a channel for each lane, 0 or at least 2
    counts: 0: conflicts are not counted

    Members
    -------
    lane_ar, lane_r: the lanes' sides (arrays); ``lane_ar`` with ``channel``
    ar, r: the channels (arrays)
    conflicts: (counts) out; requests that waited, one cycle ago, while their channel took that of
        another lane
    """

    def __init__(
        self,
        lanes: int,
        channels: int,
        *,
        addr_bits: int,
        data_bits: int,
        lane_id_bits: int,
        beat_queue: int = 0,
        counts: int = 1,
    ) -> None:
        self._beat_queue, self._counts = beat_queue, counts
        self._lanes, self._channels, self._lane_id_bits = lanes, channels, lane_id_bits
        self._lane_bits = (lanes - 1).bit_length()
        self._id_bits = lane_id_bits + self._lane_bits
        self._request = address_layout(addr_bits, lane_id_bits)
        self._beat = beat_layout(data_bits, lane_id_bits)
        routed = routed_layout(addr_bits, self.channel_bits, lane_id_bits)
        request = stream.Signature(address_layout(addr_bits, self._id_bits))
        super().__init__(
            {
                "lane_ar": In(stream.Signature(routed)).array(lanes),
                "lane_r": Out(stream.Signature(self._beat, always_ready=True)).array(lanes),
                "ar": Out(request).array(channels),
                "r": In(stream.Signature(beat_layout(data_bits, self._id_bits))).array(channels),
                **({"conflicts": Out(range(lanes + 1))} if counts else {}),
            }
        )

    @property
    def channel_bits(self) -> int:
        """Width of a channel's number."""
        return max(1, (self._channels - 1).bit_length())

    @property
    def id_bits(self) -> int:
        """Width of an ID on a channel."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        requests = [self._requests(m, channel) for channel in range(self._channels)]
        waits = []
        for lane, source in enumerate(self.lane_ar):
            channel = source.payload.channel
            m.d.comb += source.ready.eq(Array(a.i[lane].ready for a in requests)[channel])
            serves = Array(Cat(i.ready for i in a.i).any() for a in requests)[channel]
            waits.append(source.valid & ~source.ready & serves)
        if self._counts:
            m.d.sync += self.conflicts.eq(sum(waits))
        arrived = [self._arrived(m, channel) for channel in range(self._channels)]
        if self._beat_queue:
            queues = [self._queues(m, *each) for each in enumerate(arrived)]
            for lane in range(self._lanes):
                self._beats(m, lane, [of_channel[lane] for of_channel in queues])
            return m
        beats = [self._beats(m, lane, arrived) for lane in range(self._lanes)]
        for channel, source in enumerate(arrived):
            lane = Signal(self._lane_bits, name=f"lane_of_r_{channel}")
            m.d.comb += lane.eq(source.payload.id[self._lane_id_bits :])
            ready = Array(a.i[channel].ready for a in beats)
            m.d.comb += source.ready.eq(ready[lane] if self._lane_bits else ready[0])
        return m

    def _requests(self, m: Module, channel: int) -> RoundRobin:
        """The arbiter in front of a channel."""
        arbiter = RoundRobin(self._request, self._lanes)
        m.submodules[f"requests_{channel}"] = arbiter
        for i, source in zip(arbiter.i, self.lane_ar, strict=True):
            m.d.comb += [
                i.valid.eq(source.valid & (source.payload.channel == channel)),
                i.payload.address.eq(source.payload.address),
                i.payload.length.eq(source.payload.length),
                i.payload.id.eq(source.payload.id),
            ]
        chosen, ar = arbiter.o.payload, self.ar[channel]
        m.d.comb += [
            ar.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(ar.ready),
            ar.payload.address.eq(chosen.payload.address),
            ar.payload.length.eq(chosen.payload.length),
            ar.payload.id.eq(Cat(chosen.payload.id, chosen.source[: self._lane_bits])),
        ]
        return arbiter

    def _arrived(self, m: Module, channel: int) -> Any:
        """The beats of a channel, with a register for one that waits."""
        buffer = SkidBuffer(self.r[channel].payload.shape(), output_register=False)
        m.submodules[f"arrived_{channel}"] = buffer
        wiring.connect(m, wiring.flipped(self.r[channel]), buffer.i)
        return buffer.o

    def _queues(self, m: Module, channel: int, arrived: Any) -> list[Any]:
        """Beats of a channel into the queue of their lane. Returns the queues' outputs."""
        number = Signal(max(1, self._lane_bits), name=f"lane_of_r_{channel}")
        m.d.comb += number.eq(arrived.payload.id[self._lane_id_bits :])
        ready = Signal(1 << len(number), name=f"ready_{channel}")
        m.d.comb += arrived.ready.eq(ready.bit_select(number, 1))
        outputs = []
        for lane in range(self._lanes):
            queue = DeepQueue(arrived.payload.shape(), self._beat_queue)
            m.submodules[f"beats_{channel}_{lane}"] = queue
            m.d.comb += [
                queue.i.valid.eq(arrived.valid & (number == lane)),
                queue.i.payload.eq(arrived.payload),
                ready[lane].eq(queue.i.ready),
            ]
            outputs.append(queue.o)
        return outputs

    def _beats(self, m: Module, lane: int, arrived: list[Any]) -> RoundRobin:
        """The arbiter in front of a lane."""
        arbiter = RoundRobin(self._beat, self._channels)
        m.submodules[f"beats_{lane}"] = arbiter
        for i, source in zip(arbiter.i, arrived, strict=True):
            beat = source.payload
            m.d.comb += [
                i.valid.eq(source.valid & (beat.id[self._lane_id_bits :] == lane)),
                i.payload.data.eq(beat.data),
                i.payload.response.eq(beat.response),
                i.payload.last.eq(beat.last),
                i.payload.id.eq(beat.id[: self._lane_id_bits]),
            ]
            if self._beat_queue:
                m.d.comb += source.ready.eq(i.ready)
        m.d.comb += [
            self.lane_r[lane].valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(self.lane_r[lane].ready),
            self.lane_r[lane].payload.eq(arbiter.o.payload.payload),
        ]
        return arbiter
