"""Counters of events during a job."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from ..job.activity import Activity, count, counter_members, ones
from ..spec.jobs.sida import job_spec
from ..spec.sida import SidaConfig
from .held.layouts import counts_layout
from .vectors.vector_banks import WAYS

__all__ = ["EVENTS", "STREAMS", "Counters"]

STREAMS = ("pointers", "rows", "values", "again", "vectors", "program")
"""Streams that are read, by the counters of their bytes."""

EVENTS = (
    "column_cycles",
    "wait_columns",
    "wait_z",
    "wait_held",
    "lost",
    "instructions",
    "wait_elementwise",
)
"""Counters of cycles in which something happens."""


class Counters(wiring.Component):
    """Counters of the register map; they keep their values after a job.

    An event is counted two cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`SidaConfig`

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    twice: a pass has two products
    set_elements: those that go to the first product in this cycle
    waiting: operands that wait for a bank
    most: elements that waited at most in the pass
    sent: bytes that are sent; sent_windows: where vectors are in memory, those of x, z and w
    the members of ``EVENTS``, with ``_now`` behind them: whether it happens
    read: of each stream, in the order of ``STREAMS``, and channel, whether a beat comes; where
        vectors are in memory, of what is missing of them, too
    done: passes; product: which one ended the job
    and the counters, outputs
    """

    def __init__(self, config: SidaConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "twice")},
                "set_elements": In(config.pes),
                "waiting": In(range(WAYS * config.pes + 1)),
                "most": In(counts_layout(config)["most"].shape),
                "sent": In(range(config.line_bytes + 1)),
                **{f"{name}_now": In(1) for name in EVENTS},
                "read": In(data.ArrayLayout(config.channels, len(STREAMS) + config.windowed)),
                **({"sent_windows": In(range(config.line_bytes + 1))} if config.windowed else {}),
                "done": In(32),
                "product": In(2),
                **counter_members(job_spec(config)),
            }
        )

    @property
    def config(self) -> SidaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.activity = activity = Activity()
        new = Signal(range(config.pes + 1), name="new_elements")
        m.d.sync += new.eq(ones(self.set_elements))
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(new != 0),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
            self.passes_done.eq(self.done),
            self.ended.eq(self.product),
        ]
        count(m, self, "cycles", self.running)
        count(m, self, "elements", new)
        count(m, self, "operations", Mux(self.twice, 4 * new, 2 * new))
        count(m, self, "conflicts", self.waiting)
        for name in EVENTS:
            count(m, self, name, getattr(self, f"{name}_now") & self.running)
        beat_bytes = config.geometry.beat_bytes
        beats = []
        streams = (*STREAMS, "windows_read") if config.windowed else STREAMS
        for stream, name in enumerate(streams):
            came = Signal(range(config.channels + 1), name=f"new_{name}")
            m.d.sync += came.eq(ones(self.read[stream]))
            beats.append(came)
            count(m, self, f"bytes_{name}", came * beat_bytes)
        count(m, self, "bytes_read", sum(beats, start=Cat()) * beat_bytes)
        count(m, self, "bytes_written", self.sent)
        if config.windowed:
            count(m, self, "bytes_windows_written", self.sent_windows)
        with m.If(self.clear):
            m.d.sync += self.held.eq(0)
        with m.Elif(self.most > self.held):
            m.d.sync += self.held.eq(self.most)
        return m
