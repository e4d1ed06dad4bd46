"""The states of a job as software sees them, in every cycle: STATUS, ERROR_DETAIL, interrupt."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.job.states import code_shape, connect_control, control_members, run_states
from tilewright.hw.spec.registers.job_spec import Error, JobSpec
from tilewright.hw.spec.registers.register_map import number
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import simulate

CODES = (1, 2, 3, 0x5A, 0xA5, 0xFF)
SPEC = JobSpec(
    accelerator="none",
    letters=b"NONE",
    version=1,
    constants=(),
    detail="whatever",
    counters={},
    errors=tuple(Error(f"e{code}", code, "row", "") for code in CODES),
    job=(number("SIZE", 0x80, "rw", 32, ""),),
    checks=(),
)
CTRL, STATUS, DETAIL = (SPEC.registers[name] for name in ("CTRL", "STATUS", "ERROR_DETAIL"))
PLACES = (STATUS.offset, DETAIL.offset, DETAIL.offset + 4)

BREAKS = ("done_clear", "error_clear", "irq", "start", "code")
"""Parts that a broken design leaves out or gets wrong."""


class Control(wiring.Component):
    """The states of a job, whose check and whose run do what a bench says."""

    def __init__(self) -> None:
        codes = code_shape(SPEC)
        super().__init__(
            {**control_members(SPEC), "wrong": In(codes), "failed": In(codes), "prepared": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The detail is the code, eight times.
        wrong, failed = (
            (code, Value.cast(code).replicate(8)) for code in (self.wrong, self.failed)
        )
        run_states(m, self, wrong, failed, self.prepared)
        return m


BUS = ("aw", "w", "b", "ar", "r")
GIVEN = ("wrong", "failed", "prepared", "finished", "quiet")


class Controlled(wiring.Component):
    """Registers and states; ``breaks``: what is not as it should be, one of ``BREAKS``."""

    def __init__(self, breaks: str = "") -> None:
        self._breaks = breaks
        self._registers = AxiLiteRegisters(SPEC.registers, SPEC.registers.address_bits)
        self._control = Control()
        super().__init__(
            {
                **{name: self._registers.signature.members[name] for name in BUS},
                **{name: self._control.signature.members[name] for name in (*GIVEN, "busy")},
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers, m.submodules.control = registers, control = (
            self._registers,
            self._control,
        )
        for name in BUS:
            wiring.connect(m, getattr(registers, name), wiring.flipped(getattr(self, name)))
        m.d.comb += [getattr(control, name).eq(getattr(self, name)) for name in GIVEN]
        m.d.comb += self.busy.eq(control.busy)
        connect_control(m, registers, control, self.irq)
        ended = registers.status_done | registers.status_error
        if self._breaks in ("done_clear", "error_clear"):
            m.d.comb += getattr(registers, f"status_{self._breaks}").eq(0)
        elif self._breaks == "irq":
            m.d.comb += self.irq.eq(registers.ctrl_irq_enable & ended)
        elif self._breaks == "start":
            m.d.comb += registers.status_done_clear.eq(registers.ctrl_start)
        elif self._breaks == "code":
            former = Signal(8)
            with m.If(~control.busy):
                m.d.sync += former.eq(control.code)
            m.d.comb += registers.status_error_code.eq(control.code | former)
        return m


RTL = NativeParts("job_states", {"controlled": Controlled})


@dataclass
class Reference:
    """Reference of the state that software must see, cycle by cycle, written from the register
    page."""

    state: str = "idle"
    done: int = 0
    error: int = 0
    failure: int = 0
    enabled: int = 0
    seen: set[str] = field(default_factory=set)

    @property
    def busy(self) -> int:
        return int(self.state != "idle")

    @property
    def status(self) -> int:
        code = 0 if self.busy else self.failure
        return STATUS.put(busy=self.busy, done=self.done, error=self.error, error_code=code)

    @property
    def detail(self) -> int:
        """Either half of the detail; both hold the same value."""
        return 0 if self.busy else self.failure * 0x0101_0101

    def irq(self, start: bool) -> int:
        """``start``: one that is taken in this cycle, see :meth:`taken`."""
        return int(self.enabled and (self.done or self.error) and not start)

    def taken(self, control: int) -> bool:
        return control & 3 == 1 and not self.busy

    def step(self, control: int, given: dict[str, int], cleared: int) -> None:
        """A clock edge.

        Parameters
        ----------
        control: what is written to CTRL, and acts in this cycle
        given: the inputs of the control
        cleared: bits that a write to STATUS clears at this edge
        """
        reset, ends = control & 2, ""
        if reset:
            self.seen.add(f"reset in {self.state}")
        kept_done, kept_error = (
            value & ~cleared >> bit & 1 for value, bit in ((self.done, 1), (self.error, 2))
        )
        if self.state == "idle" and self.taken(control):
            self.state, self.failure = "check", given["wrong"]
            self.seen.add(f"start after {'done' if self.done else 'error' if self.error else '-'}")
            kept_done = kept_error = 0
        elif self.state == "check":
            if reset:
                self.state, self.failure = "idle", 0
            elif self.failure:
                self.state, ends = "idle", "error"
            elif given["prepared"]:
                self.state = "run"
        elif self.state == "run":
            if reset:
                self.state = "stop"
            elif given["failed"]:
                self.state, self.failure = "stop", given["failed"]
            elif given["finished"]:
                self.state, ends = "idle", "done"
        elif self.state == "stop":
            self.failure = 0 if reset else self.failure
            if given["quiet"]:
                self.state, ends = "idle", "error" if self.failure else ""
        if ends:
            self.seen |= {ends, *(["set while cleared"] if cleared else [])}
            self.seen |= {"start at the end"} if control & 3 == 1 else set()
        self.done, self.error = kept_done | (ends == "done"), kept_error | (ends == "error")


class Host:
    """Writes and reads at random, at most one of each in flight; B and R may wait."""

    def __init__(self, registers: Any, rng: random.Random) -> None:
        self._registers, self._rng = registers, rng
        self._write: tuple[int, int] | None = None
        self._strobe = 0
        self._left: set[str] = set()

    def offer(self, ctx: Any) -> None:
        """Drives the bus in this cycle."""
        rng, registers = self._rng, self._registers
        if self._write is None and rng.random() < 0.5:
            if rng.random() < 0.7:
                value = CTRL.put(
                    start=rng.random() < 0.8,
                    soft_reset=rng.random() < 0.2,
                    irq_enable=rng.random() < 0.9,
                )
                self._write = CTRL.offset, value
            else:
                self._write = STATUS.offset, rng.randrange(8)
            self._left = {"aw", "w"}
            self._strobe = 15 if rng.random() < 0.7 else rng.randrange(16)
            ctx.set(registers.aw.payload.address, self._write[0])
            ctx.set(registers.w.payload, {"data": self._write[1], "strobe": self._strobe})
        for name in ("aw", "w"):
            channel = getattr(registers, name)
            if name in self._left and not ctx.get(channel.valid):
                ctx.set(channel.valid, rng.random() < 0.7)
        ctx.set(registers.b.ready, rng.random() < 0.8)
        ctx.set(registers.r.ready, rng.random() < 0.8)
        if not ctx.get(registers.ar.valid):
            ctx.set(registers.ar.valid, rng.random() < 0.5)
            ctx.set(registers.ar.payload.address, rng.choice(PLACES))

    def moved(self, ctx: Any, name: str) -> bool:
        channel = getattr(self._registers, name)
        return bool(ctx.get(channel.valid) and ctx.get(channel.ready))

    def written(self) -> tuple[int, int]:
        """Returns the address and the word of the write whose response is on the bus. All fields
        are in the lowest byte: without its strobe the write changes nothing."""
        assert self._write is not None
        return self._write if self._strobe & 1 else (0, 0)

    def after(self, ctx: Any, moves: set[str]) -> None:
        """Withdraws the transfers that were accepted."""
        for name in moves & {"aw", "w", "ar"}:
            ctx.set(getattr(self._registers, name).valid, 0)
            self._left.discard(name)
        if "b" in moves:
            self._write = None


def run(breaks: str, cycles: int, seed: int) -> set[str]:
    """Random accesses and jobs, on the emitted Verilog or on a broken design; raises AssertionError
    at the first cycle that is wrong. Returns what happened."""
    dut: Any = Controlled(breaks) if breaks else RTL["controlled"]
    registers, rng, reference = dut, random.Random(seed), Reference()

    async def bench(ctx: Any) -> None:
        host = Host(registers, rng)
        old_b, expected_read = False, None
        for cycle in range(cycles):
            host.offer(ctx)
            given = {
                "wrong": rng.choice((*[0] * 12, *CODES)),
                "failed": rng.choice((*[0] * 18, *CODES)) if reference.state != "stop" else 0,
                "prepared": int(rng.random() < (0.8 if cycle & 512 else 0.15)),
                "finished": int(rng.random() < 0.4),
                "quiet": int(rng.random() < 0.4),
            }
            for name, value in given.items():
                ctx.set(getattr(dut, name), value)
            b_valid = ctx.get(registers.b.valid)
            # A write acts in the first cycle of its response.
            acts = host.written() if b_valid and not old_b else (0, 0)
            word = acts[1] if acts[0] == CTRL.offset else 0
            if acts[0] == CTRL.offset:
                reference.enabled = word >> 2 & 1
            where = f"cycle {cycle} of seed {seed}"
            taken = reference.taken(word)
            assert ctx.get(dut.irq) == reference.irq(taken), where
            assert ctx.get(dut.busy) == reference.busy, where
            assert not (reference.busy and (reference.done or reference.error)), where
            moves = {name for name in ("aw", "w", "b", "ar", "r") if host.moved(ctx, name)}
            if expected_read is not None:
                assert ctx.get(registers.r.valid), where
                assert ctx.get(registers.r.payload.data) == expected_read, where
            if "r" in moves:
                expected_read = None
            if "ar" in moves:
                at_status = ctx.get(registers.ar.payload.address) == STATUS.offset
                expected_read = reference.status if at_status else reference.detail
            old_b = bool(b_valid) and "b" not in moves
            # The effect of a write to STATUS is known one cycle later, with its response.
            await ctx.tick()
            host.after(ctx, moves)
            clears = host.written() if ctx.get(registers.b.valid) and not old_b else (0, 0)
            cleared = clears[1] if clears[0] == STATUS.offset else 0
            reference.step(word, given, cleared)

    if breaks:
        simulate(dut, bench)
    else:
        RTL.simulate("controlled", bench)
    return reference.seen


HAPPENS = {
    *(f"start after {former}" for former in ("-", "done", "error")),
    *(f"reset in {state}" for state in ("idle", "check", "run", "stop")),
    *("done", "error", "set while cleared", "start at the end"),
}


def test_every_cycle() -> None:
    """Random starts, soft resets, acknowledgements, checks that fail, errors and ends: everything
    that software can read is what the reference says, in every cycle."""
    seen = set()
    for seed in range(by_size(1, 2, 40)):
        seen |= run("", 2500, seed)
    assert seen == HAPPENS


@pytest.mark.parametrize("breaks", BREAKS)
def test_what_is_broken_is_found(breaks: str) -> None:
    with pytest.raises(AssertionError, match=r"^cycle \d+ of seed 0"):
        run(breaks, 2500, 0)
