"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..axi.job_control import CODE_BITS, DETAIL_BITS, JobStates, first_failure
from ..spec.matraptor import MatRaptorConfig
from ..spec.matraptor_registers import ARRAYS, CHECKS, ERRORS, JOB, Check, limits, register_map
from .lane_rows import LaneRows
from .layouts import job_layout, row_layout

__all__ = ["Control", "failure_layout"]

_INPUTS = ("start", "soft_reset", "finished", "quiet")
_OUTPUTS = ("taken", "go", "stop", "busy", "done", "error")


def failure_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Why a lane cannot go on: ``code`` (0: it can), and the ``address`` on the bus or the ``row``
    of C, whichever belongs to the code."""
    return data.StructLayout(
        {"code": CODE_BITS, "address": config.addr_bits, "row": row_layout(config)}
    )


class Control(wiring.Component):
    """The state of the accelerator, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    ``CHECKS`` of ``hw/spec/matraptor_registers.py``.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    failures: of each lane, see :func:`failure_layout`; held until ``stop``
    write_error, write_address: of the bus, held until ``stop``
    finished: all lanes have written their rows, and nothing is under way
    quiet: nothing is under way on the bus
    job: the job at hand, constant while it runs
    lane_rows: how many rows of it each lane has
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                **{name: In(64 if name in ARRAYS else 32) for name in JOB},
                **{name: In(1) for name in _INPUTS},
                "failures": In(data.ArrayLayout(failure_layout(config), config.lanes)),
                "write_error": In(1),
                "write_address": In(config.addr_bits),
                "job": Out(job_layout(config)),
                "lane_rows": Out(data.ArrayLayout(32, config.lanes)),
                **{name: Out(1) for name in _OUTPUTS},
                "code": Out(CODE_BITS),
                "detail": Out(DETAIL_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.states = states = JobStates()
        m.submodules.rows = rows = LaneRows(self._config.lanes)
        wrong_code, wrong_detail = self._check(m)
        failed_code, failed_detail = self._failure(m)
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
            states.prepared.eq(rows.ready),
            states.finished.eq(finished),
            states.quiet.eq(self.quiet),
            rows.start.eq(states.taken),
            rows.rows.eq(self.rows),
            self.lane_rows.eq(rows.counts),
        ]
        for name in (*_OUTPUTS, "code", "detail"):
            m.d.comb += getattr(self, name).eq(getattr(states, name))
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in JOB]
        return m

    def _check(self, m: Module) -> tuple[Value, Value]:
        """The code (0: none) and the detail of the first check that the registers fail."""
        registers = register_map(self._config)
        causes = [
            (self._fails(check), ERRORS[check.error], registers[check.register].offset)
            for check in CHECKS
        ]
        return first_failure(m, "wrong", causes)

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
        if check.error == "misaligned_capacity":
            return register[: config.layout.block_entries.bit_length() - 1].any()
        return register[config.addr_bits :].any() if config.addr_bits < 64 else Const(0)

    def _failure(self, m: Module) -> tuple[Value, Value]:
        """The code (0: none) and the detail of the first lane that cannot go on."""
        config = self._config
        lane = Signal(range(max(2, config.lanes)))
        code = Signal(CODE_BITS)
        row = Signal(row_layout(config))
        for number in reversed(range(config.lanes)):
            failure = self.failures[number]
            with m.If(failure.code != 0):
                m.d.comb += [lane.eq(number), code.eq(failure.code), row.eq(failure.row)]
        addresses = Array(failure.address for failure in self.failures)
        on_bus = (code == ERRORS["bus_read"]) | (code == ERRORS["bus_write"])
        channel: Value
        if config.lane_channels > 1:
            channel = lane + config.lanes * row.slot
        else:
            channel = Array(Const(n % config.channels, 4) for n in range(config.lanes))[lane]
        detail = Mux(on_bus, addresses[lane], row.index * config.channels + channel)
        write = (self.write_error, ERRORS["bus_write"], self.write_address)
        # A lane's code is not known beforehand.
        found_code, found_detail = first_failure(m, "bus", [write])
        with m.If(code != 0):
            m.d.comb += [found_code.eq(code), found_detail.eq(detail)]
        return found_code, found_detail
