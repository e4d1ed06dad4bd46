"""Requests of any length cut into AXI bursts."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import burst_layout, request_layout

__all__ = ["PAGE_BYTES", "BurstSplitter", "check_burst"]

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
        beats, ends = self._first_burst(m, place, left)
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
                burst.length.eq(beats - 1),
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
            m.d.sync += [place.eq(Cat(Const(0, index_bits), following)), left.eq(left - beats)]
        with m.If(self.clear):
            m.d.sync += [active.eq(0), self.o.valid.eq(0)]
        return m

    def _first_burst(self, m: Module, place: Value, left: Value) -> tuple[Value, Value]:
        """Beats of the next burst of a request, and whether it is the last one."""
        room = Signal(range(self._burst_beats + 1))
        beats = Signal.like(room)
        ends = Signal()
        index = place[: (self._burst_beats - 1).bit_length()]
        m.d.comb += [
            room.eq(self._burst_beats - index),
            ends.eq(left <= room),
            beats.eq(Mux(ends, left, room)),
        ]
        return beats, ends
