"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..channels.lane_rows import lane_channel
from ..channels.register_checks import breaks
from ..job.states import (
    CODE_BITS,
    control_members,
    first_failure,
    first_wrong,
    run_states,
)
from ..spec.job_registers import Check
from ..spec.matraptor import MatRaptorConfig
from ..spec.matraptor_registers import (
    ARRAYS,
    ERRORS,
    checks,
    job_members,
    limits,
    register_map,
)
from .layouts import job_layout, row_layout
from .row_counts import LaneRows

__all__ = ["Control", "failure_layout"]

_WIDTHS = {"mode": 1, **dict.fromkeys(ARRAYS, 64)}


def failure_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Why a lane cannot go on: ``code`` (0: it can), and the ``address`` on the bus or the ``row``,
    whichever belongs to the code."""
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
                **{name: In(_WIDTHS.get(name, 32)) for name in job_members(config)},
                **control_members(),
                "failures": In(data.ArrayLayout(failure_layout(config), config.lanes)),
                "write_error": In(1),
                "write_address": In(config.addr_bits),
                "job": Out(job_layout(config)),
                "lane_rows": Out(data.ArrayLayout(32, config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.lane_counts = rows = LaneRows(config.lanes)
        wrong = first_wrong(m, register_map(config), checks(config), ERRORS, self._breaks)
        failed = self._failure(m)
        states = run_states(m, self, wrong, failed, rows.ready, registered=True)
        m.d.comb += [
            rows.start.eq(states.taken),
            rows.rows.eq(self.rows),
            self.lane_rows.eq(rows.counts),
        ]
        with m.If(states.taken):
            m.d.sync += [self.job[name].eq(getattr(self, name)) for name in job_members(config)]
        return m

    def _breaks(self, check: Check) -> Value:
        """Limits differ by mode, and in one of them columns do not count."""
        config = self._config
        register: Value = getattr(self, check.register.lower())
        broken = [
            breaks(
                check,
                register,
                layout=config.layout,
                limits=limits(config, outer=outer),
                addr_bits=config.addr_bits,
            )
            for outer in (False, True)
            if outer or check.register != "COLUMNS"
        ]
        if not config.outer_product:
            return broken[0]
        return Mux(self.mode, broken[-1], broken[0] if len(broken) > 1 else 0)

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
        channel = lane_channel(config.lane_map, lane, row)
        detail = Mux(on_bus, addresses[lane], row.index * config.channels + channel)
        write = (self.write_error, ERRORS["bus_write"], self.write_address)
        # A lane's code is not known beforehand.
        found_code, found_detail = first_failure(m, "bus", [write])
        with m.If(code != 0):
            m.d.comb += [found_code.eq(code), found_detail.eq(detail)]
        return found_code, found_detail
