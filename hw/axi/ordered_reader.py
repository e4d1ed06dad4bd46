"""Bursts read under an ID each, so that they may overtake each other; their data in order."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..stream.ring import moved_count, ring_address
from ..stream.stream_registers import OutputRegister
from .burst_reader import check_burst
from .layouts import Supervision, beat_layout, data_layout, routed_layout

__all__ = ["OrderedReader"]


class OrderedReader(wiring.Component):
    """Reads each requested burst under an ID of its own, and restores the order of the data.

    A burst gets a slot: room for a longest one in a memory, and the slot's number as its ID.
    Beats of different slots may come in any order; ``r`` is always ready. A beat leaves when all
    before it have, even if the rest of its burst has not come. One request a cycle and one beat
    a cycle, over all boundaries, bursts of one beat too, as long as there are slots: at least
    the memory's latency and 4. One cycle from a request to ``ar``, two from a beat at ``r`` to
    ``o``.

    After a response other than OKAY and EXOKAY no beat leaves but one that ``o`` offers already,
    no further burst is issued, and ``error`` stays until ``stop``.

    Parameters
    ----------
    addr_bits: width of an address
    data_bits: width of a beat, a power of two
    channel_bits: width of the number of a memory channel, which is passed on
    outstanding: slots, at least 2
    burst_beats: beats of the longest burst, a power of two of at most 256 beats and 4 KiB
    marks_failures: 1: a bad response does not end anything: its beat leaves as all others, marked

    Members
    -------
    request: a burst that AXI allows: ``address``, ``length`` (beats less one), ``channel``
    o: ``data``, ``last`` of its burst; in the order of the requests; with ``marks_failures`` also
        ``failed``
    ar: ``address``, ``length``, ``channel``, ``id``
    r: the bus; ``id`` is the slot
    stop: in, a pulse or longer; drops requests and data, swallows what the bus still owes. At
        once ``request.ready`` and ``o.valid`` are low (even if ``o.valid`` was high without a
        transfer), until the bus is clean and ``stop`` low
    idle: out; nothing at ``ar``, nothing owed by the bus, no data inside
    error: out; a bad response has come and no ``stop`` since
    error_address: out; with ``error``, the address of the beat
    """

    def __init__(
        self,
        *,
        addr_bits: int,
        data_bits: int,
        channel_bits: int,
        outstanding: int,
        burst_beats: int,
        marks_failures: int = 0,
    ) -> None:
        check_burst(data_bits, burst_beats)
        self._marks_failures = marks_failures
        if outstanding < 2:
            raise ValueError(f"`outstanding` must be at least 2, not {outstanding}")
        self._addr_bits, self._data_bits = addr_bits, data_bits
        self._outstanding, self._burst_beats = outstanding, burst_beats
        self._index_bits = (burst_beats - 1).bit_length()
        self._slot_bits = slot_bits = (outstanding - 1).bit_length()
        self._routed = routed_layout(addr_bits, channel_bits, slot_bits)
        super().__init__(
            {
                "request": In(stream.Signature(routed_layout(addr_bits, channel_bits))),
                "o": Out(stream.Signature(data_layout(data_bits, failed=bool(marks_failures)))),
                "ar": Out(stream.Signature(self._routed)),
                "r": In(stream.Signature(beat_layout(data_bits, slot_bits), always_ready=True)),
                **Supervision(addr_bits).members,
            }
        )

    @property
    def slot_bits(self) -> int:
        """Width of an ID."""
        return self._slot_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stopping = Signal()
        draining = Signal()
        issue = Signal()
        taken = Signal()
        # Bursts that the bus has not answered to the end, those that wait at `ar` included.
        owed = Signal(range(self._outstanding + 1))
        # Slots whose data have not all been taken from the memory.
        used = Signal(range(self._outstanding + 1))
        # Slots of which a beat has arrived; of the others the count of beats is an old one.
        begun = Signal(self._outstanding)
        slot, addresses, lengths = self._issue(m, stopping, issue, used)
        index, arrived, buffer = self._receive(m, begun)
        if addresses is not None:
            self._note_error(m, stopping, addresses, index)
        self._deliver(m, stopping, taken, (used != 0), begun, arrived, buffer, lengths)
        marked = Signal(self._outstanding)
        fresh = Signal(self._outstanding)
        m.d.comb += [
            marked.eq(Mux(self.r.valid, 1 << self.r.payload.id, 0)),
            fresh.eq(Mux(issue, 1 << slot, 0)),
        ]
        m.d.sync += begun.eq((begun | marked) & ~fresh)
        finished = self.r.valid & self.r.payload.last
        m.d.sync += owed.eq(moved_count(owed, issue, finished))
        m.d.comb += [
            stopping.eq(self.stop | draining),
            self.idle.eq((owed == 0) & (used == 0) & ~self.o.valid),
        ]
        with m.If(stopping):
            m.d.sync += [used.eq(0), begun.eq(0)]
        with m.Else():
            m.d.sync += used.eq(moved_count(used, issue, taken))
        with m.If(self.stop):
            m.d.sync += draining.eq(1)
        with m.Elif(owed == 0):
            m.d.sync += draining.eq(0)
        return m

    def _issue(
        self, m: Module, stopping: Value, issue: Value, used: Value
    ) -> tuple[Value, Memory | None, Memory]:
        """Requests to ``ar``. Returns the slot, and the bursts' addresses (if an error is to name
        one) and lengths by slot."""
        m.submodules.issued = register = OutputRegister(self._routed)
        wiring.connect(m, register.o, wiring.flipped(self.ar))
        request = self.request.payload
        may_issue = Signal()
        slot = ring_address(m, "next_slot", self._outstanding, advance=issue, clear=stopping)
        m.d.comb += [
            may_issue.eq((used != self._outstanding) & ~self.error & ~stopping),
            self.request.ready.eq(may_issue & register.i.ready),
            register.i.valid.eq(self.request.valid & may_issue),
            issue.eq(self.request.valid & self.request.ready),
            *(
                register.i.payload[name].eq(request[name])
                for name in ("address", "length", "channel")
                if name in request.shape().members
            ),
            register.i.payload.id.eq(slot),
        ]
        addresses = None
        if not self._marks_failures:
            addresses = Memory(shape=self._addr_bits, depth=self._outstanding, init=[])
            m.submodules.addresses = addresses
            self._note(m, addresses, issue, slot, request.address)
        m.submodules.lengths = lengths = Memory(
            shape=max(1, self._index_bits), depth=self._outstanding, init=[]
        )
        self._note(m, lengths, issue, slot, request.length)
        return slot, addresses, lengths

    @staticmethod
    def _note(m: Module, memory: Memory, enable: Value, address: Value, value: Value) -> None:
        port = memory.write_port()
        m.d.comb += [port.en.eq(enable), port.addr.eq(address), port.data.eq(value)]

    def _receive(self, m: Module, begun: Signal) -> tuple[Value, Memory, Memory]:
        """Beats at ``r`` to their slots. Returns the beat's index within its burst, how many beats
        have arrived by slot, and the beats.
        """
        beat = self.r.payload
        count_bits = self._burst_beats.bit_length()
        m.submodules.arrived = arrived = Memory(shape=count_bits, depth=self._outstanding, init=[])
        beat_bits = Value.cast(beat.data)
        if self._marks_failures:
            beat_bits = Cat(beat_bits, beat.response[1])
        m.submodules.buffer = buffer = Memory(
            shape=len(beat_bits), depth=self._outstanding * self._burst_beats, init=[]
        )
        before = arrived.read_port(domain="comb")
        index = Signal(count_bits)
        m.d.comb += before.addr.eq(beat.id)
        with m.If((begun >> beat.id)[0]):
            m.d.comb += index.eq(before.data)
        place = Cat(index[: self._index_bits], beat.id)
        self._note(m, arrived, self.r.valid, beat.id, (index + 1)[:count_bits])
        self._note(m, buffer, self.r.valid, place, beat_bits)
        return index, arrived, buffer

    def _note_error(self, m: Module, stopping: Value, addresses: Memory, index: Value) -> None:
        """The first bad response, and its address from that of the burst."""
        shift = (self._data_bits // 8).bit_length() - 1
        failing_index = Signal.like(index, name="failing_index")
        port = addresses.read_port()
        m.d.comb += [
            port.addr.eq(self.r.payload.id),
            port.en.eq(self.r.valid & self.r.payload.response[1] & ~self.error),
            self.error_address.eq(port.data + failing_index.shift_left(shift)),
        ]
        with m.If(port.en):
            m.d.sync += [self.error.eq(1), failing_index.eq(index)]
        with m.If(stopping):
            m.d.sync += self.error.eq(0)

    def _deliver(
        self,
        m: Module,
        stopping: Value,
        taken: Value,
        some: Value,
        begun: Signal,
        arrived: Memory,
        buffer: Memory,
        lengths: Memory,
    ) -> None:
        """Beats from the slots to ``o``; ``taken``: the last one of a slot."""
        beat = buffer.read_port()
        count = arrived.read_port(domain="comb")
        length = lengths.read_port(domain="comb")
        valid = Signal()
        last = Signal()
        here = Signal()
        ends = Signal()
        index = Signal(max(1, self._index_bits), name="next_index")
        slot = ring_address(m, "slot", self._outstanding, advance=taken, clear=stopping)
        failing: Value | int = self.r.valid & self.r.payload.response[1]
        if self._marks_failures:
            failing = 0
            m.d.comb += self.o.payload.failed.eq(beat.data[self._data_bits])
        m.d.comb += [
            count.addr.eq(slot),
            length.addr.eq(slot),
            here.eq(some & (begun >> slot)[0] & (count.data > index)),
            ends.eq(index == length.data),
            beat.addr.eq(Cat(index[: self._index_bits], slot)),
            beat.en.eq(here & (self.o.ready | ~valid) & ~self.error & ~failing),
            taken.eq(beat.en & ends),
            self.o.valid.eq(valid & ~stopping),
            self.o.payload.data.eq(beat.data[: self._data_bits]),
            self.o.payload.last.eq(last),
        ]
        with m.If(beat.en):
            m.d.sync += [last.eq(ends), index.eq(index + 1)]
            with m.If(ends):
                m.d.sync += index.eq(0)
        m.d.sync += valid.eq(beat.en | (valid & ~self.o.ready))
        with m.If(stopping):
            m.d.sync += [valid.eq(0), index.eq(0)]
