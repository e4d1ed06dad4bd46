"""When memory has what was written of a unit."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.deep_queue import DeepQueue
from ...stream.ring import moved_count, ring_address

__all__ = ["UnitAnswers"]


class UnitAnswers(wiring.Component):
    """Matches the answers of all channels with the lines that they are to, in order.

    A unit is done when each block of each of its lines was answered. One line a cycle.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    wrote: in; of each channel, whether it gets a block of the line that is taken in this cycle
    answered: in; of each channel, whether it answers a block
    done: out, a pulse: one more unit is in memory
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        channels = config.channels
        super().__init__(
            {"wrote": In(channels), "answered": In(channels), "done": Out(1), "clear": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        lines = config.memory_slots * config.unit_lines
        m.submodules.written = written = DeepQueue(config.channels, lines)
        there = Signal(config.channels)
        goes = Signal()
        for channel in range(config.channels):
            answers = Signal(range(lines + 2), name=f"answers_{channel}")
            m.d.comb += there[channel].eq(answers != 0)
            used = goes & written.o.payload[channel]
            m.d.sync += answers.eq(moved_count(answers, self.answered[channel], used))
            with m.If(self.clear):
                m.d.sync += answers.eq(0)
        m.d.comb += [
            written.clear.eq(self.clear),
            written.i.valid.eq(Cat(self.wrote).any()),
            written.i.payload.eq(self.wrote),
            goes.eq(written.o.valid & (there | ~written.o.payload).all()),
            written.o.ready.eq(goes),
            self.done.eq(goes),
        ]
        if config.unit_lines > 1:
            line = ring_address(m, "line", config.unit_lines, advance=goes, clear=self.clear)
            m.d.comb += self.done.eq(goes & (line == config.unit_lines - 1))
        return m
