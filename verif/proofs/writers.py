"""Claims on the parts that write memory: AW and W do not wait for each other's READY."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Module, Signal, Value
from tilewright.hw.axi.burst_writer import BurstWriter, most_unsent
from tilewright.hw.stream.deep_queue import DeepQueue
from tilewright.verif.proofs.claim import Claim, opened
from tilewright.verif.proofs.memory import WatchedWrites
from tilewright.verif.proofs.proof import Proof


class OldBurstWriter(BurstWriter):
    """A writer that queues the length of a burst, and so offers its data, when its address has been
    accepted."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += m.submodules.lengths.i.valid.eq(self.aw.valid & self.aw.ready)
        return m


class SmallDeepWriter(BurstWriter):
    """A writer with the queue of addresses that one with many outstanding bursts has."""

    def _addresses(self) -> DeepQueue:
        return DeepQueue(self._addr_bits, self._outstanding - 1)


_RULES = "W follows AW within 2 cycles, never leads it; no length is lost; B finds its address"
_SIZES = {"addr_bits": 5, "data_bits": 8, "count_bits": 2, "burst_beats": 2}


def burst_writer_claim(
    kind: type[BurstWriter] = BurstWriter,
    *,
    outstanding: int = 2,
    buffer_beats: int = 4,
    lag: int = 2,
    stops: bool = True,
) -> Claim:
    """A ``BurstWriter`` under a memory that may wait with AWREADY for WVALID, or the reverse."""
    writer = kind(**_SIZES, outstanding=outstanding, buffer_beats=buffer_beats)

    def describe(claim: Claim) -> None:
        claim.m.submodules.writer = inside = opened(writer)
        watched = WatchedWrites(claim, writer, most=outstanding, lag=lag)
        _claim_queues(claim, "", inside, writer)
        _feed(claim, writer, stops=stops)
        unsent = most_unsent(outstanding, buffer_beats)
        claim.reached("unsent", watched.unsent == min(unsent, outstanding))

    return Claim(describe)


def _feed(claim: Claim, writer: BurstWriter, *, stops: bool) -> tuple[Value, Value]:
    """Requests and data at any time. Returns whether either is taken."""
    taken = claim.source("request", writer.request)
    claim.allow(~writer.request.valid | (writer.request.payload.beats != 0))
    put = claim.source("i", writer.i)
    claim.m.d.comb += writer.stop.eq(claim.free("stop") if stops else 0)
    return taken, put


def issue_claim(*, lag: int) -> Claim:
    """A ``BurstWriter`` under a memory that never sets WREADY still offers its first address."""
    writer = BurstWriter(**_SIZES, outstanding=2, buffer_beats=4)

    def describe(claim: Claim) -> None:
        m = claim.m
        m.submodules.writer = writer
        _feed(claim, writer, stops=False)
        aw, seen, asked = writer.aw, Signal(), Signal()
        m.d.comb += [
            aw.ready.eq(claim.free("aw_ready")),
            writer.w.ready.eq(0),
            writer.b.valid.eq(0),
        ]
        with m.If(aw.valid):
            m.d.sync += seen.eq(1)
        with m.If(writer.request.valid & writer.request.ready):
            m.d.sync += asked.eq(1)
        # It waits for its data to come in, and for nothing else.
        claim.within("aw_waits_for_w", asked & writer.i.valid & ~aw.valid & ~seen, lag)

    return Claim(describe)


def _claim_queues(claim: Claim, name: str, inside: Module, writer: BurstWriter) -> None:
    """No length is lost, and a response finds an address."""
    lengths, addresses = inside.submodules.lengths, inside.submodules.addresses
    claim.broken(f"{name}lengths_full", lengths.i.valid & ~lengths.i.ready)
    claim.broken(f"{name}no_address", writer.b.valid & ~addresses.o.valid)


WRITER_PROOFS = (
    Proof("burst_writer", _RULES, partial(burst_writer_claim, stops=False)),
    Proof("burst_writer with stop", _RULES, burst_writer_claim),
    Proof(
        "burst_writer, AW's length queued with AWREADY",
        _RULES,
        partial(burst_writer_claim, OldBurstWriter),
        refuted=True,
    ),
    Proof(
        "burst_writer",
        "W follows AW within 1 cycle",
        partial(burst_writer_claim, lag=1),
        refuted=True,
    ),
    Proof(
        "burst_writer, memory for addresses, 3 outstanding",
        _RULES,
        partial(burst_writer_claim, SmallDeepWriter, outstanding=3),
        size="long",
    ),
    Proof(
        "burst_writer", "AWVALID without any WREADY, within 5 cycles", partial(issue_claim, lag=5)
    ),
    Proof(
        "burst_writer",
        "AWVALID without any WREADY, within 1 cycle",
        partial(issue_claim, lag=1),
        refuted=True,
    ),
)
