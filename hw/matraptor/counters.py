"""What is counted while a job runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from ..job.activity import Activity, count, counter_members, ones
from ..spec.c2sr import PAIR_BYTES
from ..spec.jobs.matraptor import job_spec
from ..spec.matraptor import READS, MatRaptorConfig
from ..spec.registers.register_rows import COUNTER_BITS

__all__ = ["EVENTS", "Counters"]

EVENTS = ("multiplied", "merge_step", "stored_row", "stored_entry", *READS)
"""What may happen in a lane in a cycle; of what is read, a beat."""


class Counters(wiring.Component):
    """The counters of the register map; they keep their values after a job.

    An event is counted three cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    the members of ``EVENTS``: of each lane, whether it happens
    conflicts: requests that wait for another lane's
    and the counters, outputs
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running")},
                **{name: In(config.lanes) for name in EVENTS},
                # Not to be taken for the counter of that name.
                "waiting": In(range(config.lanes + 1)),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.activity = activity = Activity()
        # Lanes know late whether a product is taken.
        multiplied = Signal(config.lanes, name="multiplied_before")
        m.d.sync += multiplied.eq(self.multiplied)
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(multiplied.any()),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        new = {}
        for name in EVENTS:
            new[name] = Signal(range(config.lanes + 1), name=f"new_{name}")
            m.d.sync += new[name].eq(ones(getattr(self, name)))
        pairs = new["stored_row"] * PAIR_BYTES
        entries = new["stored_entry"] * config.layout.entry_bytes
        read = {name: new[name] * config.beat_bytes for name in READS}
        count(m, self, "cycles", self.running)
        count(m, self, "operations", new["multiplied"])
        count(m, self, "bytes_read", sum(read.values()))
        count(m, self, "bytes_written", pairs + entries)
        for name in READS:
            count(m, self, f"bytes_{name}", read[name])
        count(m, self, "bytes_c_pairs", pairs)
        count(m, self, "bytes_c_entries", entries)
        count(m, self, "conflicts", self.waiting)
        count(m, self, "merge_steps", new["merge_step"])
        count(m, self, "results", new["stored_entry"])
        self._balance(m, multiplied)
        return m

    def _balance(self, m: Module, multiplied: Value) -> None:
        """Products of the busiest lane and of the least busy one.

        The greatest of counts that grow by one grows if one of the greatest does; the least, if all
        of the least do.
        """
        lanes = self._config.lanes
        counts = Signal(data.ArrayLayout(COUNTER_BITS, lanes), name="lane_products")
        grows = [multiplied[lane] for lane in range(lanes)]
        leads = [counts[lane] == self.lane_busy_max for lane in range(lanes)]
        trails = [counts[lane] == self.lane_busy_min for lane in range(lanes)]
        pairs = list(zip(grows, leads, trails, strict=True))
        m.d.sync += [counts[lane].eq(counts[lane] + grows[lane]) for lane in range(lanes)]
        count(m, self, "lane_busy_max", Cat(grow & lead for grow, lead, _ in pairs).any())
        count(m, self, "lane_busy_min", Cat(grow | ~trail for grow, _, trail in pairs).all())
        with m.If(self.clear):
            m.d.sync += counts.eq(0)
