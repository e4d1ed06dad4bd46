"""An SDRAM chip behind several AXI4 managers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..spec.sdram import Sdram
from ..stream.queue import Queue
from .bursts import channels_of, join_bursts
from .sdram_controller import SdramController, SdramPins

__all__ = ["SdramMemory"]

_TURN = 128
"""Words that move in a direction, at least, while the other one waits and this one has some."""
_RETURN_CYCLES = 6
"""Cycles of a word from the pins to a manager, besides those that the chip takes."""


class SdramMemory(wiring.Component):
    """Answers bursts of several managers from an SDRAM chip, which begins at address 0.

    Reads and writes have one burst each at a time, round robin. They share the chip: each
    direction moves at least 128 words, up to the end of a burst, before the other one, unless it
    has nothing to move. No direction waits for the other's manager. A burst is INCR, of whole
    beats, and does not cross 4 KiB; outside the memory it is answered with DECERR, and writes
    nothing. A read that is accepted behind a write's response finds what was written.

    Parameters
    ----------
    managers: their number
    chip: the chip and its clock
    addr_bits, id_bits: widths of the bus
    data_bits: width of a beat, two words of the chip or more, up to a row

    Members
    -------
    ar, r, aw, w, b: channels of each manager (arrays)
    pins: of the chip, see :class:`SdramPins`
    """

    def __init__(
        self, managers: int, chip: Sdram, *, addr_bits: int, data_bits: int, id_bits: int
    ) -> None:
        self._count, self._chip = managers, chip
        self._widths = {"addr_bits": addr_bits, "data_bits": data_bits, "id_bits": id_bits}
        pins = {"pins": Out(SdramPins(chip.geometry))}
        super().__init__(channels_of(managers, **self._widths) | pins)

    @property
    def chip(self) -> Sdram:
        return self._chip

    @property
    def memory_bytes(self) -> int:
        return self._chip.geometry.memory_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reads, writes = join_bursts(m, self, self._count, self.memory_bytes, **self._widths)
        width, geometry = self._widths["data_bits"], self._chip.geometry
        words = width // geometry.word_bits
        m.submodules.controller = controller = SdramController(self._chip, words)
        wiring.connect(m, controller.pins, wiring.flipped(self.pins))
        access, writing = controller.i.payload, Signal()
        place = Mux(writing, writes.o.payload.place, reads.o.payload.place)
        groups = geometry.column_bits - (words - 1).bit_length()
        rows = groups + geometry.bank_bits
        m.d.comb += [
            access.place.eq(place[:groups]),
            access.bank.eq(place[groups:rows]),
            access.row.eq(place[rows:]),
            access.write.eq(writing),
            access.data.eq(writes.o.payload.data),
            access.strobe.eq(writes.o.payload.strobe),
        ]
        may_read = self._return(m, reads, controller, words)
        m.d.comb += [
            controller.i.valid.eq(Mux(writing, writes.o.valid, may_read)),
            writes.o.ready.eq(writing & controller.i.ready),
        ]
        self._take_turns(m, writing, (may_read, writes.o.valid), (reads, writes), controller)
        return m

    def _return(self, m: Module, reads: Any, controller: SdramController, words: int) -> Signal:
        """Returns beats with their tags; a beat is read only if there is room for it. Returns
        whether one may be read."""
        cycles = self._chip.cycles.sample + _RETURN_CYCLES
        depth = controller.most_accesses + -(-cycles // words) + 1
        m.submodules.tags = tags = Queue(reads.o.payload.tag.shape(), depth)
        m.submodules.beats = beats = Queue(self._widths["data_bits"], depth)
        room = Signal(range(depth + 1), init=depth)
        may_read = Signal()
        accepted = reads.o.valid & reads.o.ready
        m.d.comb += [
            may_read.eq(reads.o.valid & (room != 0)),
            tags.i.valid.eq(accepted),
            tags.i.payload.eq(reads.o.payload.tag),
            beats.i.valid.eq(controller.o.valid),
            beats.i.payload.eq(controller.o.payload),
            reads.i.valid.eq(beats.o.valid),
            reads.i.payload.data.eq(beats.o.payload),
            reads.i.payload.tag.eq(tags.o.payload),
            beats.o.ready.eq(reads.i.ready),
            tags.o.ready.eq(reads.i.ready & beats.o.valid),
        ]
        m.d.sync += room.eq(room - accepted + (reads.i.valid & reads.i.ready))
        return may_read

    def _take_turns(
        self, m: Module, writing: Signal, offers: tuple[Signal, Any], parts: tuple[Any, Any],
        controller: SdramController,
    ) -> None:  # fmt: skip
        """Chooses the direction of the next access."""
        reads, writes = parts
        words = controller.words
        beats = max(1, _TURN // words)
        left = Signal(range(beats))
        here, there = Mux(writing, *reversed(offers)), Mux(writing, *offers)
        last = Mux(writing, writes.o.payload.last, reads.o.payload.tag.last)
        moves = controller.i.valid & controller.i.ready
        m.d.comb += reads.o.ready.eq(~writing & offers[0] & controller.i.ready)
        with m.If(moves & (left != 0)):
            m.d.sync += left.eq(left - 1)
        with m.If(there & ((moves & last & (left == 0)) | (~here & controller.idle))):
            m.d.sync += [writing.eq(~writing), left.eq(beats - 1)]
        return
