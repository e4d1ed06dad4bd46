"""What is counted while a job runs."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ...job.activity import Activity, count, counter_members, ones
from ...spec.gta import COLS, ROWS, GtaConfig
from ...spec.jobs.gta import beat_bytes, job_spec
from ...spec.jobs.gta_commands import MEMORIES

__all__ = ["WAITS", "Counters"]

WAITS = ("list", "loads", "stores", "results")
"""What is waited for."""


class Counters(wiring.Component):
    """The counters of the register map; they keep their values after a job.

    An event is counted two cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    active: of each lane, whether it works on a product
    executed: pulse: a product is complete
    listed: a beat of the list comes
    loaded: of each of ``MEMORIES``, whether a beat comes for it
    strobe: of a beat that is written; 0 else
    waits: of each of ``WAITS``, whether it happens
    and the counters, outputs
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "executed", "listed")},
                "active": In(config.lanes),
                "loaded": In(len(MEMORIES)),
                "strobe": In(beat_bytes(config)),
                "waits": In(len(WAITS)),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, beat = self._config, beat_bytes(self._config)
        m.submodules.activity = activity = Activity()
        lanes = Signal(range(config.lanes + 1))
        written = Signal(range(beat + 1))
        beats = Signal(2)
        m.d.sync += [
            lanes.eq(ones(self.active)),
            written.eq(ones(self.strobe)),
            beats.eq(self.listed + self.loaded.any()),
        ]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(self.active.any()),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        count(m, self, "cycles", self.running)
        count(m, self, "operations", self.executed)
        count(m, self, "bytes_read", beats * beat)
        count(m, self, "bytes_written", written)
        counted = {"bytes_list": self.listed}
        counted |= {f"bytes_{name}": self.loaded[n] for n, name in enumerate(MEMORIES)}
        for name, bit in counted.items():
            new = Signal(name=f"new_{name}")
            m.d.sync += new.eq(bit)
            count(m, self, name, new * beat)
        count(m, self, "element_cycles", lanes * (ROWS * COLS))
        for n, name in enumerate(WAITS):
            count(m, self, f"wait_{name}", self.waits[n])
        return m
