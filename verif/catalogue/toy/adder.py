"""The toy adder: from memory, plus a constant, to memory. A system's: ``hw/<name>``."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Signal, Value
from tilewright.hw.axi.burst_reader import BurstReader
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.job.accelerator_top import AcceleratorTop
from tilewright.verif.catalogue.toy.control import ToyControl, ToyCounters
from tilewright.verif.catalogue.toy.spec import (
    BEATS_BITS,
    BURST_BEATS,
    ID_BITS,
    ToyAdderConfig,
    job_spec,
)

_WORD = 32


class ToyAdder(AcceleratorTop):
    """Adds a constant to an array of 32-bit integers in memory, a beat a cycle.

    Parameters
    ----------
    config: see :class:`ToyAdderConfig`

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers of ``job_spec(config)``
    m0_axi_*: AXI4 manager
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(self, config: ToyAdderConfig) -> None:
        self.config: Final = config
        widths = {"addr_bits": config.addr_bits, "data_bits": config.data_bits}
        super().__init__(job_spec(config), 1, **widths, id_bits=ID_BITS)
        self._sizes = {
            **widths,
            "outstanding": config.outstanding,
            "count_bits": BEATS_BITS,
            "burst_beats": BURST_BEATS,
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.control = control = ToyControl(self.config)
        m.submodules.counters = counters = ToyCounters(self.config)
        m.submodules.reader = reader = BurstReader(**self._sizes)
        m.submodules.writer = writer = BurstWriter(**self._sizes)
        asking = [
            self._ask(m, control, part, part.request, name)
            for part, name in ((reader, "source"), (writer, "target"))
        ]
        words = [reader.o.payload.data.word_select(n, _WORD) for n in range(self._words)]
        quiet = reader.idle & writer.idle
        m.d.comb += [
            writer.i.valid.eq(reader.o.valid),
            writer.i.payload.data.eq(Cat((word + control.job.constant)[:_WORD] for word in words)),
            writer.i.payload.strobe.eq((1 << self.config.beat_bytes) - 1),
            reader.o.ready.eq(writer.i.ready),
            control.quiet.eq(quiet),
            control.finished.eq(quiet & ~Cat(asking).any()),
            control.bus_read.eq(reader.error),
            control.bus_read_detail.eq(reader.error_address),
            control.bus_write.eq(writer.error),
            control.bus_write_detail.eq(writer.error_address),
            counters.clear.eq(control.taken),
            counters.running.eq(control.busy),
            counters.added.eq(writer.i.valid & writer.i.ready),
        ]
        self.connect_manager(m, 0, read=reader, write=writer)
        self.connect_registers(m, control, counters)
        return m

    @property
    def _words(self) -> int:
        return self.config.data_bits // _WORD

    def _ask(self, m: Module, control: ToyControl, part: Value, request: Value, name: str) -> Value:
        """Request the whole array of the reader or the writer; whether it has yet to take that."""
        asking = Signal(name=f"asking_{name}")
        m.d.comb += [
            part.stop.eq(control.stop),
            request.valid.eq(asking),
            request.payload.address.eq(control.job[name]),
            request.payload.beats.eq(control.job.beats),
        ]
        with m.If(control.go):
            m.d.sync += asking.eq(1)
        with m.Elif(request.ready | control.stop):
            m.d.sync += asking.eq(0)
        return asking
