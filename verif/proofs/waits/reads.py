"""Claims that every request to read completes."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Cat, Const, Module, Signal
from tilewright.hw.axi import crossbar
from tilewright.hw.axi.burst_reader import BurstReader
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.managers import ReadManager
from tilewright.hw.channels import striped_reader
from tilewright.hw.channels.striped_reader import StripedReader
from tilewright.hw.stream.round_robin import RoundRobin
from tilewright.verif.axi.wrapped import each_of
from tilewright.verif.proofs.claim import Claim, opened
from tilewright.verif.proofs.waits.answering import (
    GEOMETRY,
    AnsweringReads,
    Channel,
    chosen,
    offer,
    offer_blocks,
    promise,
    since_stop,
    small_part,
    watch,
)


class DroppingReader(BurstReader):
    """A reader that loses a beat that arrives while ``o`` is not ready."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += m.submodules.buffer.i.valid.eq(self.r.valid & self.o.ready)
        return m


class FixedPriority(RoundRobin):
    """An arbiter that prefers its first input, so that the last one may wait for ever."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered: Any = Cat(i.valid for i in self.i).any()
        m.d.comb += self.o.valid.eq(offered)
        for number, i in reversed(list(enumerate(self.i))):
            earlier = Cat(other.valid for other in list(self.i)[:number]).any()
            m.d.comb += i.ready.eq(self.o.ready & ~earlier)
            with m.If(i.valid):
                m.d.comb += [self.o.payload.payload.eq(i.payload), self.o.payload.source.eq(number)]
        return m


def read_waits(
    readers: int,
    *,
    patience: int,
    outstanding: int = 1,
    burst_beats: int = 1,
    kind: type[BurstReader] = BurstReader,
) -> Claim:
    """A ``ReadManager``, or a ``BurstReader`` for 0 readers: requests of 1 or 2 beats."""
    part = small_part(ReadManager, kind, readers, burst_beats, outstanding)
    requests, outputs = each_of(part.request), each_of(part.o)

    def describe(claim: Claim) -> None:
        m = claim.m
        m.submodules.part = part
        AnsweringReads(
            claim,
            part,
            most=outstanding,
            ids=max(1, readers),
            burst_beats=burst_beats,
            patience=patience,
        )
        since, ways = since_stop(claim, part), []
        for n, (request, o) in enumerate(zip(requests, outputs, strict=True)):
            two = claim.free(f"request_{n}_two")
            place = claim.free(f"request_{n}_place") if burst_beats > 1 else Const(0, 1)
            payload = Cat(place, Const(0, 4), ~two, two)
            taken = offer(claim, f"request_{n}", request, payload, drops=part.stop, quiet=since)
            m.d.comb += o.ready.eq(claim.free(f"o_{n}_ready"))
            promise(claim, f"o_{n}", o.valid & ~o.ready, patience)
            ways.append((taken, request.payload.beats, o.valid & o.ready))
        taken, beats, beat = chosen(claim, ways)
        most = 2 * burst_beats + 6
        watch(claim, "request", taken, [(beats, beat)], most=most, dropped=part.stop | since)

    return Claim(describe)


def striped_read_waits(
    *,
    patience: int,
    line_blocks: int = 2,
    requests: int = 1,
    most_blocks: int = 2,
    spoilt: bool = False,
) -> Claim:
    """A ``StripedReader`` of two channels, two blocks of one beat in flight in each.

    No more than ``requests`` wait before a channel, so a queue of two there does as that of eight.

    Parameters
    ----------
    spoilt: a line waits for all channels, those that it does not need included
    """
    part = StripedReader(GEOMETRY, line_blocks=line_blocks, outstanding=2, requests=requests)

    def describe(claim: Claim) -> None:
        m = claim.m
        with patch.object(striped_reader, "_BEHIND", 2):
            m.submodules.part = inside = opened(part)
        if spoilt:
            whole = Cat(getattr(inside.submodules, f"reader_{n}").o.valid for n in range(2)).all()
            inside.d.comb += inside.submodules.sent.i.valid.eq(
                inside.submodules.waiting.o.valid & whole
            )
        for n in range(2):
            bus = Channel(part, n, ("ar", "r"))
            AnsweringReads(claim, bus, most=1, ids=2, patience=patience, name=f"m{n}_")
        since = since_stop(claim, part)
        quiet = part.stop | since
        taken, blocks, _ = offer_blocks(
            claim, part, most_blocks=most_blocks, line_blocks=line_blocks, quiet=since
        )
        o = part.o
        m.d.comb += o.ready.eq(claim.free("o_ready"))
        promise(claim, "o", o.valid & ~o.ready, patience)
        lines = blocks if line_blocks == 1 else (blocks + 1) >> 1
        orders = [(lines, o.valid & o.ready)]
        watch(claim, "request", taken, orders, most=requests * most_blocks, dropped=quiet)

    return Claim(describe)


def crossbar_waits(
    *, patience: int, most: int = 1, arbiter: type[RoundRobin] = RoundRobin
) -> Claim:
    """A ``ReadCrossbar`` of two lanes and two channels: bursts of one beat, whose ID in the lane
    is the number of the channel, ``most`` in flight a lane. A lane is always ready for a beat."""
    part = ReadCrossbar(2, 2, addr_bits=5, data_bits=8, lane_id_bits=1)

    def describe(claim: Claim) -> None:
        m = claim.m
        with patch.object(crossbar, "RoundRobin", arbiter):
            m.submodules.part = opened(part)
        for n in range(2):
            bus = Channel(part, n, ("ar", "r"))
            AnsweringReads(
                claim, bus, most=most, ids=2, patience=patience, shift=1, low=n, name=f"m{n}_"
            )
        ways = []
        for n in range(2):
            ar, r = part.lane_ar[n], part.lane_r[n]
            owed = Signal(range(most + 1), name=f"lane_{n}_owed")
            channel = claim.free(f"lane_{n}_channel")
            payload = Cat(Const(0, 5), Const(0, 8), channel, channel)
            taken = offer(claim, f"lane_{n}", ar, payload, quiet=owed == most)
            done = r.valid & r.ready
            m.d.sync += owed.eq(owed + taken - done)
            claim.waits(f"accepted_{n}", ar.valid & ~ar.ready)
            # Requests of a lane to different channels may overtake each other.
            ways.append((taken & ~ar.payload.channel, done & ~r.payload.id[0]))
        taken, done = chosen(claim, ways)
        watch(claim, "request", taken, [(1, done)], most=most)

    return Claim(describe)
