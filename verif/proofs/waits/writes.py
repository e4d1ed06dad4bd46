"""Claims that every request to write completes."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.channels import striped_writer
from tilewright.hw.channels.striped_writer import StripedWriter
from tilewright.verif.axi.wrapped import each_of
from tilewright.verif.proofs.claim import Claim, opened
from tilewright.verif.proofs.waits.answering import (
    GEOMETRY,
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

__all__ = ["striped_write_waits", "write_waits"]

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
    may come up to ``leads`` beats before them.

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
