"""A memory for claims, which does anything that AXI4 allows, with the claims on its bus.

With ``patience`` it answers in time, but no sooner than a memory may that waits for all that it may
wait for: AWREADY for the data and for all responses before, WREADY for the address, ARREADY until
no read is under way. A wait counts while nothing is left to wait for.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from tilewright.hw.axi.burst_writer import BurstWriter, most_unsent
from tilewright.hw.stream.queue import DeepQueue
from tilewright.verif.proofs.claim import Claim, Proof, opened

# A memory for claims, which does anything that AXI4 allows, with the claims on its bus.
#
# With ``patience`` it answers in time, but no sooner than a memory may that waits for all that it
# may wait for: AWREADY for the data and for all responses before, WREADY for the address, ARREADY
# until no read is under way. A wait counts while nothing is left to wait for.


def _of_bus(payload: Any, name: str) -> Value:
    """A field of a payload; 0 if it has none."""
    return payload[name] if name in payload.shape().members else Const(0, 1)


class _Places:
    """A queue of values of a claim, whose entries are looked at in order."""

    def __init__(self, claim: Claim, name: str, width: int, depth: int) -> None:
        self._m, self._depth = claim.m, depth
        self.entries = Array(Signal(width, name=f"{name}_{n}") for n in range(depth))
        self._in = Signal(range(max(2, depth)), name=f"{name}_in")
        self.out = Signal(range(max(2, depth)), name=f"{name}_out")

    def _following(self, place: Signal) -> Value:
        return Mux(place == self._depth - 1, 0, place + 1)

    def put(self, when: Value, value: Value) -> None:
        with self._m.If(when):
            self._m.d.sync += [
                self.entries[self._in].eq(value),
                self._in.eq(self._following(self._in)),
            ]

    def take(self, when: Value) -> None:
        with self._m.If(when):
            self._m.d.sync += self.out.eq(self._following(self.out))

    @property
    def first(self) -> Value:
        return self.entries[self.out]


class WatchedWrites:
    """AW, W and B of a manager.

    It is claimed that valid and payload stay until ready; that data comes with an address before it
    or beside it, and never later than ``lag`` cycles after it, ready or not; that it has as many
    beats as the address says; and that no more than ``most`` bursts are under way.

    Parameters
    ----------
    claim: that they belong to
    bus: with ``aw``, ``w``, ``b``
    most: bursts of which the address was offered and the response has not come, at most
    lag: cycles within which data follows the address
    ids: number of IDs, all of which are the first ones
    patience: cycles after which the memory answers, once nothing is left to wait for
    name: before the names of claims
    data: claim that data stays, too

    Members
    -------
    begins: an address is offered, in the first cycle of that
    unsent: bursts whose address was offered and whose data was not sent to the end
    owed: bursts whose address was accepted and whose response has not come
    flying: bursts whose address was offered and whose response has not come
    moves: something was accepted, or answered
    """

    def __init__(
        self,
        claim: Claim,
        bus: Any,
        *,
        most: int,
        lag: int,
        ids: int = 1,
        patience: int | None = None,
        name: str = "",
        data: bool = True,
    ) -> None:
        m = self._m = claim.m
        self._claim, self._name, self._most = claim, name, most
        aw, w, b = bus.aw, bus.w, bus.b
        accepted = claim.sink(f"{name}aw", aw)
        sent = claim.sink(f"{name}w", w, only=None if data else ("strobe", "last"))
        ends = sent & w.payload.last
        identity = _of_bus(aw.payload, "id")
        self.begins = Signal(name=f"{name}aw_begins")
        waiting = claim.before(aw.valid & ~aw.ready, f"{name}aw_waiting")
        answered = Signal(name=f"{name}answered")
        m.d.comb += [self.begins.eq(aw.valid & ~waiting), answered.eq(b.valid & b.ready)]
        self.unsent = claim.counter(f"{name}unsent", self.begins, ends, most)
        self.owed = claim.counter(f"{name}owed", accepted, answered, most)
        self.flying = claim.counter(f"{name}flying", self.begins, answered, most)
        # The bursts whose data is not sent: beats, ID.
        self._lengths = _Places(claim, f"{name}length", 8, most)
        self._lengths.put(self.begins, aw.payload.length)
        self._lengths.take(ends)
        fresh = (self.unsent == 0) & self.begins
        sender: Value = Const(0, 1)
        if ids > 1:
            order = _Places(claim, f"{name}order", len(identity), most)
            order.put(self.begins, identity)
            order.take(ends)
            sender = Mux(fresh, identity, order.first)
            claim.broken(f"{name}id", aw.valid & (identity >= ids))
        may = [
            self._may_answer(f"{name}id_{n}_", accepted & (identity == n), ends & (sender == n),
                             answered & (_of_bus(b.payload, "id") == n))
            for n in range(ids)
        ]  # fmt: skip
        self._respond(b, may)
        self.moves = accepted | sent | answered
        has_address = (self.unsent != 0) | self.begins
        claim.broken(f"{name}w_before_aw", w.valid & ~has_address)
        claim.within(f"{name}w_follows_aw", has_address & ~w.valid, lag)
        self._beats(w, sent, Mux(fresh, aw.payload.length, self._lengths.first))
        claim.reached(f"{name}w_first", ends & (self.unsent == 1) & aw.valid & ~aw.ready)
        claim.reached(f"{name}aw_first", accepted & ~w.valid)
        claim.reached(f"{name}answered", answered)
        claim.reached(f"{name}full", self.owed == most)
        if patience is not None:
            self._be_patient(aw, w, b, may, patience)

    def _may_answer(self, name: str, accepted: Value, ends: Value, answered: Value) -> Value:
        """Returns whether B may arrive for an ID: its address and its last beat were accepted
        before."""
        claim = self._claim
        owed = claim.counter(f"{name}owed", accepted, answered, self._most)
        sent = Signal(range(-self._most, self._most + 1), name=f"{name}sent")
        claim.m.d.sync += sent.eq(sent + ends - answered)
        return (owed != 0) & (sent > 0)

    def _respond(self, b: Any, may: list[Value]) -> None:
        claim, m, name = self._claim, self._m, self._name
        b_waiting = claim.before(b.valid & ~b.ready, f"{name}b_waiting")
        payload = Value.cast(b.payload)
        kept = claim.before(payload, f"{name}b_payload")
        m.d.comb += payload.eq(Mux(b_waiting, kept, claim.free(f"{name}b_payload", len(payload))))
        own = Array(may)[_of_bus(b.payload, "id")] if len(may) > 1 else may[0]
        m.d.comb += b.valid.eq(b_waiting | (claim.free(f"{name}b_offer") & own))
        if len(may) > 1:
            claim.allow(~b.valid | (b.payload.id < len(may)))

    def _beats(self, w: Any, sent: Value, length: Value) -> None:
        claim, m, name = self._claim, self._m, self._name
        beat = Signal(8, name=f"{name}beat")
        with m.If(sent):
            m.d.sync += beat.eq(Mux(w.payload.last, 0, beat + 1))
        claim.broken(f"{name}w_last", w.valid & (w.payload.last != (beat == length)))
        wrapped = Signal(name=f"{name}wrapped")
        with m.If(sent & w.payload.last & (self._lengths.out == self._most - 1)):
            m.d.sync += wrapped.eq(1)
        claim.reached(f"{name}wrap", wrapped & sent & w.payload.last)

    def _be_patient(self, aw: Any, w: Any, b: Any, may: list[Value], most: int) -> None:
        claim, name = self._claim, self._name
        # Data of the burst at AW was accepted already.
        led = aw.valid & ((self.unsent == 0) & ~self.begins)
        ready_to_take = aw.valid & (w.valid | led) & (self.owed == 0)
        claim.promptly(f"{name}aw", ready_to_take & ~aw.ready, most)
        claim.promptly(f"{name}w", w.valid & ~w.ready & (aw.valid | (self.owed != 0)), most)
        for n, may_answer in enumerate(may):
            answers = b.valid & (_of_bus(b.payload, "id") == n)
            claim.promptly(f"{name}b_{n}", may_answer & ~answers, most + len(may) - 1)


class WatchedReads:
    """AR and R of a manager: addresses stay until they are accepted, and up to ``most`` requests of
    an ID are in flight.

    The memory sends what was asked for: of different IDs in any order and interleaved.

    Parameters
    ----------
    claim: that they belong to
    bus: with ``ar``, ``r``
    most: bursts of an ID that were accepted and not answered to the end, at most
    ids: number of IDs, all of which are the first ones
    patience: cycles after which the memory answers, once nothing is left to wait for
    name: before the names of claims

    Members
    -------
    owing: a burst was accepted and not answered to the end
    moves: an address was accepted, or a beat
    """

    def __init__(
        self,
        claim: Claim,
        bus: Any,
        *,
        most: int,
        ids: int = 1,
        patience: int | None = None,
        name: str = "",
    ) -> None:
        m = claim.m
        ar, r = bus.ar, bus.r
        accepted = claim.sink(f"{name}ar", ar)
        identity = _of_bus(ar.payload, "id")
        comes = r.valid & r.ready
        if ids > 1 or len(identity) > 1:
            claim.broken(f"{name}id", ar.valid & (identity >= ids))
        owed, lasts = [], []
        for n in range(ids):
            mine = comes & (_of_bus(r.payload, "id") == n)
            asks = accepted & (identity == n)
            ends = mine & r.payload.last
            count = claim.counter(f"{name}id_{n}_owed", asks, ends, most)
            lengths = _Places(claim, f"{name}id_{n}_length", 8, most)
            lengths.put(asks, ar.payload.length)
            lengths.take(ends)
            beat = Signal(8, name=f"{name}id_{n}_beat")
            with m.If(mine):
                m.d.sync += beat.eq(Mux(r.payload.last, 0, beat + 1))
            owed.append(count != 0)
            lasts.append(beat == lengths.first)
            claim.reached(f"{name}id_{n}_full", count == most)
        waiting = claim.before(r.valid & ~r.ready, f"{name}r_waiting")
        payload = Value.cast(r.payload)
        kept = claim.before(payload, f"{name}r_payload")
        m.d.comb += payload.eq(Mux(waiting, kept, claim.free(f"{name}r_payload", len(payload))))
        number = _of_bus(r.payload, "id")
        own = Array(owed)[number] if ids > 1 else owed[0]
        last = Array(lasts)[number] if ids > 1 else lasts[0]
        m.d.comb += r.valid.eq(waiting | (claim.free(f"{name}r_offer") & own))
        claim.allow(~r.valid | (r.payload.last == last))
        if ids > 1 or len(number) > 1:
            claim.allow(~r.valid | (number < ids))
        self.owing = Cat(owed).any()
        self.moves = accepted | comes
        claim.reached(f"{name}last", comes & r.payload.last)
        if patience is not None:
            claim.promptly(f"{name}ar", ar.valid & ~ar.ready & ~self.owing, patience)
            for n, one in enumerate(owed):
                waits = one & ~(r.valid & (number == n))
                claim.promptly(f"{name}r_{n}", waits, patience + ids - 1)


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
