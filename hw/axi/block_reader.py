"""Blocks read under an ID each, so that they may overtake each other; whole, and in order."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..stream.ring import moved_count, ring_address
from ..stream.stream_registers import OutputRegister
from .burst_reader import check_burst
from .layouts import Supervision, address_layout, beat_layout

__all__ = ["BlockReader"]


class BlockReader(wiring.Component):
    """Reads blocks of one size, one burst each, and sends them whole, in the order of the requests.

    A block gets a slot: a word of a memory that is written by beats, and the slot's number as its
    ID. Beats of different slots may come in any order; ``r`` is always ready. One request a cycle
    and one beat a cycle, as long as there are slots; one cycle from a request to ``ar``, two from
    a block's last beat at ``r`` to ``o``. ``OrderedReader`` sends beats, as soon as they are there.

    After a response other than OKAY and EXOKAY no block is complete any more and no further burst
    is issued, and ``error`` stays until ``stop``.

    Parameters
    ----------
    addr_bits: width of an address
    data_bits: width of a beat, a power of two
    block_beats: beats of a block, a power of two of at most 256 beats and 4 KiB
    outstanding: slots, at least 2
    id_bits: width of an ID; default: what the slots need

    Members
    -------
    request: address of a block, a multiple of its bytes
    o: the block
    ar: ``address``, ``length``, ``id``
    r: the bus; ``id`` is the slot
    stop: in, a pulse or longer; drops requests and data, swallows what the bus still owes. At
        once ``request.ready`` and ``o.valid`` are low (even if ``o.valid`` was high without a
        transfer), until the bus is clean and ``stop`` low
    idle: out; nothing at ``ar``, nothing owed by the bus, no data inside
    error: out; a bad response has come and no ``stop`` since
    error_address: out; with ``error``, the address of the beat
    """

    verilog_parameters: ClassVar = {"OUTSTANDING": "outstanding"}

    def __init__(
        self,
        *,
        addr_bits: int,
        data_bits: int,
        block_beats: int,
        outstanding: int,
        id_bits: int | None = None,
    ) -> None:
        check_burst(data_bits, block_beats)
        if outstanding < 2:
            raise ValueError(f"`outstanding` must be at least 2, not {outstanding}")
        self._slot_bits = slot_bits = (outstanding - 1).bit_length()
        self._id_bits = slot_bits if id_bits is None else id_bits
        if self._id_bits < slot_bits:
            raise ValueError(f"`id_bits` must be at least {slot_bits}, not {id_bits}")
        self._addr_bits, self._data_bits = addr_bits, data_bits
        self._block_beats, self._outstanding = block_beats, outstanding
        self._index_bits = (block_beats - 1).bit_length()
        super().__init__(
            {
                "request": In(stream.Signature(addr_bits)),
                "o": Out(stream.Signature(data_bits * block_beats)),
                "ar": Out(stream.Signature(address_layout(addr_bits, self._id_bits))),
                "r": In(stream.Signature(beat_layout(data_bits, self._id_bits), always_ready=True)),
                **Supervision(addr_bits).members,
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stopping = Signal()
        draining = Signal()
        issue = Signal()
        taken = Signal()
        # Bursts that the bus has not answered to the end, those that wait at `ar` included.
        owed = Signal(range(self._outstanding + 1))
        # Slots that have not been read.
        used = Signal(range(self._outstanding + 1))
        # Slots with all beats present.
        complete = Signal(self._outstanding)
        slot, addresses = self._issue(m, stopping, issue, used)
        index = self._receive(m, issue, slot)
        failing = self._note_error(m, stopping, addresses, index)
        read_slot = self._deliver(m, stopping, taken, complete, index)
        finished = Signal()
        whole = Signal(self._outstanding)
        gone = Signal(self._outstanding)
        m.d.comb += [
            finished.eq(self.r.valid & self.r.payload.last),
            whole.eq(Mux(finished & ~failing & ~self.error, 1 << self._slot, 0)),
            gone.eq(Mux(taken, 1 << read_slot, 0)),
            stopping.eq(self.stop | draining),
            self.idle.eq((owed == 0) & (used == 0) & ~self.o.valid),
        ]
        m.d.sync += owed.eq(moved_count(owed, issue, finished))
        with m.If(stopping):
            m.d.sync += [used.eq(0), complete.eq(0)]
        with m.Else():
            m.d.sync += [
                used.eq(moved_count(used, issue, taken)),
                complete.eq((complete | whole) & ~gone),
            ]
        with m.If(self.stop):
            m.d.sync += draining.eq(1)
        with m.Elif(owed == 0):
            m.d.sync += draining.eq(0)
        return m

    @property
    def _slot(self) -> Value:
        """Slot number in the ID of the beat at ``r``."""
        return self.r.payload.id[: self._slot_bits]

    def _issue(self, m: Module, stopping: Value, issue: Value, used: Value) -> tuple[Value, Memory]:
        """Requests to ``ar``. Returns the slot, and the blocks' addresses by slot."""
        m.submodules.issued = register = OutputRegister(self.ar.payload.shape())
        wiring.connect(m, register.o, wiring.flipped(self.ar))
        may_issue = Signal()
        slot = ring_address(m, "next_slot", self._outstanding, advance=issue, clear=stopping)
        m.d.comb += [
            may_issue.eq((used != self._outstanding) & ~self.error & ~stopping),
            self.request.ready.eq(may_issue & register.i.ready),
            register.i.valid.eq(self.request.valid & may_issue),
            issue.eq(self.request.valid & self.request.ready),
            register.i.payload.address.eq(self.request.payload),
            register.i.payload.length.eq(self._block_beats - 1),
            register.i.payload.id.eq(slot),
        ]
        m.submodules.addresses = addresses = Memory(
            shape=self._addr_bits, depth=self._outstanding, init=[]
        )
        note = addresses.write_port()
        m.d.comb += [note.en.eq(issue), note.addr.eq(slot), note.data.eq(self.request.payload)]
        return slot, addresses

    def _receive(self, m: Module, issue: Value, slot: Value) -> Value:
        """Beats at ``r`` to their slots. Returns the beat's index within its block."""
        if self._block_beats == 1:
            return Const(0, 1)
        # Slots of which a beat has come; of the others the count of beats is an old one.
        begun = Signal(self._outstanding)
        m.submodules.arrived = arrived = Memory(
            shape=self._index_bits, depth=self._outstanding, init=[]
        )
        before, after = arrived.read_port(domain="comb"), arrived.write_port()
        index = Signal(self._index_bits)
        m.d.comb += [
            before.addr.eq(self._slot),
            index.eq(Mux((begun >> self._slot)[0], before.data, 0)),
            after.en.eq(self.r.valid),
            after.addr.eq(self._slot),
            after.data.eq(index + 1),
        ]
        marked = Signal(self._outstanding)
        fresh = Signal(self._outstanding)
        m.d.comb += [
            marked.eq(Mux(self.r.valid, 1 << self._slot, 0)),
            fresh.eq(Mux(issue, 1 << slot, 0)),
        ]
        m.d.sync += begun.eq((begun | marked) & ~fresh)
        return index

    def _note_error(self, m: Module, stopping: Value, addresses: Memory, index: Value) -> Signal:
        """The first bad response, and its address from that of the block."""
        shift = (self._data_bits // 8).bit_length() - 1
        failing = Signal()
        failing_index = Signal(max(1, self._index_bits))
        port = addresses.read_port()
        m.d.comb += [
            failing.eq(self.r.valid & self.r.payload.response[1]),
            port.addr.eq(self._slot),
            port.en.eq(failing & ~self.error),
            self.error_address.eq(port.data | failing_index.shift_left(shift)),
        ]
        with m.If(port.en):
            m.d.sync += [self.error.eq(1), failing_index.eq(index)]
        with m.If(stopping):
            m.d.sync += self.error.eq(0)
        return failing

    def _deliver(
        self, m: Module, stopping: Value, taken: Value, complete: Signal, index: Value
    ) -> Value:
        """Beats into the memory, whole blocks to ``o``. Returns the slot that is read next."""
        width, beats = self._data_bits * self._block_beats, self._block_beats
        m.submodules.blocks = blocks = Memory(
            shape=unsigned(width), depth=self._outstanding, init=[]
        )
        write = blocks.write_port(granularity=self._data_bits)
        read = blocks.read_port()
        valid = Signal()
        slot = ring_address(m, "slot", self._outstanding, advance=taken, clear=stopping)
        m.d.comb += [
            write.en.eq(Mux(self.r.valid, 1 << index, 0)),
            write.addr.eq(self._slot),
            write.data.eq(Cat(self.r.payload.data for _ in range(beats))),
            read.addr.eq(slot),
            read.en.eq((complete >> slot)[0] & (self.o.ready | ~valid) & ~stopping),
            taken.eq(read.en),
            self.o.valid.eq(valid & ~stopping),
            self.o.payload.eq(read.data),
        ]
        m.d.sync += valid.eq(read.en | (valid & ~self.o.ready & ~stopping))
        return slot
