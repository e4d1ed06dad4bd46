"""Writes to memory: requests and their data in, whole bursts out."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.queue import DeepQueue, Queue
from ..stream.stream_registers import OutputRegister
from .burst_reader import BurstSplitter, check_burst
from .layouts import (
    Supervision,
    address_layout,
    request_layout,
    response_layout,
    store_layout,
    write_layout,
    written_layout,
)

__all__ = ["BurstWriter", "most_unsent"]

_DEEP = 16
"""So many addresses are a memory, fewer are registers."""


def most_unsent(outstanding: int, buffer_beats: int) -> int:
    """Returns the largest number of issued bursts of a writer whose data is not sent yet: each has
    a beat in the buffer, at its output, or on its way out."""
    return min(outstanding, buffer_beats + 2)


class BurstWriter(wiring.Component):
    """Writes the requested beats, as INCR bursts that never cross 4 KiB.

    A burst is issued when all its data is in the buffer and fewer than ``outstanding`` wait for
    their response, so that W never waits for data. Its first beat is offered two cycles after its
    address at the earliest, whether AWREADY has come or not; beats of the next burst wait until
    the address before has been accepted. One burst a cycle and one beat a cycle, over all
    boundaries.

    After a response other than OKAY and EXOKAY no further burst is issued, and ``error`` stays
    until ``stop``.

    Parameters
    ----------
    addr_bits: width of an address
    data_bits: width of a beat, a power of two
    outstanding: bursts in flight at a time, at least 1; requests of one beat run without a pause
        if it is at least the memory's latency and 5 (behind a ``WriteManager``)
    count_bits: width of a request's number of beats
    burst_beats: beats of the longest burst, a power of two of at most 256 beats and 4 KiB; bursts
        are cut at its multiples
    buffer_beats: beats of the buffer, at least two bursts
    reports: 1: there is ``written``

    Members
    -------
    request: ``address`` of the first beat (bits below a beat are ignored), ``beats`` >= 1
    i: ``data`` and ``strobe`` of all requests, one after the other; it may lead its request
    aw, w, b: the bus
    stop: in, a pulse or longer; drops requests and data, finishes the bursts that were issued
        with zero strobes, and waits for their responses. ``request.ready`` and ``i.ready`` are
        low at once, until the bus is clean and ``stop`` low
    idle: out; no request, no data in the buffer, every response is back
    error: out; a bad response has come and no ``stop`` since
    error_address: out; with ``error``, the address of the burst
    written: out; valid, a pulse: memory has answered the burst at ``address``
    """

    def __init__(
        self,
        *,
        addr_bits: int,
        data_bits: int,
        outstanding: int,
        count_bits: int,
        burst_beats: int = 64,
        buffer_beats: int = 128,
        reports: int = 0,
    ) -> None:
        check_burst(data_bits, burst_beats, buffer_beats)
        self._addr_bits, self._data_bits = addr_bits, data_bits
        self._outstanding, self._count_bits = outstanding, count_bits
        self._burst_beats, self._buffer_beats = burst_beats, buffer_beats
        self._reports = reports
        report = {"written": Out(written_layout(addr_bits))} if reports else {}
        super().__init__(
            {
                "request": In(stream.Signature(request_layout(addr_bits, count_bits))),
                "i": In(stream.Signature(store_layout(data_bits))),
                "aw": Out(stream.Signature(address_layout(addr_bits))),
                "w": Out(stream.Signature(write_layout(data_bits))),
                "b": In(stream.Signature(response_layout(), always_ready=True)),
                **Supervision(addr_bits).members,
                **report,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Addresses of the bursts that wait for a response, lengths of those that send data.
        m.submodules.addresses = addresses = self._addresses()
        unsent = most_unsent(self._outstanding, self._buffer_beats)
        m.submodules.lengths = lengths = Queue(8, unsent)
        m.submodules.buffer = buffer = DeepQueue(store_layout(self._data_bits), self._buffer_beats)
        draining = Signal()
        stopping = Signal()
        clean = Signal()
        queued = Signal()
        busy = self._issue(m, stopping, addresses, buffer)
        self._send(m, stopping, lengths, buffer)
        self._respond(m, stopping, addresses)
        m.d.comb += [
            stopping.eq(self.stop | draining),
            buffer.clear.eq(stopping),
            buffer.i.valid.eq(self.i.valid & ~stopping),
            buffer.i.payload.eq(self.i.payload),
            self.i.ready.eq(buffer.i.ready & ~stopping),
            # In the first cycle of AWVALID: W must not wait for AWREADY (AXI4, A3.3.1). The queue
            # has room, since an unsent burst has a beat in the buffer or at its output.
            lengths.i.valid.eq(self.aw.valid & ~queued),
            lengths.i.payload.eq(self.aw.payload.length),
            clean.eq(~self.aw.valid & ~addresses.o.valid & ~lengths.o.valid & ~self.w.valid),
            self.idle.eq(clean & ~busy),
        ]
        m.d.sync += queued.eq(self.aw.valid & ~self.aw.ready)
        with m.If(self.stop):
            m.d.sync += draining.eq(1)
        with m.Elif(clean):
            m.d.sync += draining.eq(0)
        return m

    def _addresses(self) -> Queue | DeepQueue:
        """Queues the addresses of bursts. A response arrives at the earliest four cycles after its
        burst was issued: the length takes a cycle each through AW's register, its queue and W's
        register, and a response follows the last beat. By then the address has also left a memory;
        until then ``aw.valid`` shows that the bus is not clean."""
        if self._outstanding < _DEEP:
            return Queue(self._addr_bits, self._outstanding)
        # It holds one more at its output.
        return DeepQueue(self._addr_bits, self._outstanding - 1)

    def _issue(
        self, m: Module, stopping: Value, addresses: Queue | DeepQueue, buffer: DeepQueue
    ) -> Value:
        """Requests to bursts at ``aw``; returns whether requests or unused data are inside."""
        m.submodules.splitter = splitter = BurstSplitter(
            addr_bits=self._addr_bits,
            data_bits=self._data_bits,
            count_bits=self._count_bits,
            burst_beats=self._burst_beats,
        )
        m.submodules.issued = register = OutputRegister(address_layout(self._addr_bits))
        wiring.connect(m, register.o, wiring.flipped(self.aw))
        # Beats that came in and belong to no issued burst yet.
        stored = Signal(range(self._buffer_beats + 2))
        issue = Signal()
        may_issue = Signal()
        taken = Signal(range(self._burst_beats + 1))
        burst = splitter.o.payload
        m.d.comb += [
            splitter.clear.eq(stopping),
            splitter.i.valid.eq(self.request.valid & ~stopping),
            splitter.i.payload.eq(self.request.payload),
            self.request.ready.eq(splitter.i.ready & ~stopping),
            may_issue.eq((stored > burst.length) & addresses.i.ready & ~self.error & ~stopping),
            splitter.o.ready.eq(may_issue & register.i.ready),
            issue.eq(splitter.o.valid & splitter.o.ready),
            register.i.valid.eq(splitter.o.valid & may_issue),
            register.i.payload.address.eq(burst.address),
            register.i.payload.length.eq(burst.length),
            addresses.i.valid.eq(issue),
            addresses.i.payload.eq(burst.address),
        ]
        with m.If(issue):
            m.d.comb += taken.eq(burst.length + 1)
        with m.If(stopping):
            m.d.sync += stored.eq(0)
        with m.Else():
            m.d.sync += stored.eq(stored + (self.i.valid & self.i.ready) - taken)
        return splitter.busy | (stored != 0)

    def _send(self, m: Module, stopping: Value, lengths: Queue, buffer: DeepQueue) -> None:
        """The data of issued bursts; without strobes once it no longer counts."""
        m.submodules.sending = register = OutputRegister(write_layout(self._data_bits))
        wiring.connect(m, register.o, wiring.flipped(self.w))
        sent = Signal(range(max(2, self._burst_beats)))
        last = Signal()
        beat, source = register.i.payload, buffer.o.payload
        m.d.comb += [
            register.i.valid.eq(lengths.o.valid & (buffer.o.valid | stopping)),
            buffer.o.ready.eq(lengths.o.valid & register.i.ready),
            last.eq(sent == lengths.o.payload),
            beat.data.eq(source.data),
            beat.strobe.eq(Mux(stopping, 0, source.strobe)),
            beat.last.eq(last),
            lengths.o.ready.eq(register.i.valid & register.i.ready & last),
        ]
        with m.If(register.i.valid & register.i.ready):
            m.d.sync += sent.eq(Mux(last, 0, sent + 1))

    def _respond(self, m: Module, stopping: Value, addresses: Queue | DeepQueue) -> None:
        """Responses; errors."""
        m.d.comb += addresses.o.ready.eq(self.b.valid)
        if self._reports:
            m.d.comb += [
                self.written.valid.eq(self.b.valid),
                self.written.address.eq(addresses.o.payload),
            ]
        with m.If(self.b.valid & self.b.payload.response[1] & ~self.error):
            m.d.sync += [self.error.eq(1), self.error_address.eq(addresses.o.payload)]
        with m.If(stopping):
            m.d.sync += self.error.eq(0)
