"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...job.checks import first_broken
from ...job.states import code_shape, control_members, first_failure, run_states
from ...spec.gta import GtaConfig
from ...spec.jobs.gta import COMMANDS_BITS, READS, job_spec, mask_registers
from ..layouts import csr_layout
from .layouts import lane_bits
from .region_scan import RegionScan


class MaskCheck(wiring.Component):
    """Checks that the region of each lane's mask is a rectangle.

    The check takes about ``lanes`` squared cycles.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    csr: in; see ``csr_layout``; constant from ``start`` to ``done``
    start: in, a pulse
    done: out; all lanes have been looked at since ``start``, or one is ``wrong``
    wrong: out; ``lane`` is the first whose region is no rectangle
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "start": In(1),
                "done": Out(1),
                "wrong": Out(1),
                "lane": Out(lane_bits(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._config.lanes
        m.submodules.scan = scan = RegionScan(self._config)
        busy = Signal()
        fresh = Signal()
        m.d.comb += [
            scan.csr.eq(self.csr),
            scan.mask.eq(Array(self.csr.masks[n] for n in range(lanes))[self.lane]),
            scan.start.eq(busy & fresh),
            self.done.eq(~busy),
        ]
        with m.If(fresh):
            m.d.sync += fresh.eq(0)
        with m.Elif(busy & scan.done):
            with m.If(~scan.rectangle):
                m.d.sync += [self.wrong.eq(1), busy.eq(0)]
            with m.Elif(self.lane == lanes - 1):
                m.d.sync += busy.eq(0)
            with m.Else():
                m.d.sync += [self.lane.eq(self.lane + 1), fresh.eq(1)]
        with m.If(self.start):
            m.d.sync += [self.lane.eq(0), self.wrong.eq(0), busy.eq(1), fresh.eq(1)]
        return m


__all__ = ["JobControl"]


class JobControl(wiring.Component):
    """Controls a job: its state, see :class:`JobStates`, and the arrangement of lanes.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/gta.py``; that masks are rectangles takes ``lanes`` squared cycles more.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    read_error: of each reader, in the order of ``READS``; ``<name>_address``: where
    write_error, write_address: the same of the writer
    command_wrong: the code of what is wrong with command ``command``; 0: nothing
    finished: all commands are complete, and nothing is under way
    quiet: nothing is under way on the bus or in the lanes
    list, commands, csr: of the job at hand, constant while it runs
    running: the job has begun and has not ended
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`

    Errors are held until ``stop``.
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        self._spec = job_spec(config)
        address = config.addr_bits
        super().__init__(
            {
                **control_members(self._spec),
                "read_error": In(len(READS)),
                **{f"{name}_address": In(address) for name in (*READS, "write")},
                "write_error": In(1),
                "command_wrong": In(code_shape(self._spec)),
                "command": In(COMMANDS_BITS),
                "job_list": Out(address),
                "job_commands": Out(COMMANDS_BITS),
                "csr": Out(csr_layout(config)),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spec = self._spec
        m.submodules.masks = masks = MaskCheck(self._config)
        m.d.comb += [masks.csr.eq(self.csr), masks.start.eq(self.taken)]
        wrong = first_broken(m, spec, self)
        causes = [
            (masks.wrong, spec.code("masks"), masks.lane),
            *(
                (self.read_error[n], spec.code("bus_read"), getattr(self, f"{name}_address"))
                for n, name in enumerate(READS)
            ),
            (self.write_error, spec.code("bus_write"), self.write_address),
            (self.command_wrong != 0, self.command_wrong, self.command),
        ]
        failed = first_failure(m, spec, "failure", causes)
        states = run_states(m, self, wrong, failed, masks.done, registered=True)
        with m.If(states.taken):
            m.d.sync += [
                self.job_list.eq(self.list),
                self.job_commands.eq(self.commands),
                self.csr.layout.eq(self.layout),
            ]
            for register in mask_registers(self._config):
                for field in register.fields:
                    lane = int(field.name.removeprefix("lane_"))
                    m.d.sync += self.csr.masks[lane].eq(getattr(self, register.member(field)))
        begun = Signal()
        m.d.comb += self.running.eq(states.go | begun)
        m.d.sync += begun.eq(self.running & states.busy & ~states.done)
        return m
