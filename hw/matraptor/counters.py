"""Counts the events of all lanes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from ..axi.read_cache import EVENTS as CACHE_EVENTS
from ..job.activity import Activity, count, counter_members, ones
from ..spec.c2sr import PAIR_BYTES
from ..spec.jobs.matraptor import job_spec
from ..spec.matraptor import READS, MatRaptorConfig
from ..spec.registers.register_map import COUNTER_BITS

__all__ = ["EVENTS", "Counters"]

EVENTS = ("multiplied", "merge_step", "stored_row", "stored_entry", *READS)
"""Events of a lane in a cycle; an event of a read array is one beat."""
CACHED = {
    "cache_hits": "hit",
    "cache_misses": "miss",
    "cache_merged": "merged",
    "cache_evictions": "eviction",
}
"""Counters of the cache of B, and the event of a channel's part of it that each counts."""


def _cached_layout(config: MatRaptorConfig) -> data.StructLayout:
    return data.StructLayout(dict.fromkeys(CACHE_EVENTS, config.channels))


class Counters(wiring.Component):
    """Counters of the register map; they keep their values after a job.

    An event is counted three cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    clear: pulse: a job is accepted
    running: a job runs
    the members of ``EVENTS``: of each lane, whether it happens
    waiting: requests that wait for another lane's
    cached: with a cache of B, of each channel the events of its part, see ``CACHED``
    and the counters, outputs
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running")},
                **{name: In(config.lanes) for name in EVENTS},
                # Not to be taken for the counter of that name.
                "waiting": In(range(config.read_ports + 1)),
                **counter_members(job_spec(config)),
                **({"cached": In(_cached_layout(config))} if config.cache_bytes else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.activity = activity = Activity()
        # Lanes know late what happens, some only by a `ready` of the bus.
        before = {}
        for name in EVENTS:
            before[name] = Signal(config.lanes, name=f"{name}_before")
            m.d.sync += before[name].eq(getattr(self, name))
        multiplied = before["multiplied"]
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(multiplied.any()),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        new = {}
        for name in EVENTS:
            new[name] = Signal(range(config.lanes + 1), name=f"new_{name}")
            m.d.sync += new[name].eq(ones(before[name]))
        pairs = new["stored_row"] * PAIR_BYTES
        entries = new["stored_entry"] * config.layout.entry_bytes
        read = {name: new[name] * config.beat_bytes for name in READS}
        count(m, self, "cycles", self.running)
        count(m, self, "operations", new["multiplied"])
        over_bus = list(read.values())
        if config.cache_bytes:
            blocks = self._count_cached(m) * config.interleave
            over_bus = [blocks, *(size for name, size in read.items() if name.startswith("a_"))]
        count(m, self, "bytes_read", sum(over_bus))
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

    def _count_cached(self, m: Module) -> Value:
        """Events of the cache's parts; they are known late, as those of lanes. Returns the new
        misses, each of which reads a block."""
        before = Signal.like(self.cached, name="cached_before")
        m.d.sync += before.eq(self.cached)
        for name, event in CACHED.items():
            new = Signal(range(self._config.channels + 1), name=f"new_{name}")
            m.d.sync += new.eq(ones(before[event]))
            count(m, self, name, new)
            if event == "miss":
                misses = new
        return misses

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
