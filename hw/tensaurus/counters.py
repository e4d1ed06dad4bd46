"""What is counted while a job runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from ..job.activity import Activity, count, counter_members, ones
from ..spec.jobs.tensaurus import job_spec
from ..spec.tensaurus import READS, TensaurusConfig
from .layouts import ROW_EVENTS

__all__ = ["Counters"]


class Counters(wiring.Component):
    """The counters of the register map; they keep their values after a job.

    An event is counted two cycles after it at the latest.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    clear: pulse: a job is taken
    running: a job runs
    single: of the vectors of a product one value counts
    the members of ``ROW_EVENTS``, with ``_now`` behind them: of each row, whether it happens
    drained: a vector leaves the rows
    sent: bytes of the result that are sent
    read: of each reader, in the order of ``READS``, and channel, whether a beat comes
    and the counters, outputs
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(1) for name in ("clear", "running", "single", "drained")},
                # Not to be taken for the counters of these names.
                **{f"{name}_now": In(config.rows) for name in ROW_EVENTS},
                "sent": In(range(config.line_bytes + 1)),
                "read": In(data.ArrayLayout(config.channels, len(READS))),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.activity = activity = Activity()
        products = Signal(config.rows, name="products_before")
        m.d.sync += products.eq(self.products_now)
        m.d.comb += [
            activity.clear.eq(self.clear),
            activity.active.eq(products.any()),
            self.busy_cycles.eq(activity.busy_cycles),
            self.stalls.eq(activity.stalls),
        ]
        count(m, self, "cycles", self.running)
        for name in ROW_EVENTS:
            new = Signal(range(config.rows + 1), name=f"new_{name}")
            # Rows wait between jobs, too.
            now = getattr(self, f"{name}_now") & self.running.replicate(config.rows)
            m.d.sync += new.eq(ones(now))
            count(m, self, name, new)
            if name == "products":
                each = 2 * new
                count(m, self, "operations", Mux(self.single, each, each * config.unit_values))
        beat_bytes = config.geometry.beat_bytes
        beats = []
        for reader, name in enumerate(READS):
            new = Signal(range(config.channels + 1), name=f"new_{name}")
            m.d.sync += new.eq(ones(self.read[reader]))
            beats.append(new)
            count(m, self, f"bytes_{name}", new * beat_bytes)
        count(m, self, "bytes_read", sum(beats, start=Cat()) * beat_bytes)
        count(m, self, "bytes_written", self.sent)
        count(m, self, "drains", self.drained)
        return m
