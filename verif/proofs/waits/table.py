"""Table of all claims on waits, with the longest waits found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.channels import striped_writer
from tilewright.hw.channels.striped_writer import StripedWriter
from tilewright.verif.catalogue.toy import adder
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig
from tilewright.verif.native.parts import each_of
from tilewright.verif.proofs.claim import Claim, opened
from tilewright.verif.proofs.memory import OldBurstWriter
from tilewright.verif.proofs.waits.answering import (
    GEOMETRY,
    AnsweringReads,
    AnsweringWrites,
    Channel,
    chosen,
    offer,
    offer_blocks,
    promise,
    since_stop,
    small_part,
    watch,
)
from tilewright.verif.proofs.waits.explorer import (
    DroppingReader,
    FixedPriority,
    crossbar_waits,
    read_waits,
    striped_read_waits,
)

_MOST = 8
"""Bursts or lines of accepted requests that are not complete, at most."""


def _send(
    claim: Claim, name: str, port: Any, asks: Value, *, patience: int, quiet: Value, leads: int
) -> None:
    """Send the data that accepted requests lack, in time; up to ``leads`` transfers before."""
    lacks = Signal(range(-leads, _MOST + 2), name=f"{name}_lacks")
    put = offer(claim, name, port, Const(0), drops=quiet, quiet=quiet | (lacks == -leads))
    claim.m.d.sync += lacks.eq(Mux(quiet, 0, lacks + asks - put))
    promise(claim, name, (lacks > 0) & ~port.valid, patience)


def write_waits(
    writers: int,
    *,
    patience: int,
    outstanding: int = 1,
    burst_beats: int = 1,
    most_beats: int = 2,
    leads: int = 0,
    kind: type[BurstWriter] = BurstWriter,
    late_turns: bool = False,
) -> Claim:
    """A ``WriteManager``, or a ``BurstWriter`` for 0 writers: requests of up to 2 beats, whose data
    may arrive up to ``leads`` beats before them.

    Parameters
    ----------
    late_turns: the manager queues whose turn it is with AWREADY, and so withholds data until then
    """
    part = small_part(WriteManager, kind, writers, burst_beats, outstanding)
    requests, inputs = each_of(part.request), each_of(part.i)

    def describe(claim: Claim) -> None:
        claim.m.submodules.part = inside = opened(part, *(["bus"] if writers else []))
        if late_turns:
            bus = inside.submodules.bus
            bus.d.comb += bus.submodules.turns.i.valid.eq(part.aw.valid & part.aw.ready)
        ids = max(1, writers)
        memory = AnsweringWrites(claim, part, most=outstanding, ids=ids, patience=patience)
        since = since_stop(claim, part)
        quiet, ways = part.stop | since, []
        for n, (request, i) in enumerate(zip(requests, inputs, strict=True)):
            two = claim.free(f"request_{n}_two") if most_beats == 2 else Const(0, 1)
            place = claim.free(f"request_{n}_place") if burst_beats > 1 else Const(0, 1)
            payload = Cat(place, Const(0, 4), ~two, two)
            taken = offer(claim, f"request_{n}", request, payload, drops=part.stop, quiet=since)
            beats, at = request.payload.beats, request.payload.address[0]
            asks = Mux(taken, beats, 0)
            _send(claim, f"i_{n}", i, asks, patience=patience, quiet=quiet, leads=leads)
            # A request of two beats that begins with the last one of a burst has two bursts.
            bursts = beats if burst_beats == 1 else Mux(at & (beats == 2), 2, 1)
            ways.append((taken, bursts, memory.answered[n] & ~quiet))
        taken, bursts, answered = chosen(claim, ways)
        watch(claim, "request", taken, [(bursts, answered)], most=_MOST, dropped=quiet)

    return Claim(describe)


def striped_write_waits(
    *,
    patience: int,
    line_blocks: int = 2,
    most_blocks: int = 2,
    kind: type[BurstWriter] = BurstWriter,
) -> Claim:
    """A ``StripedWriter`` of two channels, one block of one beat in flight in each."""
    part = StripedWriter(GEOMETRY, line_blocks=line_blocks, bytes_bits=8, outstanding=1)

    def describe(claim: Claim) -> None:
        with patch.object(striped_writer, "BurstWriter", kind):
            claim.m.submodules.part = opened(part)
        memories = []
        for n in range(2):
            bus = Channel(part, n, ("aw", "w", "b"))
            memories.append(AnsweringWrites(claim, bus, most=1, patience=patience, name=f"m{n}_"))
        since = since_stop(claim, part)
        quiet = part.stop | since
        taken, blocks, first = offer_blocks(
            claim, part, most_blocks=most_blocks, line_blocks=line_blocks, quiet=since
        )
        lines = blocks if line_blocks == 1 else (blocks + 1) >> 1
        asks = Mux(taken, lines, 0)
        _send(claim, "i", part.i, asks, patience=patience, quiet=quiet, leads=0)
        # Every other block of a request is in a channel. Those of stopped requests do not count.
        shares = [(blocks + ~first) >> 1, (blocks + first) >> 1]
        orders = [
            (share, memory.answered[0] & ~quiet)
            for share, memory in zip(shares, memories, strict=True)
        ]
        watch(claim, "request", taken, orders, most=_MOST, dropped=quiet)

    return Claim(describe)


_CTRL, _BEATS = 0x20, 0x110
"""Addresses of registers."""


def toy_waits(*, patience: int, kind: type[BurstWriter] = BurstWriter) -> Claim:
    """A ``ToyAdder`` with one burst in flight each way. The host writes BEATS and CTRL, with gaps
    and in any order of AW and W, one access at a time; the other registers keep what the reset
    put there. Jobs have 0 to 2 beats; those of 0 are refused."""
    config = ToyAdderConfig(outstanding=1)
    part = adder.ToyAdder(config)

    def describe(claim: Claim) -> None:
        m = claim.m
        with patch.object(adder, "BurstWriter", kind):
            m.submodules.part = inside = opened(part)
        bus = _bus(part)
        AnsweringReads(claim, bus, most=1, burst_beats=2, patience=patience, name="read_")
        AnsweringWrites(claim, bus, most=1, patience=patience, name="write_")
        _write_registers(claim, part, patience)
        control, registers = inside.submodules.control, inside.submodules.registers
        resets = Signal()
        with m.If(registers.ctrl_soft_reset & control.busy):
            m.d.sync += resets.eq(1)
        with m.Elif(~control.busy):
            m.d.sync += resets.eq(0)
        claim.waits("job", control.busy)
        claim.waits("soft_reset", resets)
        claim.reached("done", control.done)
        claim.reached("refused", control.error)
        claim.reached("stopped", resets & ~control.busy)

    return Claim(describe)


def _bus(part: Any) -> Any:
    """The channels of the toy's manager with the names that streams have."""
    bus = SimpleNamespace()
    fields = {"aw": {"length": "len"}, "ar": {"length": "len"}, "w": {"last": "last"}}
    for channel in ("aw", "w", "b", "ar", "r"):
        named = fields.get(channel, {"last": "last"} if channel == "r" else {})
        signals = {
            name: getattr(part, f"m0_axi_{channel}{flat}")
            for name, flat in {**named, "valid": "valid", "ready": "ready"}.items()
        }
        payload = SimpleNamespace(**{name: signals.pop(name) for name in named})
        setattr(bus, channel, SimpleNamespace(**signals, payload=payload))
    return bus


def _write_registers(claim: Claim, part: Any, patience: int) -> None:
    """The host: one write at a time."""
    m = claim.m
    aw, w, b = (
        SimpleNamespace(
            valid=getattr(part, f"s_axil_{channel}valid"),
            ready=getattr(part, f"s_axil_{channel}ready"),
        )
        for channel in ("aw", "w", "b")
    )
    # The write at hand, which is new or kept: to BEATS or to CTRL, and two bits of data.
    active, beats, kept = Signal(), Signal(), Signal(2)
    now = active | claim.free("write")
    to_beats = Mux(active, beats, claim.free("beats"))
    data = Mux(active, kept, claim.free("data", 2))
    answered = b.valid & b.ready
    goes_on = now & ~answered
    m.d.sync += [
        active.eq(goes_on),
        beats.eq(goes_on & to_beats),
        kept.eq(Mux(goes_on, data, 0)),
    ]
    m.d.comb += [
        part.s_axil_awaddr.eq(Mux(to_beats, _BEATS, _CTRL)),
        part.s_axil_wdata.eq(Mux(to_beats & (data == 3), 2, data)),
        part.s_axil_wstrb.eq(15),
        b.ready.eq(claim.free("b_ready")),
    ]
    promise(claim, "b", b.valid & ~b.ready, patience)
    accepted = []
    for name, channel in (("aw", aw), ("w", w)):
        done, offered = Signal(name=f"{name}_done"), claim.before(channel.valid, name)
        m.d.comb += channel.valid.eq(now & ~done & (claim.free(name) | offered))
        m.d.sync += done.eq((done | (channel.valid & channel.ready)) & ~answered)
        accepted.append(done)
    claim.waits("register_write", accepted[0] & accepted[1])


@dataclass(frozen=True)
class Wait:
    """Claim with the longest wait of each kind in a part.

    Parameters
    ----------
    part: what it is about, and its size
    claim: makes the claim, of a patience
    longest: by wait, cycles; None: for ever, which is only so in a broken part
    patience: cycles within which the surroundings answer
    size: the smallest test that runs it, ``default`` or ``long``
    """

    part: str
    claim: Callable[..., Claim] = field(repr=False)
    longest: dict[str, int | None]
    patience: int = 1
    size: str = "default"

    @property
    def name(self) -> str:
        """Unique name of the test."""
        return f"{self.part}: answers within {self.patience}"


def _long(part: str, claim: Callable[..., Claim], patience: int, **longest: int | None) -> Wait:
    return Wait(part, claim, dict(longest), patience, "long")


_READ_PART = "read_manager, 2 readers, {} of 1 beat in flight each"
_READ = partial(read_waits, 2)
_WRITE_PART = "write_manager, 2 writers, 1 burst of 1 beat in flight each"
_WRITE = partial(write_waits, 2, most_beats=1)
_ONE_READER = "burst_reader, 2 bursts of up to 2 beats in flight"
_READER = partial(read_waits, 0, outstanding=2, burst_beats=2)
_ONE_WRITER = "burst_writer, 2 bursts of up to 2 beats in flight"
_WRITER = partial(write_waits, 0, outstanding=2, burst_beats=2, leads=6)
_READER_PART = "striped_reader, 2 channels, lines of {} of 1 beat"
_WRITER_PART = "striped_writer, 2 channels, lines of 2 blocks of 1 beat"
_CROSSBAR = "read_crossbar, 2 lanes, 2 channels, {} of 1 beat in flight a lane"
_TOY = "toy accelerator, 1 burst in flight each way, jobs of up to 2 beats"
_ARBITERS: dict[str, int | None] = {"accepted_0": 1, "accepted_1": 1}

WAITS: tuple[Wait, ...] = (
    Wait(_ONE_READER, _READER, {"idle_after_stop": 10, "request": 27}),
    Wait(
        "burst_reader that loses beats",
        partial(_READER, kind=DroppingReader),
        {"idle_after_stop": 10, "request": None},
    ),
    _long(_ONE_READER, _READER, 2, idle_after_stop=15, request=40),
    _long(_ONE_WRITER, _WRITER, 1, idle_after_stop=11, request=25),
    Wait(_READ_PART.format("1 burst"), _READ, {"idle_after_stop": 9, "request": 43}),
    _long(_READ_PART.format("1 burst"), _READ, 2, idle_after_stop=13, request=60),
    _long(
        _READ_PART.format("2 bursts"),
        partial(_READ, outstanding=2),
        1,
        idle_after_stop=15,
        request=45,
    ),
    _long(
        "read_manager whose readers lose beats",
        partial(_READ, kind=DroppingReader),
        1,
        idle_after_stop=9,
        request=None,
    ),
    _long(_WRITE_PART, _WRITE, 1, idle_after_stop=11, request=35),
    _long(_WRITE_PART, _WRITE, 2, idle_after_stop=15, request=47),
    _long(
        "write_manager whose turns wait for AWREADY",
        partial(_WRITE, late_turns=True),
        1,
        idle_after_stop=None,
        request=None,
    ),
    Wait(
        _READER_PART.format("2 blocks"), striped_read_waits, {"idle_after_stop": 4, "request": 11}
    ),
    _long(_READER_PART.format("2 blocks"), striped_read_waits, 2, idle_after_stop=6, request=14),
    _long(
        _READER_PART.format("1 block"),
        partial(striped_read_waits, line_blocks=1),
        1,
        idle_after_stop=4,
        request=13,
    ),
    Wait(
        "striped_reader whose lines wait for all channels",
        partial(striped_read_waits, spoilt=True),
        {"idle_after_stop": 4, "request": None},
    ),
    _long(_WRITER_PART, striped_write_waits, 1, idle_after_stop=6, request=34),
    _long(_WRITER_PART, striped_write_waits, 2, idle_after_stop=8, request=44),
    _long(
        "striped_writer whose writers wait for AWREADY",
        partial(striped_write_waits, kind=OldBurstWriter),
        1,
        idle_after_stop=None,
        request=None,
    ),
    Wait(_CROSSBAR.format("1 burst"), crossbar_waits, {**_ARBITERS, "request": 9}),
    _long(_CROSSBAR.format("1 burst"), crossbar_waits, 2, **_ARBITERS, request=13),
    Wait(
        "read_crossbar with fixed priorities",
        partial(crossbar_waits, arbiter=FixedPriority),
        {"accepted_0": 3, "accepted_1": None, "request": 3},
    ),
    Wait(_TOY, toy_waits, {"register_write": 3, "job": 23, "soft_reset": 10}),
    _long(_TOY, toy_waits, 2, register_write=4, job=29, soft_reset=13),
    Wait(
        "toy accelerator whose writer waits for AWREADY",
        partial(toy_waits, kind=OldBurstWriter),
        {"register_write": 3, "job": None, "soft_reset": None},
    ),
)
