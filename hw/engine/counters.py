"""What the engine counts while a job runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..job.activity import Activity, counter_members, ones
from ..spec.engine import EngineConfig
from ..spec.jobs.engine import job_spec

__all__ = ["Counters"]


class Counters(wiring.Component):
    """The counters of ``hw/spec/jobs/engine.py``; they keep their values after a job.

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
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.activity = activity = Activity()
        new_beats = Signal(2)
        new_bytes = Signal(range(self._beat_bytes + 1))
        m.d.sync += [
            new_beats.eq(ones(self.beats)),
            new_bytes.eq(ones(Cat(bit & self.wrote for bit in self.strobe))),
        ]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(self.offered),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        m.d.sync += [
            self.cycles.eq(self.cycles + self.running),
            self.operations.eq(self.operations + self.taken),
            self.bytes_read.eq(self.bytes_read + new_beats * self._beat_bytes),
            self.bytes_written.eq(self.bytes_written + new_bytes),
        ]
        with m.If(self.clear):
            sums = ("cycles", "operations", "bytes_read", "bytes_written")
            m.d.sync += [getattr(self, name).eq(0) for name in sums]
        return m
