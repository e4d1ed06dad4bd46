"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..job.checks import first_broken
from ..job.states import control_members, first_failure, run_states
from ..spec.engine import OPERANDS, SIZE_BITS, EngineConfig
from ..spec.jobs.engine import job_spec
from .layouts import Sizes, job_layout, log2

__all__ = ["JobControl"]


class JobControl(wiring.Component):
    """Controls the state of the engine, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/engine.py``. After a bus error or a soft reset no operation
    starts, and when the bus is quiet and the unit empty the engine is idle.

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error, read_address, write_error, write_address: of the bus, held until ``stop``
    finished: every byte of D is stored and answered for
    quiet: nothing is in flight in the bus or the unit
    job: the current job, constant while it runs
    taken: pulse: a job is accepted, and will be checked
    go: pulse: begin
    stop: level: begin nothing more, drop all
    busy; done, error: pulses; code, detail: why the last job failed
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._layout = job_layout(config)
        super().__init__(
            {
                **control_members(job_spec(config)),
                "read_error": In(1),
                "write_error": In(1),
                "read_address": In(config.addr_bits),
                "write_address": In(config.addr_bits),
                "job": Out(self._layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = job_spec(self._config)
        wrong = first_broken(m, spec, self)
        failures = (
            (self.read_error, spec.code("bus_read"), self.read_address),
            (self.write_error, spec.code("bus_write"), self.write_address),
        )
        states = run_states(m, self, wrong, first_failure(m, spec, "bus", failures))
        with m.If(states.taken):
            self._take(m)
        return m

    def _take(self, m: Module) -> None:
        """Latches the registers; the meaning of the opcode becomes one bit for each choice."""
        config, job = self._config, self.job
        operations = config.unit.operations.values()
        lanes = {op.opcode: op.operand_bits // config.unit.lane_bits for op in operations}
        widths = {op.opcode: op.result_bits for op in operations}
        element = [self._is_any(lanes, n) for n in config.element_lanes]
        result = [self._is_any(widths, n) for n in config.result_widths]
        k1: Value = Const(0)
        for chosen, count in zip(element, config.element_lanes, strict=True):
            in_lanes = self.k[:SIZE_BITS].shift_left(log2(count))
            k1 = k1 | Mux(chosen, in_lanes - 1, 0)[: Sizes(config).k_bits]
        m.d.sync += [
            job.op.eq(self.op),
            job.transposed_b.eq(self.flags_transposed_b),
            job.use_c.eq(self.flags_use_c),
            job.m1.eq(self.m - 1),
            job.n1.eq(self.n - 1),
            job.k1.eq(k1),
            job.element.eq(Cat(element)),
            job.result.eq(Cat(result)),
        ]
        for operand in OPERANDS:
            for name in (f"{operand}_base", f"{operand}_stride"):
                m.d.sync += job[name].eq(getattr(self, name))

    def _is_any(self, of: dict[int, int], value: int) -> Value:
        """Returns whether OP is an opcode with a property."""
        matches = [self.op == opcode for opcode, its in of.items() if its == value]
        return reduce(or_, matches)
