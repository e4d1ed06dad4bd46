"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.burst_reader import BurstReader
from ...axi.layouts import Supervision, address_layout, beat_layout, supervise
from ...job.checks import first_broken
from ...job.states import code_shape, control_members, first_failure, run_states
from ...spec.gta import GtaConfig
from ...spec.jobs.gta import (
    COMMANDS_BITS,
    LIST_BURST_BYTES,
    LIST_BURSTS,
    READS,
    beat_bytes,
    burst_beats,
    job_spec,
    mask_registers,
)
from ...spec.jobs.gta_commands import COMMAND_BYTES
from ...stream.gearbox import Gearbox
from ...stream.ring import moved_count
from ..layouts import csr_layout
from .layouts import lane_bits
from .region_scan import RegionScan


class CommandReader(wiring.Component):
    """Reads ahead, some hundred bytes, and offers commands one after the other.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    list, commands: in; address of the list, and how many, constant from ``start`` on
    start: in, a pulse when ``idle``
    o: commands as they are in memory
    ar, r: the bus
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all commands were taken
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "list": In(config.addr_bits),
                "commands": In(COMMANDS_BITS),
                "start": In(1),
                "o": Out(stream.Signature(8 * COMMAND_BYTES)),
                "ar": Out(stream.Signature(address_layout(config.addr_bits))),
                "r": In(stream.Signature(beat_layout(config.data_bits), always_ready=True)),
                **Supervision(config.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, beat = self._config, beat_bytes(self._config)
        each = COMMAND_BYTES // beat
        burst = min(LIST_BURST_BYTES // beat, burst_beats(config))
        m.submodules.reader = reader = BurstReader(
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            outstanding=LIST_BURSTS,
            count_bits=COMMANDS_BITS + each.bit_length() - 1,
            burst_beats=burst,
            buffer_beats=LIST_BURSTS * burst,
        )
        m.submodules.words = words = Gearbox(beat, (COMMAND_BYTES,), COMMANDS_BITS)
        asks = Signal()
        cuts = Signal()
        left = Signal(COMMANDS_BITS)
        m.d.comb += [
            reader.request.valid.eq(asks),
            reader.request.payload.address.eq(self.list),
            reader.request.payload.beats.eq(self.commands * each),
            words.request.valid.eq(cuts),
            words.request.payload.count.eq(self.commands),
            words.clear.eq(self.stop),
            words.lines.valid.eq(reader.o.valid),
            words.lines.payload.eq(reader.o.payload.data),
            reader.o.ready.eq(words.lines.ready),
            self.o.valid.eq(words.o.valid),
            self.o.payload.eq(words.o.payload.data),
            words.o.ready.eq(self.o.ready),
        ]
        with m.If(self.start):
            m.d.sync += [asks.eq(1), cuts.eq(1), left.eq(self.commands)]
        with m.Else():
            with m.If(reader.request.ready):
                m.d.sync += asks.eq(0)
            with m.If(words.request.ready):
                m.d.sync += cuts.eq(0)
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += left.eq(left - 1)
        with m.If(self.stop):
            m.d.sync += [asks.eq(0), cuts.eq(0), left.eq(0)]
        wiring.connect(m, reader.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), reader.r)
        supervise(m, self, [reader], busy=left != 0)
        return m


class ExecutesUnderWay(wiring.Component):
    """Notes which groups were given a product, in order, and takes note of their ends.

    Groups end in any order; one is complete when all before it are. Twice as many as there are
    lanes may be under way.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    i: the group of a product that begins
    ended: in; a bit for each group: a pulse: its oldest product has ended
    completes: out, a pulse: one more is complete
    complete: out; how many are
    active: out; a bit for each lane, whose mask is in ``masks``: its group has a product
    masks: in
    some: out; there is one
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        self._most = max(4, 2 * config.lanes)
        super().__init__(
            {
                "i": In(stream.Signature(config.mask_bits)),
                "ended": In(1 << config.mask_bits),
                "completes": Out(1),
                "complete": Out(COMMANDS_BITS),
                "masks": In(config.mask_bits).array(config.lanes),
                "active": Out(config.lanes),
                "some": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most, bits = self._most, self._config.mask_bits
        # The oldest one is the first; what has ended waits there for those before it.
        groups = Array(Signal(bits, name=f"group_{n}", reset_less=True) for n in range(most))
        running = Signal(most)
        level = Signal(range(most + 1))
        left = Signal(most)
        ended = Array(self.ended[n] for n in range(1 << bits))
        for n in range(most):
            older = [running[k] & (groups[k] == groups[n]) for k in range(n)]
            m.d.comb += left[n].eq(running[n] & ~(ended[groups[n]] & ~Cat(older).any()))
        pops = Signal()
        puts = Signal()
        slot = Signal(range(most + 1))
        m.d.comb += [
            self.some.eq(level != 0),
            pops.eq(self.some & ~running[0]),
            self.completes.eq(pops & ~self.clear),
            self.i.ready.eq(level != most),
            puts.eq(self.i.valid & self.i.ready),
            slot.eq(level - pops),
        ]
        m.d.sync += level.eq(moved_count(level, puts, pops))
        after = Signal(most)
        m.d.comb += after.eq(left)
        with m.If(pops):
            m.d.comb += after.eq(left[1:])
            m.d.sync += [groups[n].eq(groups[n + 1]) for n in range(most - 1)]
            m.d.sync += self.complete.eq(self.complete + 1)
        for n in range(most):
            m.d.sync += running[n].eq(after[n])
            with m.If(puts & (slot == n)):
                m.d.sync += [running[n].eq(1), groups[n].eq(self.i.payload)]
        with m.If(self.clear):
            m.d.sync += [running.eq(0), level.eq(0), self.complete.eq(0)]
        for lane in range(self._config.lanes):
            m.d.comb += self.active[lane].eq(self._works(groups, running, self.masks[lane]))
        return m

    @staticmethod
    def _works(groups: Array, running: Value, mask: Value) -> Value:
        return Cat(running[n] & (groups[n] == mask) for n in range(len(running))).any()


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
