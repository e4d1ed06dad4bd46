"""What the engine counts while a job runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import EngineConfig
from ..spec.engine_registers import COUNTER_BITS, COUNTERS

__all__ = ["Counters"]


class Counters(wiring.Component):
    """The counters of ``COUNTERS`` in ``hw/spec/engine.py``; they keep their values after a job.

    ``busy_cycles`` and ``stalls`` together are the cycles from the first to the last cycle in
    which the unit had an operation at its input.

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    offered, taken: the unit has an operation at its input, takes it
    beats: beats that were read, a bit a reader
    wrote, strobe: a beat of D leaves, and its bytes
    """

    def __init__(self, config: EngineConfig) -> None:
        self._beat_bytes = config.beat_bytes
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "offered", "taken", "wrote")},
                "beats": In(3),
                "strobe": In(config.beat_bytes),
                **{name: Out(COUNTER_BITS) for name in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begun = Signal()
        gap = Signal(COUNTER_BITS)
        new_beats = Signal(2)
        new_bytes = Signal(range(self._beat_bytes + 1))
        m.d.sync += [
            new_beats.eq(_ones(self.beats)),
            new_bytes.eq(_ones(Cat(bit & self.wrote for bit in self.strobe))),
        ]
        with m.If(self.offered):
            m.d.sync += [begun.eq(1), gap.eq(0), self.stalls.eq(self.stalls + gap)]
        with m.Elif(begun):
            m.d.sync += gap.eq(gap + 1)
        m.d.sync += [
            self.cycles.eq(self.cycles + self.running),
            self.busy_cycles.eq(self.busy_cycles + self.offered),
            self.operations.eq(self.operations + self.taken),
            self.bytes_read.eq(self.bytes_read + new_beats * self._beat_bytes),
            self.bytes_written.eq(self.bytes_written + new_bytes),
        ]
        with m.If(self.clear):
            m.d.sync += [begun.eq(0), gap.eq(0)]
            m.d.sync += [getattr(self, name).eq(0) for name in COUNTERS]
        return m


def _ones(bits: Value) -> Value:
    """How many bits are set."""
    if len(bits) == 1:
        return bits
    half = len(bits) // 2
    return _ones(bits[:half]) + _ones(bits[half:])
