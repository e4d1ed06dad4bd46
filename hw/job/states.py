"""States of a job, in any accelerator with job registers."""

from __future__ import annotations

import types
from collections.abc import Iterable
from functools import cache
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Member, Out

from ..spec.registers.job_spec import JobSpec

__all__ = [
    "CODE_BITS",
    "DETAIL_BITS",
    "JobStates",
    "code_shape",
    "connect_control",
    "control_members",
    "first_failure",
    "run_states",
]

CODE_BITS = 8
DETAIL_BITS = 64

_INPUTS = ("start", "soft_reset", "finished", "quiet")
_OUTPUTS = ("taken", "go", "stop", "busy", "done", "error")


@cache
def _codes(members: tuple[tuple[str, int], ...]) -> type[enum.IntEnum]:
    return types.new_class(
        "Code", (enum.IntEnum,), {"shape": CODE_BITS}, lambda names: names.update(members)
    )


def code_shape(spec: JobSpec) -> type[enum.IntEnum]:
    """The shape of an error's code (``NONE``, 0: no error); such a signal is a plain value."""
    return _codes((("NONE", 0), *((error.name.upper(), error.code) for error in spec.errors)))


def control_members(spec: JobSpec) -> dict[str, Member]:
    """Ports of every accelerator's control: the job's registers, by their members' names, and the
    outputs of :class:`JobStates`."""
    return {
        **{name: In(field.width) for name, field in spec.members.items()},
        **_members(code_shape(spec)),
    }


def _members(codes: Any) -> dict[str, Member]:
    return {
        **{name: In(1) for name in _INPUTS},
        **{name: Out(1) for name in _OUTPUTS},
        "code": Out(codes),
        "detail": Out(DETAIL_BITS),
    }


class JobStates(wiring.Component):
    """State machine of a job: idle, check, run, stop.

    A job that fails its check ends there. One that meets an error, or a soft reset, is stopped;
    when all is quiet, idle follows. A soft reset ends a job without ``done`` and without
    ``error``. A start while busy is ignored.

    Parameters
    ----------
    codes: the shape of a code, see :func:`code_shape`
    wrong_bits, failed_bits: widths of the two details

    Members
    -------
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    wrong_code, wrong_detail: of the check that the job registers fail, now; code 0: none
    prepared: the job may begin; sampled in the cycles after ``taken``
    failed: the running job cannot go on; failed_code (not 0), failed_detail: why. Held until
        ``stop``
    finished: the running job has reached its end
    quiet: nothing is in flight
    taken: pulse: a job is accepted, and will be checked; ``busy`` rises in the next cycle, in which
        what is left of the former job has to be gone
    go: pulse: begin
    stop: level: begin nothing more, drop all
    busy; done, error: pulses, in the last cycle of ``busy``
    code, detail: why the last job failed; 0 while busy, so they appear when ``error`` is set
    """

    def __init__(
        self,
        codes: type[enum.IntEnum],
        *,
        wrong_bits: int = DETAIL_BITS,
        failed_bits: int = DETAIL_BITS,
    ) -> None:
        self._codes = codes
        details = {"wrong": wrong_bits, "failed": failed_bits}
        self._detail_bits = max(details.values())
        super().__init__(
            {
                **_members(codes),
                "prepared": In(1),
                "failed": In(1),
                **{f"{cause}_code": In(codes) for cause in details},
                **{f"{cause}_detail": In(bits) for cause, bits in details.items()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        code = Signal(self._codes, name="failure_code")
        detail = Signal(self._detail_bits, name="failure_detail")
        m.d.comb += self.busy.eq(1)
        with m.If(~self.busy):
            m.d.comb += [self.code.eq(code), self.detail.eq(detail)]
        with m.FSM(name="job"):
            with m.State("idle"):
                m.d.comb += self.busy.eq(0)
                with m.If(self.start & ~self.soft_reset):
                    m.d.comb += self.taken.eq(1)
                    m.d.sync += [code.eq(self.wrong_code), detail.eq(self.wrong_detail)]
                    m.next = "check"
            with m.State("check"):
                # The code is that of this job's check.
                with m.If(self.soft_reset):
                    m.d.sync += [code.eq(0), detail.eq(0)]
                    m.next = "idle"
                with m.Elif(code != 0):
                    m.d.comb += self.error.eq(1)
                    m.next = "idle"
                with m.Elif(self.prepared):
                    m.d.comb += self.go.eq(1)
                    m.next = "run"
            with m.State("run"):
                with m.If(self.soft_reset):
                    m.next = "stop"
                with m.Elif(self.failed):
                    m.d.sync += [code.eq(self.failed_code), detail.eq(self.failed_detail)]
                    m.next = "stop"
                with m.Elif(self.finished):
                    m.d.comb += self.done.eq(1)
                    m.next = "idle"
            with m.State("stop"):
                m.d.comb += self.stop.eq(1)
                with m.If(self.soft_reset):
                    m.d.sync += [code.eq(0), detail.eq(0)]
                with m.If(self.quiet):
                    m.d.comb += self.error.eq((code != 0) & ~self.soft_reset)
                    m.next = "idle"
        return m


_CHAIN = 16
"""Causes that are looked at one after the other; more go in groups, whose firsts are."""


def first_failure(
    m: Module, spec: JobSpec, name: str, causes: Iterable[tuple[Value, Value | int, Value | int]]
) -> tuple[Signal, Signal]:
    """The code (0: none) and the detail of the first cause that holds.

    Parameters
    ----------
    spec: has the codes
    name: of the two signals, before ``_code`` and ``_detail``
    causes: whether each holds, its code and its detail
    """
    chain = list(causes)
    details = [Value.cast(its_detail) for _, _, its_detail in chain]
    code = Signal(code_shape(spec), name=f"{name}_code")
    detail = Signal(max(1, *map(len, details)), name=f"{name}_detail")
    if len(chain) > _CHAIN:
        groups = [chain[first : first + _CHAIN] for first in range(0, len(chain), _CHAIN)]
        firsts = [first_failure(m, spec, f"{name}_{n}", group) for n, group in enumerate(groups)]
        chain = [(its_code != 0, its_code, its_detail) for its_code, its_detail in firsts]
    for holds, its_code, its_detail in reversed(chain):
        with m.If(holds):
            m.d.comb += [code.eq(its_code), detail.eq(its_detail)]
    return code, detail


def run_states(
    m: Module,
    control: Any,
    wrong: tuple[Value, Value],
    failed: tuple[Value, Value],
    prepared: Value | int = 1,
    *,
    registered: bool = False,
) -> JobStates:
    """Puts the states into a control that has their members (:func:`control_members`).

    Parameters
    ----------
    wrong: code and detail of the check that the job registers fail
    failed: code and detail of what happened to the running job
    prepared: see :class:`JobStates`
    registered: look at failures and at the end a cycle later, in which they are on their way
    """
    m.submodules.states = states = JobStates(
        control.signature.members["code"].shape,
        wrong_bits=len(Value.cast(wrong[1])),
        failed_bits=len(Value.cast(failed[1])),
    )
    finished = control.finished
    if registered:
        # An end that comes with an error comes no sooner; that of the job before is none.
        finished = Signal()
        m.d.sync += finished.eq(control.finished & ~states.go)
    domain = m.d.sync if registered else m.d.comb
    domain += [
        states.failed.eq(failed[0] != 0),
        states.failed_code.eq(failed[0]),
        states.failed_detail.eq(failed[1]),
    ]
    m.d.comb += [
        states.start.eq(control.start),
        states.soft_reset.eq(control.soft_reset),
        states.wrong_code.eq(wrong[0]),
        states.wrong_detail.eq(wrong[1]),
        states.prepared.eq(prepared),
        states.finished.eq(finished),
        states.quiet.eq(control.quiet),
    ]
    for name in (*_OUTPUTS, "code", "detail"):
        m.d.comb += getattr(control, name).eq(getattr(states, name))
    return states


def connect_control(m: Module, registers: Any, control: Any, irq: Value) -> None:
    """Connects the fields of CTRL, STATUS and ERROR_DETAIL, and the interrupt.

    An accepted start clears done and error: they are low when busy rises. The interrupt falls
    a cycle before, in the first one of the response to the start, so that nobody who waits for that
    response sees the former job's.

    Parameters
    ----------
    registers: an ``AxiLiteRegisters`` with those of a ``JobSpec``
    control: a component with the members of :class:`JobStates` of these names
    """
    ended = registers.status_done | registers.status_error
    m.d.comb += [
        control.start.eq(registers.ctrl_start),
        control.soft_reset.eq(registers.ctrl_soft_reset),
        registers.status_busy.eq(control.busy),
        registers.status_done_set.eq(control.done),
        registers.status_done_clear.eq(control.taken),
        registers.status_error_set.eq(control.error),
        registers.status_error_clear.eq(control.taken),
        registers.status_error_code.eq(control.code),
        registers.error_detail.eq(control.detail),
        irq.eq(registers.ctrl_irq_enable & ended & ~control.taken),
    ]
