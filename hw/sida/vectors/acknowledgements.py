"""What of the vectors is in memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.deep_queue import DeepQueue
from ...stream.ring import moved_count
from .window_layouts import STORED_KINDS, line_layout

__all__ = ["Acknowledgements"]


class Acknowledgements(wiring.Component):
    """Says, in the order in which lines left, when they are in memory: when all channels that got a
    block have answered as often as they got one until then. Answers of a channel come in order.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: lines that leave, see :func:`line_layout`; the queue has room for four times as many as
        blocks may be under way in a channel
    answers: in; by channel; a response has come
    complete: out; by kind; a last line of that kind is in memory, and all before it
    busy: out; there are lines that are not
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(line_layout(config))),
                "answers": In(config.channels),
                "complete": Out(STORED_KINDS),
                "busy": Out(1),
                "clear": In(1),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = 4 * self._config.outstanding
        m.submodules.lines = lines = DeepQueue(line_layout(self._config), depth)
        wiring.connect(m, wiring.flipped(self.i), lines.i)
        oldest = lines.o.payload
        leaves = Signal()
        there = []
        for channel in range(self._config.channels):
            # That no line has been said to be in memory for.
            answers = Signal(range(depth + 3), name=f"answers_{channel}")
            own = oldest.channels[channel]
            there.append(~own | (answers != 0))
            m.d.sync += answers.eq(moved_count(answers, self.answers[channel], leaves & own))
            with m.If(self.clear):
                m.d.sync += answers.eq(0)
        level = Signal(range(depth + 2))
        m.d.comb += [
            leaves.eq(lines.o.valid & Cat(there).all()),
            lines.o.ready.eq(leaves),
            lines.clear.eq(self.clear),
            self.busy.eq(level != 0),
            self.complete.eq(Mux(leaves & oldest.last, 1 << oldest.kind, 0)),
        ]
        m.d.sync += level.eq(moved_count(level, self.i.valid & self.i.ready, leaves))
        with m.If(self.clear):
            m.d.sync += level.eq(0)
        return m
