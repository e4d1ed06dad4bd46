"""Takes the converter's jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..axi.job_control import CODE_BITS, DETAIL_BITS, JobStates, first_failure
from ..spec.c2sr_converter import C2srConverterConfig
from ..spec.c2sr_converter_registers import BASES, CHECKS, ERRORS, JOB, limits, register_map
from ..spec.matraptor_registers import Check
from .converter_layouts import converter_job_layout

__all__ = ["FAILURES", "ConverterControl"]

FAILURES = ("bus_read", "bus_write", "unsorted", "region")
"""What may happen to a job that runs; the first one is reported."""

_INPUTS = ("start", "soft_reset", "finished", "quiet")
_OUTPUTS = ("taken", "go", "stop", "busy", "done", "error")
_WIDTHS = {"mode": 1, "rows": 32, "capacity": 32, **dict.fromkeys(BASES, 64)}


class ConverterControl(wiring.Component):
    """The state of the converter, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    ``CHECKS`` of ``hw/spec/c2sr_converter_registers.py``.

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    the members of ``FAILURES``: each with ``_detail``, held until ``stop``
    finished: all is written, and nothing is under way
    quiet: nothing is under way on the bus
    job: the job at hand, constant while it runs
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(_WIDTHS[name]) for name in JOB},
                **{name: In(1) for name in (*_INPUTS, *FAILURES)},
                **{f"{name}_detail": In(DETAIL_BITS) for name in FAILURES},
                "job": Out(converter_job_layout(config)),
                **{name: Out(1) for name in _OUTPUTS},
                "code": Out(CODE_BITS),
                "detail": Out(DETAIL_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.states = states = JobStates()
        registers = register_map(self._config)
        checks = [
            (self._fails(check), ERRORS[check.error], registers[check.register].offset)
            for check in CHECKS
        ]
        wrong_code, wrong_detail = first_failure(m, "wrong", checks)
        failures = [
            (getattr(self, name), ERRORS[name], getattr(self, f"{name}_detail"))
            for name in FAILURES
        ]
        failed_code, failed_detail = first_failure(m, "failing", failures)
        finished = Signal()
        m.d.sync += [
            # An end that comes with an error comes no sooner; that of the job before is none.
            finished.eq(self.finished & ~states.go),
            states.failed.eq(failed_code != 0),
            states.failed_code.eq(failed_code),
            states.failed_detail.eq(failed_detail),
        ]
        m.d.comb += [
            states.start.eq(self.start),
            states.soft_reset.eq(self.soft_reset),
            states.wrong_code.eq(wrong_code),
            states.wrong_detail.eq(wrong_detail),
            states.prepared.eq(1),
            states.finished.eq(finished),
            states.quiet.eq(self.quiet),
        ]
        for name in (*_OUTPUTS, "code", "detail"):
            m.d.comb += getattr(self, name).eq(getattr(states, name))
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in JOB]
        return m

    def _fails(self, check: Check) -> Value:
        register: Value = getattr(self, check.register.lower())
        config = self._config
        if check.error == "zero_size":
            return register == 0
        if check.error == "size_limit":
            most = limits(config)[check.register]
            return register > most if most < (1 << 32) - 1 else Const(0)
        if check.error == "misaligned_base":
            return register[: config.interleave.bit_length() - 1].any()
        return register[config.addr_bits :].any() if config.addr_bits < 64 else Const(0)
