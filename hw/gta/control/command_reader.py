"""Reads the list of commands."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.burst_reader import BurstReader
from ...axi.layouts import address_layout, beat_layout
from ...axi.supervision import Supervision, supervise
from ...spec.gta import GtaConfig
from ...spec.jobs.gta import (
    COMMANDS_BITS,
    LIST_BURST_BYTES,
    LIST_BURSTS,
    beat_bytes,
    burst_beats,
)
from ...spec.jobs.gta_commands import COMMAND_BYTES
from ...stream.gearbox import Gearbox

__all__ = ["CommandReader"]


class CommandReader(wiring.Component):
    """Reads ahead, some hundred bytes, and offers commands one after the other.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    list, commands: in; address of the list, and how many, constant from ``start`` on
    start: in, a pulse when ``idle``
    o: commands as they are in memory
    ar, r: the bus
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all commands were taken
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "list": In(config.addr_bits),
                "commands": In(COMMANDS_BITS),
                "start": In(1),
                "o": Out(stream.Signature(8 * COMMAND_BYTES)),
                "ar": Out(stream.Signature(address_layout(config.addr_bits))),
                "r": In(stream.Signature(beat_layout(config.data_bits), always_ready=True)),
                **Supervision(config.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, beat = self._config, beat_bytes(self._config)
        each = COMMAND_BYTES // beat
        burst = min(LIST_BURST_BYTES // beat, burst_beats(config))
        m.submodules.reader = reader = BurstReader(
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            outstanding=LIST_BURSTS,
            count_bits=COMMANDS_BITS + each.bit_length() - 1,
            burst_beats=burst,
            buffer_beats=LIST_BURSTS * burst,
        )
        m.submodules.words = words = Gearbox(beat, (COMMAND_BYTES,), COMMANDS_BITS)
        asks = Signal()
        cuts = Signal()
        left = Signal(COMMANDS_BITS)
        m.d.comb += [
            reader.request.valid.eq(asks),
            reader.request.payload.address.eq(self.list),
            reader.request.payload.beats.eq(self.commands * each),
            words.request.valid.eq(cuts),
            words.request.payload.count.eq(self.commands),
            words.clear.eq(self.stop),
            words.lines.valid.eq(reader.o.valid),
            words.lines.payload.eq(reader.o.payload.data),
            reader.o.ready.eq(words.lines.ready),
            self.o.valid.eq(words.o.valid),
            self.o.payload.eq(words.o.payload.data),
            words.o.ready.eq(self.o.ready),
        ]
        with m.If(self.start):
            m.d.sync += [asks.eq(1), cuts.eq(1), left.eq(self.commands)]
        with m.Else():
            with m.If(reader.request.ready):
                m.d.sync += asks.eq(0)
            with m.If(words.request.ready):
                m.d.sync += cuts.eq(0)
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += left.eq(left - 1)
        with m.If(self.stop):
            m.d.sync += [asks.eq(0), cuts.eq(0), left.eq(0)]
        wiring.connect(m, reader.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), reader.r)
        supervise(m, self, [reader], busy=left != 0)
        return m
