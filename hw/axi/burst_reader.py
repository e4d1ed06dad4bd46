"""Reads from memory: requests in, their data back in order."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..stream.queue import DeepQueue, Queue
from ..stream.stream_registers import OutputRegister
from .layouts import (
    Supervision,
    address_layout,
    beat_layout,
    burst_layout,
    data_layout,
    request_layout,
)

LONGEST_BURST = 256
PAGE_BYTES = 4096


def check_burst(data_bits: int, burst_beats: int, buffer_beats: int | None = None) -> None:
    """Checks that AXI4 allows bursts between multiples of ``burst_beats`` beats, and that a buffer
    holds two of them. Raises ValueError.
    """
    if data_bits < 8 or data_bits > 1024 or data_bits & (data_bits - 1):
        raise ValueError(f"`data_bits` must be a power of two in 8..1024, not {data_bits}")
    most = min(LONGEST_BURST, PAGE_BYTES * 8 // data_bits)
    if burst_beats < 1 or burst_beats > most or burst_beats & (burst_beats - 1):
        raise ValueError(f"`burst_beats` must be a power of two in 1..{most}, not {burst_beats}")
    least = 2 * burst_beats
    if buffer_beats is not None and buffer_beats < least:
        raise ValueError(f"`buffer_beats` must be at least {least}, not {buffer_beats}")


class BurstSplitter(wiring.Component):
    """Splits each request at the multiples of ``burst_beats`` beats.

    As these are boundaries of a power of two of at most 4 KiB, no burst crosses 4 KiB, and none
    is longer than ``burst_beats``. Latency two cycles; a burst a cycle, over request boundaries
    too.

    Parameters
    ----------
    addr_bits: width of an address
    data_bits: width of a beat
    count_bits: width of a request's number of beats
    burst_beats: beats of the longest burst, a power of two

    Members
    -------
    i: requests (``address``, ``beats``, at least 1); address bits below a beat are ignored
    o: bursts (``address``, ``length``, ``last`` of the request)
    clear: in; forgets everything at the end of the cycle
    busy: out; a request or a burst is inside
    """

    def __init__(
        self, *, addr_bits: int, data_bits: int, count_bits: int, burst_beats: int
    ) -> None:
        check_burst(data_bits, burst_beats)
        self._beat_shift = (data_bits // 8).bit_length() - 1
        self._burst_beats = burst_beats
        super().__init__(
            {
                "i": In(stream.Signature(request_layout(addr_bits, count_bits))),
                "o": Out(stream.Signature(burst_layout(addr_bits))),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    @property
    def burst_beats(self) -> int:
        return self._burst_beats

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.i.payload
        place = Signal(len(request.address) - self._beat_shift, reset_less=True)
        left = Signal(len(request.beats), reset_less=True)
        active = Signal()
        load = Signal()
        length, ends, rest = self._first_burst(m, place, left)
        m.d.comb += [
            load.eq(active & (self.o.ready | ~self.o.valid)),
            self.i.ready.eq(~active | (load & ends)),
            self.busy.eq(active | self.o.valid),
        ]
        burst = Signal(self.o.payload.shape(), reset_less=True)
        m.d.comb += self.o.payload.eq(burst)
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += [
                self.o.valid.eq(active),
                burst.address.eq(Cat(Const(0, self._beat_shift), place)),
                burst.length.eq(length),
                burst.last.eq(ends),
            ]
        with m.If(self.i.ready):
            m.d.sync += [
                active.eq(self.i.valid),
                place.eq(request.address[self._beat_shift :]),
                left.eq(request.beats),
            ]
        with m.Elif(load):
            index_bits = (self._burst_beats - 1).bit_length()
            following = place[index_bits:] + 1
            m.d.sync += [place.eq(Cat(Const(0, index_bits), following)), left.eq(rest)]
        with m.If(self.clear):
            m.d.sync += [active.eq(0), self.o.valid.eq(0)]
        return m

    def _first_burst(self, m: Module, place: Value, left: Value) -> tuple[Value, Value, Value]:
        """The next burst of a request: its length (beats less one), whether it is the last one, and
        the beats that are left after it."""
        length = Signal(range(max(2, self._burst_beats)))
        ends = Signal()
        index = place[: (self._burst_beats - 1).bit_length()]
        # Beats from the last boundary to the end of the request.
        reach = Signal(max(len(left), len(index)) + 1)
        rest = Signal.like(left, name="rest")
        m.d.comb += [
            reach.eq(left + index),
            ends.eq(reach <= self._burst_beats),
            length.eq(Mux(ends, left - 1, ~index)),
            rest.eq(reach - self._burst_beats),
        ]
        return length, ends, rest


class BurstReader(wiring.Component):
    """Reads the requested beats, as INCR bursts that never cross 4 KiB.

    A burst is issued when fewer than ``outstanding`` are in flight and the buffer has room for
    a longest one beside all that are, so that ``r`` is always ready. One burst a cycle and one
    beat a cycle, over all boundaries. Three cycles from a request to its first burst, two
    from a beat at ``r`` to ``o``.

    After a response other than OKAY and EXOKAY no further beat leaves (the failing one
    neither), no further burst is issued, and ``error`` stays until ``stop``.

    Parameters
    ----------
    addr_bits: width of an address
    data_bits: width of a beat, a power of two
    outstanding: bursts in flight at a time, at least 1; requests of one beat run without a pause
        if it is at least the memory's latency and 3 (behind a ``ReadManager``)
    count_bits: width of a request's number of beats
    burst_beats: beats of the longest burst, a power of two of at most 256 beats and 4 KiB; bursts
        are cut at its multiples
    buffer_beats: beats of the buffer, at least two bursts; with a memory that answers after
        ``buffer_beats - burst_beats`` cycles or sooner, long requests run without a pause

    Members
    -------
    request: ``address`` of the first beat (bits below a beat are ignored), ``beats`` >= 1
    o: ``data``, ``last`` of its request; in the order of the requests
    ar, r: the bus
    stop: in, a pulse or longer; drops requests and data, swallows what the bus still owes. At
        once ``request.ready`` and ``o.valid`` are low (even if ``o.valid`` was high without a
        transfer), until the bus is clean and ``stop`` low
    idle: out; no request, nothing owed by the bus, no data in the buffer
    error: out; a bad response has come and no ``stop`` since
    error_address: out; with ``error``, the address of the beat
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
    ) -> None:
        check_burst(data_bits, burst_beats, buffer_beats)
        self._addr_bits, self._data_bits = addr_bits, data_bits
        self._outstanding, self._count_bits = outstanding, count_bits
        self._burst_beats, self._buffer_beats = burst_beats, buffer_beats
        super().__init__(
            {
                "request": In(stream.Signature(request_layout(addr_bits, count_bits))),
                "o": Out(stream.Signature(data_layout(data_bits))),
                "ar": Out(stream.Signature(address_layout(addr_bits))),
                "r": In(stream.Signature(beat_layout(data_bits), always_ready=True)),
                **Supervision(addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        under_way = data.StructLayout({"address": self._addr_bits, "last": 1})
        m.submodules.bursts = bursts = Queue(under_way, self._outstanding)
        m.submodules.buffer = buffer = DeepQueue(data_layout(self._data_bits), self._buffer_beats)
        draining = Signal()
        stopping = Signal()
        busy = self._issue(m, stopping, bursts, buffer)
        self._receive(m, stopping, bursts, buffer)
        m.d.comb += [
            stopping.eq(self.stop | draining),
            buffer.clear.eq(stopping),
            self.o.valid.eq(buffer.o.valid & ~stopping),
            self.o.payload.eq(buffer.o.payload),
            buffer.o.ready.eq(self.o.ready),
            self.idle.eq(~busy & ~self.ar.valid & ~bursts.o.valid),
        ]
        with m.If(self.stop):
            m.d.sync += draining.eq(1)
        with m.Elif(~self.ar.valid & ~bursts.o.valid):
            m.d.sync += draining.eq(0)
        return m

    def _issue(self, m: Module, stopping: Value, bursts: Queue, buffer: DeepQueue) -> Value:
        """Requests to bursts at ``ar``; returns whether requests or data are inside."""
        m.submodules.splitter = splitter = BurstSplitter(
            addr_bits=self._addr_bits,
            data_bits=self._data_bits,
            count_bits=self._count_bits,
            burst_beats=self._burst_beats,
        )
        m.submodules.issued = register = OutputRegister(address_layout(self._addr_bits))
        wiring.connect(m, register.o, wiring.flipped(self.ar))
        # Beats of the buffer that are filled or will be.
        reserved = Signal(range(self._buffer_beats + 1))
        issue = Signal()
        room = Signal()
        may_issue = Signal()
        added = Signal(range(self._burst_beats + 1))
        burst = splitter.o.payload
        m.d.comb += [
            splitter.clear.eq(stopping),
            splitter.i.valid.eq(self.request.valid & ~stopping),
            splitter.i.payload.eq(self.request.payload),
            self.request.ready.eq(splitter.i.ready & ~stopping),
            room.eq(reserved <= self._buffer_beats - self._burst_beats),
            may_issue.eq(room & bursts.i.ready & ~self.error & ~stopping),
            splitter.o.ready.eq(may_issue & register.i.ready),
            issue.eq(splitter.o.valid & splitter.o.ready),
            register.i.valid.eq(splitter.o.valid & may_issue),
            register.i.payload.address.eq(burst.address),
            register.i.payload.length.eq(burst.length),
            bursts.i.valid.eq(issue),
            bursts.i.payload.address.eq(burst.address),
            bursts.i.payload.last.eq(burst.last),
        ]
        with m.If(issue):
            m.d.comb += added.eq(burst.length + 1)
        with m.If(stopping):
            m.d.sync += reserved.eq(0)
        with m.Else():
            m.d.sync += reserved.eq(reserved + added - (self.o.valid & self.o.ready))
        return splitter.busy | (reserved != 0)

    def _receive(self, m: Module, stopping: Value, bursts: Queue, buffer: DeepQueue) -> None:
        """Beats at ``r`` to the buffer; errors."""
        beat, burst = self.r.payload, bursts.o.payload
        failed = beat.response[1]
        index = Signal(range(max(2, self._burst_beats)))
        shift = (self._data_bits // 8).bit_length() - 1
        m.d.comb += [
            bursts.o.ready.eq(self.r.valid & beat.last),
            buffer.i.valid.eq(self.r.valid & ~failed & ~self.error & ~stopping),
            buffer.i.payload.data.eq(beat.data),
            buffer.i.payload.last.eq(beat.last & burst.last),
        ]
        with m.If(self.r.valid):
            m.d.sync += index.eq(index + 1)
            with m.If(beat.last):
                m.d.sync += index.eq(0)
            with m.If(failed & ~self.error):
                m.d.sync += [
                    self.error.eq(1),
                    self.error_address.eq(burst.address + index.shift_left(shift)),
                ]
        with m.If(stopping):
            m.d.sync += self.error.eq(0)
