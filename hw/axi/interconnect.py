"""Several readers or writers on one AXI4 manager, each with its own ID."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.fork_join import Fork, connect_fields
from ..stream.multiplex import RoundRobin
from ..stream.queue import Queue
from ..stream.stream_registers import SkidBuffer
from .layouts import address_layout, beat_layout, response_layout, routed_layout, write_layout

__all__ = ["ReadInterconnect", "WriteInterconnect"]


def needed_id_bits(members: int, slot_bits: int = 0) -> int:
    """Returns the width of an ID that distinguishes so many members, above the IDs of their own."""
    return slot_bits + max(1, (members - 1).bit_length())


def check_ids(members: int, id_bits: int, slot_bits: int = 0) -> None:
    """Checks that an ID is available for every member. Raises ValueError."""
    needed = needed_id_bits(members, slot_bits)
    if id_bits < needed:
        raise ValueError(f"`id_bits` must be at least {needed}, not {id_bits}")


class ReadInterconnect(wiring.Component):
    """Arbitrates readers round robin at AR, and routes each beat to the reader that requested it.

    A reader reserves space for a burst before it requests it, so it is always ready for a beat, and
    RREADY is constant: it must not follow RID (AXI4, A3). An ID is the reader's index above the
    reader's own ID, if it has one. Responses may come in any order between IDs; one for a reader
    that does not exist is dropped. Latency: AR one cycle, R
    none. One transfer a cycle.

    Parameters
    ----------
    readers: number of readers, at least 1
    addr_bits, data_bits: widths of the bus
    id_bits: width of an ID of the bus; default: what the readers need
    slot_bits: width of a reader's own IDs
    channel_bits: width of the number of a memory channel, which a request passes on

    Members
    -------
    reader_ar, reader_r: the readers' sides (arrays)
    ar, r: the bus, with ``id``
    """

    def __init__(
        self,
        readers: int,
        *,
        addr_bits: int,
        data_bits: int,
        id_bits: int | None = None,
        slot_bits: int = 0,
        channel_bits: int = 0,
    ) -> None:
        self._id_bits = needed_id_bits(readers, slot_bits) if id_bits is None else id_bits
        check_ids(readers, self._id_bits, slot_bits)
        self._readers, self._slot_bits = readers, slot_bits
        self._request = request = routed_layout(addr_bits, channel_bits, slot_bits)
        routed = routed_layout(addr_bits, channel_bits, self._id_bits)
        beat = beat_layout(data_bits, slot_bits)
        super().__init__(
            {
                "reader_ar": In(stream.Signature(request)).array(readers),
                "reader_r": Out(stream.Signature(beat, always_ready=True)).array(readers),
                "ar": Out(stream.Signature(routed)),
                "r": In(stream.Signature(beat_layout(data_bits, self._id_bits), always_ready=True)),
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(self._request, self._readers)
        chosen, beat = arbiter.o.payload, self.r.payload
        m.d.comb += [
            self.ar.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(self.ar.ready),
            self.ar.payload.id.eq(chosen.source),
        ]
        passed = [name for name, _ in self._request if name != "id"]
        m.d.comb += [self.ar.payload[name].eq(chosen.payload[name]) for name in passed]
        if self._slot_bits:
            m.d.comb += self.ar.payload.id.eq(Cat(chosen.payload.id, chosen.source))
        for index in range(self._readers):
            wiring.connect(m, arbiter.i[index], wiring.flipped(self.reader_ar[index]))
            reader = self.reader_r[index]
            mine = beat.id[self._slot_bits :] == index
            m.d.comb += [
                reader.valid.eq(self.r.valid & mine),
                reader.payload.data.eq(beat.data),
                reader.payload.response.eq(beat.response),
                reader.payload.last.eq(beat.last),
            ]
            if self._slot_bits:
                m.d.comb += reader.payload.id.eq(beat.id[: self._slot_bits])
        return m


class WriteInterconnect(wiring.Component):
    """Arbitrates writers round robin at AW, sends their data in the same order, and routes each
    response to the writer that has its ID.

    A writer's ID is its index. A writer is always ready for a response, and BREADY is constant.
    Responses may come in any order between IDs; one with another ID is dropped. W of a burst never
    leads its AWVALID, and does not wait for its AWREADY. Latency: AW and W one cycle, B none. One
    transfer a cycle.

    Parameters
    ----------
    writers: number of writers, at least 1
    addr_bits, data_bits, id_bits: widths of the bus
    outstanding: bursts that may wait for their data, of all writers together

    Members
    -------
    writer_aw, writer_w, writer_b: the writers' sides (arrays)
    aw, w, b: the manager's side, with ``id`` (W has none)
    """

    def __init__(
        self, writers: int, *, addr_bits: int, data_bits: int, id_bits: int, outstanding: int
    ) -> None:
        check_ids(writers, id_bits)
        self._writers = writers
        self._addr_bits, self._data_bits = addr_bits, data_bits
        self._outstanding = outstanding
        super().__init__(
            {
                "writer_aw": In(stream.Signature(address_layout(addr_bits))).array(writers),
                "writer_w": In(stream.Signature(write_layout(data_bits))).array(writers),
                "writer_b": Out(stream.Signature(response_layout(), always_ready=True)).array(
                    writers
                ),
                "aw": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "w": Out(stream.Signature(write_layout(data_bits))),
                "b": In(stream.Signature(response_layout(id_bits), always_ready=True)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(address_layout(self._addr_bits), self._writers)
        # The writers in the order of their bursts: the first one sends data next.
        turn_bits = len(arbiter.o.payload.source)
        m.submodules.turns = turns = Queue(turn_bits, self._outstanding)
        # The turn is queued in the first cycle of AWVALID: W must not wait for AWREADY.
        m.submodules.burst_fork = fork = Fork(arbiter.o.payload.shape(), 2, eager=True)
        wiring.connect(m, arbiter.o, fork.i)
        burst, turn = fork.o
        chosen, answer = burst.payload, self.b.payload
        fields = {name: chosen.payload[name] for name in ("address", "length")}
        connect_fields(m, burst, self.aw, **fields, id=chosen.source)
        m.d.comb += [
            turns.i.valid.eq(turn.valid),
            turn.ready.eq(turns.i.ready),
            turns.i.payload.eq(turn.payload.source),
        ]
        for index in range(self._writers):
            wiring.connect(m, arbiter.i[index], wiring.flipped(self.writer_aw[index]))
            writer = self.writer_b[index]
            mine = answer.id == index
            m.d.comb += [
                writer.valid.eq(self.b.valid & mine),
                writer.payload.response.eq(answer.response),
            ]
        self._send(m, turns)
        return m

    def _send(self, m: Module, turns: Queue) -> None:
        """The data of the writer whose turn it is."""
        m.submodules.register = register = SkidBuffer(write_layout(self._data_bits))
        wiring.connect(m, register.o, wiring.flipped(self.w))
        turn = turns.o.payload
        ready = register.i.ready & turns.o.valid
        m.d.comb += turns.o.ready.eq(register.i.valid & register.i.ready & register.i.payload.last)
        if self._writers == 1:
            (writer,) = self.writer_w
            m.d.comb += [
                register.i.valid.eq(turns.o.valid & writer.valid),
                register.i.payload.eq(writer.payload),
                writer.ready.eq(ready),
            ]
            return
        m.d.comb += [
            register.i.valid.eq(turns.o.valid & Array(w.valid for w in self.writer_w)[turn]),
            register.i.payload.eq(Array(w.payload for w in self.writer_w)[turn]),
        ]
        for n, writer in enumerate(self.writer_w):
            m.d.comb += writer.ready.eq(ready & (turn == n))
