"""All proofs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Signal, Value
from amaranth.lib import wiring
from tilewright.hw.axi.burst_reader import BurstReader
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.managers import ReadManager, WriteManager
from tilewright.hw.stream.fork_join import Fork
from tilewright.verif.proofs.claim import Claim, Proof, opened
from tilewright.verif.proofs.memory import (
    WRITER_PROOFS,
    OldBurstWriter,
    WatchedReads,
    WatchedWrites,
)
from tilewright.verif.proofs.parts import PARTS, clear_claim, stream_claim

# The rules of streams at every output of hw/stream, hw/axi and hw/channels.
#
# No part interprets a field of more than 48 bits; the claims compare its lowest two bits and its
# highest two.


_SIZES = {"addr_bits": 5, "data_bits": 8, "count_bits": 2, "burst_beats": 2, "buffer_beats": 4}


def stopped(claim: Claim, part: Any) -> Signal:
    """Since a stop the part has not been idle."""
    value = Signal(name="since_stop")
    with claim.m.If(part.stop):
        claim.m.d.sync += value.eq(1)
    with claim.m.Elif(part.idle):
        claim.m.d.sync += value.eq(0)
    return value


def _requests(claim: Claim, name: str, port: Any, since: Value, part: Any) -> Value:
    taken = claim.source(name, port, drops=part.stop, quiet=since)
    claim.allow(~port.valid | (port.payload.beats != 0))
    return taken


def reads_claim(
    readers: int,
    *,
    patience: int,
    silence: int,
    stop: int | None = None,
    outstanding: int = 2,
    burst_beats: int = 2,
) -> Claim:
    """A ``ReadManager``, or a ``BurstReader`` for 0 readers, under a memory that answers in time.

    Parameters
    ----------
    silence: cycles after which something moves, as long as anything is left to be done
    stop: cycles from a stop to idle
    """
    part: Any
    sizes = {**_SIZES, "burst_beats": burst_beats, "buffer_beats": 2 * burst_beats}
    if readers:
        part = ReadManager(readers, **sizes, outstanding=outstanding, id_bits=1)
        requests, outputs = list(part.request), list(part.o)
    else:
        part = BurstReader(**sizes, outstanding=outstanding)
        requests, outputs = [part.request], [part.o]

    def describe(claim: Claim) -> None:
        m = claim.m
        m.submodules.part = part
        watched = WatchedReads(
            claim, part, most=outstanding, ids=max(1, readers), patience=patience
        )
        m.d.comb += part.stop.eq(claim.free("stop"))
        since = stopped(claim, part)
        moves = [watched.moves]
        for n, (request, o) in enumerate(zip(requests, outputs, strict=True)):
            moves.append(_requests(claim, f"request_{n}", request, since, part))
            m.d.comb += o.ready.eq(claim.free(f"o_{n}_ready"))
            claim.promptly(f"o_{n}", o.valid & ~o.ready, patience)
            moves.append(o.valid & o.ready)
            claim.reached(f"last_{n}", o.valid & o.ready & o.payload.last)
        _ends(claim, part, since, Cat(moves).any(), ~part.idle & ~part.error, silence, stop)

    return Claim(describe)


def _ends(
    claim: Claim,
    part: Any,
    since: Value,
    moves: Value,
    busy: Value,
    silence: int,
    stop: int | None,
) -> None:
    claim.within("silence", (busy | since) & ~part.idle & ~part.stop & ~moves, silence)
    claim.reached("idle_after_stop", since & part.idle & claim.before(~part.idle, "idle"))
    if stop is not None:
        claim.within("stop", since & ~part.stop & ~part.idle, stop)


def writes_claim(
    writers: int,
    *,
    patience: int,
    silence: int,
    stop: int | None = None,
    outstanding: int = 2,
    burst_beats: int = 2,
    kind: type[BurstWriter] = BurstWriter,
    lag: int = 3,
) -> Claim:
    """A ``WriteManager``, or a ``BurstWriter`` for 0 writers, under a memory that answers in time.

    Parameters
    ----------
    silence: cycles after which something moves, as long as a burst is under way, or a request and
        more data
    stop: cycles from a stop to idle
    """
    part: Any
    sizes = {**_SIZES, "burst_beats": burst_beats, "buffer_beats": 2 * burst_beats}
    if writers:
        part = WriteManager(writers, **sizes, outstanding=outstanding, id_bits=1)
        requests, inputs = list(part.request), list(part.i)
    else:
        part = kind(**sizes, outstanding=outstanding)
        requests, inputs = [part.request], [part.i]

    def describe(claim: Claim) -> None:
        m = claim.m
        names = [f"writer_{n}" for n in range(writers)]
        m.submodules.part = inside = opened(part, *names)
        insides = [getattr(inside.submodules, name) for name in names] or [inside]
        watched = WatchedWrites(
            claim,
            part,
            most=outstanding * max(1, writers),
            lag=lag,
            ids=max(1, writers),
            patience=patience,
        )
        m.d.comb += part.stop.eq(claim.free("stop"))
        since = stopped(claim, part)
        moves, busy = [watched.moves], [watched.flying != 0]
        for n, (request, i, one) in enumerate(zip(requests, inputs, insides, strict=True)):
            moves.append(_requests(claim, f"request_{n}", request, since, part))
            moves.append(claim.source(f"i_{n}", i, drops=part.stop, quiet=since))
            busy.append(one.submodules.splitter.busy & i.valid)
        _ends(claim, part, since, Cat(moves).any(), Cat(busy).any() & ~part.error, silence, stop)

    return Claim(describe)


def _says(what: str, silence: int, stop: int | None = None) -> str:
    idle = f", idle within {stop} cycles after a stop" if stop else ""
    return f"{what}: with answers after 1 cycle never {silence + 1} cycles without progress{idle}"


_READS = partial(reads_claim, 0, patience=1, burst_beats=1)
_WRITES = partial(writes_claim, 0, patience=1)

PROGRESS_PROOFS = (
    Proof("burst_reader, bursts of 1 beat", _says("progress", 6), partial(_READS, silence=6)),
    Proof(
        "burst_reader, bursts of 1 beat",
        _says("progress", 1),
        partial(_READS, silence=1),
        refuted=True,
    ),
    Proof("burst_writer", _says("progress", 6, 24), partial(_WRITES, silence=6, stop=24)),
    Proof(
        "burst_writer", _says("progress", 6, 8), partial(_WRITES, silence=6, stop=8), refuted=True
    ),
    Proof(
        "burst_writer, AW's length queued with AWREADY",
        _says("progress", 6),
        partial(_WRITES, silence=6, kind=OldBurstWriter, lag=30),
        refuted=True,
    ),
    Proof(
        "write_manager, 2 writers, 1 outstanding burst of 1 beat each",
        _says("progress", 9),
        partial(writes_claim, 2, patience=1, silence=9, burst_beats=1, outstanding=1),
        size="long",
    ),
)


SURROUNDINGS: dict[str, dict[str, Any]] = {
    "join": {"fixed": {"needs_a": 1, "needs_b": 1}},
    "fork_eager": {"steady": {"to": "i"}},
    "flat_blocks": {"steady": {"want": "spans"}, "fixed": {"start": 0}},
    "c2sr_row_writer": {
        "constants": ("pairs_base", "entries_base", "capacity", "lane"),
        "first": ("start",),
    },
}
"""Requirements of parts on their inputs; see ``stream_claim``."""

WITHOUT_OUTPUTS = {"held_block"}

ASSUMED = {"fork_lazy"}
"""Parts that keep the rules only with certain sinks."""


def _streams(name: str) -> Claim:
    return stream_claim(PARTS[name](), **SURROUNDINGS.get(name, {}))


def _cleared(name: str, *, kept: bool = False) -> Claim:
    constants = SURROUNDINGS.get(name, {}).get("constants", ())
    return clear_claim(PARTS[name](), constants=constants, kept=kept)


def _has_clear(name: str) -> bool:
    part: wiring.Component = PARTS[name]()
    part._MustUse__silence = True
    return "clear" in part.signature.members


def _proofs() -> Iterator[Proof]:
    stays = "what an output offers stays until it is taken"
    for name in PARTS:
        if name not in WITHOUT_OUTPUTS | ASSUMED:
            yield Proof(name, stays, partial(_streams, name))
    for name in PARTS:
        if _has_clear(name) and name not in WITHOUT_OUTPUTS:
            yield Proof(name, "a clear leaves it empty", partial(_cleared, name))
    lazy = partial(stream_claim, steady={"to": "i"})
    yield Proof("fork_lazy", stays, lambda: lazy(Fork(2, 2)), refuted=True)
    over = partial(stream_claim, over_clear=True)
    yield Proof("word_placer with clear", stays, lambda: over(PARTS["word_placer"]()), refuted=True)
    yield Proof(
        "deep_queue without clear",
        "a clear leaves it empty",
        partial(_cleared, "deep_queue", kept=True),
        refuted=True,
    )


STREAM_PROOFS = tuple(_proofs())


PROOFS: tuple[Proof, ...] = (*STREAM_PROOFS, *WRITER_PROOFS, *PROGRESS_PROOFS)
