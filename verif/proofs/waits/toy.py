"""Claims that every job of a whole accelerator, the toy, ends, and within how many cycles."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Mux, Signal
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.verif.catalogue.toy import adder
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig
from tilewright.verif.proofs.claim import Claim, opened
from tilewright.verif.proofs.waits.answering import AnsweringReads, AnsweringWrites, promise

__all__ = ["toy_waits"]

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
