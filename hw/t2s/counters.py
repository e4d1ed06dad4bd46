"""What the array counts while a job runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..job.activity import Activity, count, counter_members, ones
from ..spec.jobs.t2s import image_parts, job_spec
from ..spec.t2s.config import T2sConfig

__all__ = ["Counters"]


class Counters(wiring.Component):
    """The counters of ``hw/spec/jobs/t2s.py``; they keep their values after a job.

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    begins: the element farthest from the feeders begins products
    beats: beats that were read, a bit a loader
    wrote, strobe: a beat of results leaves, and its bytes
    """

    def __init__(self, config: T2sConfig) -> None:
        self._beat_bytes = config.beat_bytes
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "begins", "wrote")},
                "beats": In(len(image_parts(config)) - 1),
                "strobe": In(config.beat_bytes),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.activity = activity = Activity()
        new_beats = Signal(range(len(self.beats) + 1))
        new_bytes = Signal(range(self._beat_bytes + 1))
        m.d.sync += [
            new_beats.eq(ones(self.beats)),
            new_bytes.eq(ones(Cat(bit & self.wrote for bit in self.strobe))),
        ]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(self.begins),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
            # Whoever begins products in a cycle does one iteration.
            self.operations.eq(activity.busy_cycles),
        ]
        count(m, self, "cycles", self.running)
        count(m, self, "bytes_read", new_beats * self._beat_bytes)
        count(m, self, "bytes_written", new_bytes)
        return m
