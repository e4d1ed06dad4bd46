"""What the converter counts while a job runs."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..job.activity import count, counter_members, ones
from ..spec.c2sr import PAIR_BYTES
from ..spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ..spec.jobs.c2sr_converter import job_spec

__all__ = ["ConverterCounters"]


class ConverterCounters(wiring.Component):
    """The counters of the register map; they keep their values after a job.

    Members
    -------
    clear: in, a pulse: a job is taken
    go: in, a pulse: it begins
    mode: in; of the job, constant while it runs
    running: in; a job runs
    beats: in; of each reader, whether a beat has come
    stored_row, stored_entry: in, pulses: a row, an entry was taken
    and the counters, outputs
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        inputs = ("clear", "go", "mode", "running", "stored_row", "stored_entry")
        super().__init__(
            {
                **{name: In(1) for name in inputs},
                "beats": In(2),
                **counter_members(job_spec(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        index_bytes = Signal(range(PAIR_BYTES + 1))
        entry_bytes = Mux(self.stored_entry, config.layout.entry_bytes, 0)
        m.d.comb += index_bytes.eq(
            Mux(
                self.mode,
                # One pointer more than rows.
                Mux(self.stored_row | self.go, POINTER_BYTES, 0),
                Mux(self.stored_row, PAIR_BYTES, 0),
            )
        )
        count(m, self, "cycles", self.running)
        count(m, self, "rows_done", self.stored_row)
        count(m, self, "entries", self.stored_entry)
        count(m, self, "bytes_read", ones(self.beats) * config.beat_bytes)
        count(m, self, "bytes_written", index_bytes + entry_bytes)
        return m
