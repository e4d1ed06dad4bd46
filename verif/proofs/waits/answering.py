"""A memory and a requester for claims on waits: they do anything within their promises.

Each wait of theirs lasts up to ``patience`` cycles and counts only while nothing is left to wait
for. A memory may hold ARREADY low while a read is in flight, AWREADY while its data has not been
offered or a response is outstanding, and answer different IDs in any order, interleaved. All
responses are OKAY. What they remember is kept small, since every state of it is visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value, ValueLike
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.proofs.claim import Claim

GEOMETRY = ChannelGeometry(channels=2, interleave=64, data_bits=512, addr_bits=32)
"""Two channels, and blocks of one beat."""


class Channel:
    """One channel of arrays of them."""

    def __init__(self, part: object, number: int, names: tuple[str, ...]) -> None:
        for name in names:
            setattr(self, name, getattr(part, name)[number])


def small_part(
    manager: type[Any], kind: type[Any], count: int, burst_beats: int, outstanding: int
) -> Any:
    """A manager of so many parts of a kind, or for 0 such a part alone, in the smallest sizes that
    have bursts."""
    sizes = {
        "addr_bits": 5,
        "data_bits": 8,
        "count_bits": 2,
        "burst_beats": burst_beats,
        "buffer_beats": 2 * burst_beats,
        "outstanding": outstanding,
    }
    if not count:
        return kind(**sizes)
    part = manager(count, **sizes, id_bits=1)
    part._part = kind
    return part


def _field(payload: Any, name: str) -> Value:
    """A field of a payload; 0 if it has none."""
    return Value.cast(getattr(payload, name, Const(0, 1)))


def _is(identity: Value, number: int, ids: int) -> Value:
    return Const(1, 1) if ids == 1 else identity == number


def promise(claim: Claim, name: str, waits: ValueLike, most: int, *, paused: ValueLike = 0) -> None:
    """A condition is never so for more than ``most`` cycles on end; paused ones do not count."""
    count = Signal(range(most + 1), name=f"{name}_patience")
    waits, paused = Value.cast(waits).bool(), Value.cast(paused).bool()
    claim.m.d.sync += count.eq(Mux(waits, Mux(paused, count, count + 1), 0))
    claim.allow(~(waits & ~paused & (count == most)))


def since_stop(claim: Claim, part: Any) -> Signal:
    """Let a part be stopped at any time. Returns whether it has not been idle since."""
    value = Signal(name="since_stop")
    claim.m.d.comb += part.stop.eq(claim.free("stop"))
    with claim.m.If(part.stop):
        claim.m.d.sync += value.eq(1)
    with claim.m.Elif(part.idle):
        claim.m.d.sync += value.eq(0)
    claim.waits("idle_after_stop", value & ~part.stop)
    claim.reached("idle_after_stop", value & part.idle & claim.before(~part.idle, "idle"))
    return value


def offer(
    claim: Claim, name: str, port: Any, payload: Value, *, drops: ValueLike = 0, quiet: ValueLike
) -> Value:
    """Let a stream offer something at any time, and until it is taken. Returns whether it is taken.

    Parameters
    ----------
    payload: of a new offer
    drops: what is offered in this cycle is forgotten at its end
    quiet: nothing is offered
    """
    m, bits = claim.m, Value.cast(port.payload)
    waiting, kept = Signal(name=f"{name}_waiting"), Signal(len(bits), name=f"{name}_kept")
    valid = (claim.free(f"{name}_offer") | waiting) & ~Value.cast(quiet).bool()
    m.d.comb += [port.valid.eq(valid), bits.eq(Mux(waiting, kept, Mux(valid, payload, 0)))]
    stays = port.valid & ~port.ready & ~Value.cast(drops).bool()
    m.d.sync += [waiting.eq(stays), kept.eq(Mux(stays, bits, 0))]
    return port.valid & port.ready


def offer_blocks(
    claim: Claim, part: Any, *, most_blocks: int, line_blocks: int, quiet: Value
) -> tuple[Value, Value, Value]:
    """Offer requests of up to so many blocks to a reader or writer of striped memory. Returns
    whether one is taken, how many blocks it has, and the channel of the first."""
    bits = (most_blocks - 1).bit_length()
    blocks = Signal(range(most_blocks + 1), name="new_blocks")
    extra = claim.free("request_blocks", bits) if bits else Const(0, 1)
    claim.m.d.comb += blocks.eq(extra + 1)
    shift, port = GEOMETRY.block_shift, part.request
    place = claim.free("request_place") if line_blocks == 1 else Const(0, 1)
    rest = GEOMETRY.addr_bits - shift - 1
    bytes_ = Cat(Const(0, shift), blocks, Const(0, 64))[: len(port.payload.bytes)]
    payload = Cat(Const(0, shift), place, Const(0, rest), bytes_)
    taken = offer(claim, "request", port, payload, drops=part.stop, quiet=quiet)
    count = port.payload.bytes[shift : shift + len(blocks)]
    return taken, count, port.payload.address[shift] & (line_blocks == 1)


def watch(
    claim: Claim,
    name: str,
    accepted: Value,
    orders: Sequence[tuple[ValueLike, ValueLike]],
    *,
    most: int,
    dropped: ValueLike = 0,
) -> None:
    """Count the cycles from the acceptance of one request, any one, to its completion.

    Parameters
    ----------
    accepted: a request is
    orders: of each order in which units of requests are completed: how many the request has that
        is accepted, and whether one is completed. The request is complete with all its units
    most: units that are not complete, at most
    dropped: all requests are given up
    """
    m = claim.m
    watched, starts, left_by = Signal(name=f"{name}_watched"), Signal(), []
    m.d.comb += starts.eq(accepted & ~watched & claim.free(f"{name}_watch"))
    for number, (units, done) in enumerate(orders):
        done = Value.cast(done).bool()
        added = Mux(accepted, units, 0)
        owed = Signal(range(most + 1), name=f"{name}_owed_{number}")
        left = Signal(range(most + 1), name=f"{name}_left_{number}")
        after = Signal(range(most + 1), name=f"{name}_after_{number}")
        # If the request has no units here, the units of older ones do not count.
        fresh = Mux(Value.cast(units) != 0, owed + added - done, 0)
        m.d.comb += after.eq(Mux(watched & (left != 0), left - done, 0))
        m.d.sync += [
            owed.eq(Mux(dropped, 0, owed + added - done)),
            left.eq(Mux(dropped, 0, Mux(starts, fresh, after))),
        ]
        left_by.append(after)
        claim.broken(f"{name}_range_{number}", (owed + added > most) | (done & (owed == 0)))
    ends = watched & ~Cat(left_by).any()
    m.d.sync += watched.eq((starts | (watched & ~ends)) & ~Value.cast(dropped).bool())
    claim.waits(name, watched & ~Value.cast(dropped).bool())
    claim.reached(f"{name}_complete", ends)


def chosen(claim: Claim, ways: Sequence[Sequence[ValueLike]]) -> list[Value]:
    """The values of one of up to two requesters, the same one in all cycles."""
    if len(ways) == 1:
        return [Value.cast(value) for value in ways[0]]
    which = claim.constant("which")
    return [Mux(which, second, first) for first, second in zip(*ways, strict=True)]


class AnsweringReads:
    """AR and R of a manager.

    Parameters
    ----------
    bus: with ``ar``, ``r``
    most: bursts of an ID that were accepted and not answered to the end, at most
    ids: number of IDs, all of which are the first ones
    burst_beats: beats of the longest burst
    shift, low: so many bits of an ID are always ``low``
    patience: see the module

    Members
    -------
    owing: a burst was accepted and not answered to the end
    """

    def __init__(
        self,
        claim: Claim,
        bus: Any,
        *,
        most: int,
        patience: int,
        ids: int = 1,
        burst_beats: int = 1,
        shift: int = 0,
        low: int = 0,
        name: str = "",
    ) -> None:
        m = claim.m
        ar, r = bus.ar, bus.r
        bits = (burst_beats - 1).bit_length()
        number = claim.free(f"{name}r_id", (ids - 1).bit_length()) if ids > 1 else Const(0, 1)
        waiting = claim.before(r.valid & ~r.ready, f"{name}r_waiting")
        number_kept = claim.before(number, f"{name}r_id")
        number = Mux(waiting, number_kept, number)
        comes, accepted = r.valid & r.ready, ar.valid & ar.ready
        owed, lasts = [], []
        for n in range(ids):
            mine = comes & _is(number, n, ids)
            asks = accepted & _is(_field(ar.payload, "id")[shift:], n, ids)
            count = Signal(range(most + 1), name=f"{name}id_{n}_owed")
            ends = mine & r.payload.last
            m.d.sync += count.eq(count + asks - ends)
            claim.broken(f"{name}id_{n}_owed", asks & ~ends & (count == most))
            claim.reached(f"{name}id_{n}_full", count == most)
            lasts.append(
                self._last(claim, f"{name}id_{n}_", ar, asks, mine, ends, count, most, bits)
            )
            owed.append(count != 0)
        own, last = (Array(owed)[number], Array(lasts)[number]) if ids > 1 else (owed[0], lasts[0])
        m.d.comb += [
            ar.ready.eq(claim.free(f"{name}ar_ready")),
            r.valid.eq(waiting | (claim.free(f"{name}r_offer") & own)),
            r.payload.last.eq(last),
        ]
        if hasattr(r.payload, "id"):
            m.d.comb += r.payload.id.eq(Cat(Const(low, shift), number))
        self.owing = Cat(owed).any()
        promise(claim, f"{name}ar", ar.valid & ~ar.ready & ~self.owing, patience)
        paused = r.valid & ~r.ready
        promise(claim, f"{name}r", self.owing & ~comes, patience, paused=paused)
        for n, one in enumerate(owed if ids > 1 else []):
            waits = one & ~(comes & _is(number, n, ids))
            promise(claim, f"{name}r_{n}", waits, patience + ids - 1, paused=paused)

    def _last(
        self, claim: Claim, name: str, ar: Any, asks: Value, mine: Value, ends: Value,
        count: Value, most: int, bits: int,
    ) -> Value:  # fmt: skip
        """Returns whether the next beat of an ID is the last one of its burst."""
        if not bits:
            return Const(1, 1)
        m = claim.m
        lengths = [Signal(bits, name=f"{name}length_{n}") for n in range(most)]
        beat = Signal(bits, name=f"{name}beat")
        with m.If(mine):
            m.d.sync += beat.eq(Mux(ends, 0, beat + 1))
        for n, length in enumerate(lengths):
            following = lengths[n + 1] if n + 1 < most else Const(0, bits)
            enters = asks & (count - ends == n)
            kept = Mux(ends, following, length)
            m.d.sync += length.eq(Mux(enters, ar.payload.length[:bits], kept))
        return beat == lengths[0]


class AnsweringWrites:
    """AW, W and B of a manager whose data never leads its address.

    Parameters
    ----------
    bus: with ``aw``, ``w``, ``b``
    most: bursts of an ID of which the address was offered and the response has not come, at most
    ids: number of IDs, all of which are the first ones
    patience: see the module

    Members
    -------
    answered: by ID, whether a response comes
    """

    def __init__(
        self, claim: Claim, bus: Any, *, most: int, patience: int, ids: int = 1, name: str = ""
    ) -> None:
        m = claim.m
        aw, w, b = bus.aw, bus.w, bus.b
        accepted, ends = aw.valid & aw.ready, w.valid & w.ready & w.payload.last
        held = claim.before(aw.valid & ~aw.ready, f"{name}aw_waiting")
        begins = aw.valid & ~held
        identity = _field(aw.payload, "id")
        total = ids * most
        unsent = Signal(range(total + 1), name=f"{name}unsent")
        m.d.sync += unsent.eq(unsent + begins - ends)
        claim.broken(f"{name}unsent", (unsent == total) & begins & ~ends)
        sender = self._sender(claim, name, identity, begins, ends, unsent, total, ids)
        number = claim.free(f"{name}b_id", (ids - 1).bit_length()) if ids > 1 else Const(0, 1)
        m.d.comb += [aw.ready.eq(claim.free(f"{name}aw_ready")),
                     w.ready.eq(claim.free(f"{name}w_ready"))]  # fmt: skip
        may, owed_of = [], []
        self.answered: list[Value] = []
        for n in range(ids):
            owed = Signal(range(most + 1), name=f"{name}id_{n}_owed")
            sent = Signal(range(most + 1), name=f"{name}id_{n}_sent")
            answered = b.valid & b.ready & _is(number, n, ids)
            m.d.sync += [
                owed.eq(owed + (accepted & _is(identity, n, ids)) - answered),
                sent.eq(sent + (ends & _is(sender, n, ids)) - answered),
            ]
            claim.reached(f"{name}id_{n}_full", owed == most)
            may.append((owed != 0) & (sent != 0))
            owed_of.append(owed != 0)
            self.answered.append(answered)
        own = Array(may)[number] if ids > 1 else may[0]
        m.d.comb += b.valid.eq(claim.free(f"{name}b_offer") & own)
        if hasattr(b.payload, "id"):
            m.d.comb += b.payload.id.eq(number)
        led = held & (unsent == 0)
        owing = Cat(owed_of).any()
        claim.broken(f"{name}w_before_aw", w.valid & (unsent == 0) & ~begins)
        claim.reached(f"{name}w_before_awready", led)
        promise(claim, f"{name}aw", aw.valid & (w.valid | led) & ~owing & ~aw.ready, patience)
        promise(claim, f"{name}w", w.valid & ~w.ready, patience)
        answers = Cat(self.answered).any()
        promise(claim, f"{name}b", Cat(may).any() & ~answers, patience)
        for n, one in enumerate(may if ids > 1 else []):
            promise(claim, f"{name}b_{n}", one & ~self.answered[n], patience + ids - 1)

    def _sender(
        self, claim: Claim, name: str, identity: Value, begins: Value, ends: Value, unsent: Value,
        most: int, ids: int,
    ) -> Value:  # fmt: skip
        """The ID of the burst whose data is sent next."""
        if ids == 1:
            return Const(0, 1)
        bits = (ids - 1).bit_length()
        order = [Signal(bits, name=f"{name}order_{n}") for n in range(most)]
        for n, one in enumerate(order):
            following = order[n + 1] if n + 1 < most else Const(0, bits)
            enters = begins & (unsent - ends == n)
            claim.m.d.sync += one.eq(Mux(enters, identity, Mux(ends, following, one)))
        return Mux(unsent == 0, identity, order[0])
