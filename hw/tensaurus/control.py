"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.jobs.tensaurus import job_spec
from ..spec.tensaurus import READS, TensaurusConfig
from .layouts import job_layout

__all__ = ["STREAM_ERRORS", "Control"]

STREAM_ERRORS = ("index", "slice", "stream")
"""What may be wrong with the entry of a stream."""


class Control(wiring.Component):
    """The state of the accelerator, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/tensaurus.py``.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error: of each reader, in the order of ``READS``; ``<name>_address``: where
    write_error, write_address: the same of the writer
    tile_error, tile: of the list of tiles; which
    index_error, slice_error, stream_error: of a stream; ``entry`` of tile ``entry_tile``
    ready: a job may begin
    finished: the output is in memory, and nothing is under way
    quiet: nothing is under way on the bus
    job: the job at hand, constant while it runs
    running: the job has begun and has not ended
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`

    Errors are held until ``stop``.
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        self._spec = job_spec(config)
        address = config.addr_bits
        super().__init__(
            {
                **control_members(self._spec),
                "read_error": In(len(READS)),
                **{f"{name}_address": In(address) for name in (*READS, "write")},
                "write_error": In(1),
                **{f"{name}_error": In(1) for name in ("tile", *STREAM_ERRORS)},
                **{name: In(32) for name in ("tile", "entry", "entry_tile")},
                "ready": In(1),
                "job": Out(job_layout(config)),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wrong = first_broken(m, self._spec, self)
        failed = self._failure(m)
        states = run_states(m, self, wrong, failed, self.ready, registered=True)
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in self._spec.members]
        begun = Signal()
        m.d.comb += self.running.eq(states.go | begun)
        m.d.sync += begun.eq(self.running & states.busy & ~states.done)
        return m

    def _failure(self, m: Module) -> tuple[Value, Value]:
        """The code (0: none) and the detail of the first thing that went wrong."""
        code = self._spec.code
        entry = Cat(self.entry, self.entry_tile)
        return first_failure(
            m,
            self._spec,
            "failure",
            [
                *(
                    (self.read_error[n], code("bus_read"), getattr(self, f"{name}_address"))
                    for n, name in enumerate(READS)
                ),
                (self.write_error, code("bus_write"), self.write_address),
                (self.tile_error, code("tile"), self.tile),
                *((getattr(self, f"{name}_error"), code(name), entry) for name in STREAM_ERRORS),
            ],
        )
