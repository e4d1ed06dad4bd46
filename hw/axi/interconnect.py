"""Several readers or writers on one AXI4 manager, each with its own ID."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.queue import Queue
from ..stream.round_robin import RoundRobin
from ..stream.skid_buffer import SkidBuffer
from .layouts import address_layout, beat_layout, response_layout, write_layout

__all__ = ["ReadInterconnect", "WriteInterconnect"]


def check_ids(members: int, id_bits: int) -> None:
    """Check that there is an ID for everyone. Raises ValueError."""
    needed = max(1, (members - 1).bit_length())
    if id_bits < needed:
        raise ValueError(f"`id_bits` must be at least {needed}, not {id_bits}")


class ReadInterconnect(wiring.Component):
    """Lets readers take turns at AR and brings each beat to the reader whose ID it has.

    A reader's ID is its index. Responses may come in any order between IDs; one with another
    ID is dropped. Latency: AR one cycle, R none. One transfer a cycle.

    Parameters
    ----------
    readers: number of readers, at least 1
    addr_bits, data_bits, id_bits: widths of the bus

    Members
    -------
    reader_ar, reader_r: the readers' sides (arrays)
    ar, r: the manager's side, with ``id``
    """

    def __init__(self, readers: int, *, addr_bits: int, data_bits: int, id_bits: int) -> None:
        check_ids(readers, id_bits)
        self._readers = readers
        self._addr_bits = addr_bits
        super().__init__(
            {
                "reader_ar": In(stream.Signature(address_layout(addr_bits))).array(readers),
                "reader_r": Out(stream.Signature(beat_layout(data_bits))).array(readers),
                "ar": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "r": In(stream.Signature(beat_layout(data_bits, id_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(address_layout(self._addr_bits), self._readers)
        chosen, beat = arbiter.o.payload, self.r.payload
        m.d.comb += [
            self.ar.valid.eq(arbiter.o.valid),
            arbiter.o.ready.eq(self.ar.ready),
            self.ar.payload.address.eq(chosen.payload.address),
            self.ar.payload.length.eq(chosen.payload.length),
            self.ar.payload.id.eq(chosen.source),
            self.r.ready.eq(1),
        ]
        for index in range(self._readers):
            wiring.connect(m, arbiter.i[index], wiring.flipped(self.reader_ar[index]))
            reader = self.reader_r[index]
            mine = beat.id == index
            m.d.comb += [
                reader.valid.eq(self.r.valid & mine),
                reader.payload.data.eq(beat.data),
                reader.payload.response.eq(beat.response),
                reader.payload.last.eq(beat.last),
            ]
            with m.If(mine):
                m.d.comb += self.r.ready.eq(reader.ready)
        return m


class WriteInterconnect(wiring.Component):
    """Lets writers take turns at AW, sends their data in the same order, and brings each
    response to the writer whose ID it has.

    A writer's ID is its index. Responses may come in any order between IDs; one with another ID
    is dropped. W of a burst never leads its AW. Latency: AW and W one cycle, B none. One transfer
    a cycle.

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
                "writer_b": Out(stream.Signature(response_layout())).array(writers),
                "aw": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "w": Out(stream.Signature(write_layout(data_bits))),
                "b": In(stream.Signature(response_layout(id_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(address_layout(self._addr_bits), self._writers)
        source = arbiter.o.payload.source
        # Whose data comes next.
        m.submodules.turns = turns = Queue(source.shape(), self._outstanding)
        chosen, answer = arbiter.o.payload, self.b.payload
        m.d.comb += [
            self.aw.valid.eq(arbiter.o.valid & turns.i.ready),
            arbiter.o.ready.eq(self.aw.ready & turns.i.ready),
            self.aw.payload.address.eq(chosen.payload.address),
            self.aw.payload.length.eq(chosen.payload.length),
            self.aw.payload.id.eq(source),
            turns.i.valid.eq(arbiter.o.valid & self.aw.ready),
            turns.i.payload.eq(source),
            self.b.ready.eq(1),
        ]
        for index in range(self._writers):
            wiring.connect(m, arbiter.i[index], wiring.flipped(self.writer_aw[index]))
            writer = self.writer_b[index]
            mine = answer.id == index
            m.d.comb += [
                writer.valid.eq(self.b.valid & mine),
                writer.payload.response.eq(answer.response),
            ]
            with m.If(mine):
                m.d.comb += self.b.ready.eq(writer.ready)
        self._send(m, turns)
        return m

    def _send(self, m: Module, turns: Queue) -> None:
        """The data of the writer whose turn it is."""
        m.submodules.register = register = SkidBuffer(write_layout(self._data_bits))
        wiring.connect(m, register.o, wiring.flipped(self.w))
        turn = turns.o.payload
        ready = register.i.ready & turns.o.valid
        m.d.comb += [
            register.i.valid.eq(turns.o.valid & Array(w.valid for w in self.writer_w)[turn]),
            register.i.payload.eq(Array(w.payload for w in self.writer_w)[turn]),
            turns.o.ready.eq(register.i.valid & register.i.ready & register.i.payload.last),
            Cat(w.ready for w in self.writer_w).eq(ready << turn),
        ]
