"""Brings the entries of a sparse tensor from memory, to each element its own."""

from __future__ import annotations

from math import gcd
from typing import Any, Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import data_layout, request_layout
from ...spec.jobs.t2s import steps_register
from ...spec.t2s.config import T2sConfig
from ...spec.t2s.parts import MemoryPart, Step
from ...spec.t2s.sparse_parts import STEPS_BITS, EntriesPart, SparsePlan, TokenLayout
from ...stream.fork_join import Fork
from ...stream.gearbox import Gearbox
from ..loader import RunWalker, connect_walk, run_count_bits, walk_members


def token_layout(layout: TokenLayout) -> data.StructLayout:
    """A token, its fields by name, without the zeros that fill it up in memory."""
    return data.StructLayout({one.name: one.bits for one in layout.fields})


def ends_iteration(layout: TokenLayout, token: data.View[Any], level: str) -> Value:
    """Tells whether a token ends an iteration of a level's loop."""
    found: Value = token.ends[layout.levels.index(level)]
    return found


def says_nothing(token: data.View[Any]) -> Value:
    """Tells whether a token is neither an entry nor the end of a tile, and so may be dropped."""
    found: Value = ~token.present & (token.ends == 0)
    return found


def key_fields(plan: SparsePlan) -> tuple[str, ...]:
    """Fields of a token by which an element's entries of a tile are ordered, the slowest first."""
    fields = {one.loop: f"at_{one.index}" for one in plan.entries[0].layout.coordinates}
    fields[plan.rows.slots] = "slot"
    return tuple(fields[loop] for loop in plan.order)


class ImageSize(wiring.Component):
    """Multiplies by a constant, one digit of it per cycle, and divides by a beat.

    ``beats = ceil(steps * vector_bytes / beat_bytes)``

    Parameters
    ----------
    vector_bytes: of a vector, at least 1
    beat_bytes: of a beat, a power of two

    Members
    -------
    start: pulse: count anew
    steps: the vectors
    counted: whether ``beats`` is there; some cycles behind ``start``
    beats: of the image, the last one perhaps in part
    """

    def __init__(self, vector_bytes: int, beat_bytes: int) -> None:
        common = gcd(vector_bytes, beat_bytes)
        self._vector, self._beat = vector_bytes // common, beat_bytes // common
        self._product_bits = STEPS_BITS + self._vector.bit_length()
        super().__init__(
            {
                "start": In(1),
                "steps": In(STEPS_BITS),
                "counted": Out(1),
                "beats": Out(self._product_bits - self._shift),
            }
        )

    @property
    def _shift(self) -> int:
        return self._beat.bit_length() - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        digits = Signal(self._vector.bit_length())
        total = Signal(self._product_bits, reset_less=True)
        added = Signal(self._product_bits, reset_less=True)
        m.d.comb += [self.counted.eq(digits == 0), self.beats.eq(total[self._shift :])]
        with m.If(self.start):
            # The remainder takes a beat, too.
            m.d.sync += [
                digits.eq(self._vector),
                added.eq(self.steps),
                total.eq(self._beat - 1),
            ]
        with m.Elif(~self.counted):
            m.d.sync += [
                digits.eq(digits >> 1),
                added.eq(added << 1),
                total.eq(total + Mux(digits[0], added, 0)),
            ]
        return m


def _walked(part: EntriesPart) -> MemoryPart:
    """Returns the part that walks the loops around an image, whose address is constant."""
    steps = tuple(Step(count, moves=False) for count in part.again)
    return MemoryPart(part.name, part.tensor, 8 * part.vector_bytes, steps, ())


def image_members(part: EntriesPart, config: T2sConfig) -> dict[str, wiring.Member]:
    """Inputs that say where an image lies, and how often it is read: ``base``, ``steps``, the
    number of its vectors, and ``trips_<name>``."""
    return {"steps": In(STEPS_BITS), **walk_members(_walked(part), config)}


def connect_image(m: Module, part: EntriesPart, component: Any, job: data.View[Any]) -> None:
    """Connect these inputs of a component with the job at hand, see ``job_layout``."""
    connect_walk(m, _walked(part), component, job)
    m.d.comb += component.steps.eq(job[steps_register(part).lower()])


class ImageRequests(wiring.Component):
    """Requests an image, from its beginning, in each iteration of the loops around.

    A request is at most a burst, and ends where a burst must. A request a cycle, also from an
    iteration to the next; the first a few cycles behind ``start``, when the beats are counted.

    Parameters
    ----------
    part: of which the image is
    config: widths of addresses and beats

    Members
    -------
    start: pulse: a job begins; needs ``stop`` low
    stop: end at once, forget the request that was offered
    base, steps, trips_*: see :func:`image_members`; constant from ``start`` on
    hold: nothing is requested
    running: requests are left
    ends: the last request of an image is taken
    o: requests of a burst reader
    """

    def __init__(self, part: EntriesPart, config: T2sConfig) -> None:
        self._part, self._config = part, config
        request = request_layout(config.addr_bits, run_count_bits(config))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **image_members(part, config),
                "hold": In(1),
                "running": Out(1),
                "ends": Out(1),
                "o": Out(stream.Signature(request)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        beat_bits = config.beat_bytes.bit_length() - 1
        burst_bits = config.burst_beats.bit_length() - 1
        m.submodules.walker = walker = RunWalker(_walked(self._part), config)
        for name in walker.signature.members:
            if name not in ("o", "running"):
                m.d.comb += getattr(walker, name).eq(getattr(self, name))
        m.submodules.size = size = ImageSize(self._part.vector_bytes, config.beat_bytes)
        m.d.comb += [size.start.eq(self.start), size.steps.eq(self.steps)]

        within = Signal()
        following = Signal(config.addr_bits - beat_bits - burst_bits, reset_less=True)
        next_left = Signal.like(size.beats, reset_less=True)
        address = Signal(config.addr_bits)
        left = Signal.like(size.beats)
        # Beats to the place where a burst must end.
        room = Signal(range(config.burst_beats + 1))
        last = Signal()
        taken = Signal()
        first_of_burst = Cat(Const(0, beat_bits + burst_bits), following)
        m.d.comb += [
            address.eq(Mux(within, first_of_burst, walker.o.payload)),
            left.eq(Mux(within, next_left, size.beats)),
            room.eq(config.burst_beats - address[beat_bits:][:burst_bits]),
            last.eq(left <= room),
            self.o.payload.address.eq(address),
            self.o.payload.beats.eq(Mux(last, left, room)),
            self.o.valid.eq(walker.o.valid & size.counted & ~self.hold),
            taken.eq(self.o.valid & self.o.ready),
            self.ends.eq(taken & last),
            walker.o.ready.eq(self.ends),
            self.running.eq(walker.running),
        ]
        with m.If(taken):
            m.d.sync += [
                within.eq(~last),
                following.eq(address[beat_bits + burst_bits :] + 1),
                next_left.eq(left - room),
            ]
        with m.If(self.stop):
            m.d.sync += within.eq(0)
        return m


class EntriesLoader(wiring.Component):
    """Requests an image of vectors of tokens and cuts its beats into tokens.

    It requests the image anew in each iteration of the loops around.

    Each element takes its token of a vector when it likes; the next vector comes when all have.
    Requests go ahead of the data, also over an image's end. A vector a cycle, if it is no wider
    than a beat; else a beat a cycle.

    Parameters
    ----------
    part: what is loaded
    config: widths of addresses and beats, bursts under way

    Members
    -------
    start: pulse: a job begins; needs ``stop`` low
    stop: level: drop everything
    base, steps, trips_*: where the image lies, see :func:`image_members`; constant in a job
    running: requests or tokens are left
    request, i: streams of a burst reader
    o: of each element, its tokens (an array)
    """

    def __init__(self, part: EntriesPart, config: T2sConfig) -> None:
        self.config: Final = config
        self._part = part
        request = request_layout(config.addr_bits, run_count_bits(config))
        token = stream.Signature(token_layout(part.layout))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **image_members(part, config),
                "running": Out(1),
                "request": Out(stream.Signature(request)),
                "i": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(token).array(part.elements),
            }
        )

    @property
    def part(self) -> EntriesPart:
        return self._part

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self.config
        m.submodules.requests = requests = ImageRequests(part, config)
        for name in ("start", "stop", *image_members(part, config)):
            m.d.comb += getattr(requests, name).eq(getattr(self, name))
        wiring.connect(m, requests.o, wiring.flipped(self.request))
        # Images that were requested and of which tokens are left, as in a loader of words.
        most = 2 * config.outstanding + 8
        under_way = Signal(range(most + 1))
        brought = self._cut(m)
        m.d.comb += [
            requests.hold.eq(under_way == most),
            self.running.eq(requests.running | (under_way != 0)),
        ]
        with m.If(self.stop):
            m.d.sync += under_way.eq(0)
        with m.Else():
            m.d.sync += under_way.eq(under_way + requests.ends - brought)
        return m

    def _cut(self, m: Module) -> Signal:
        """Cuts beats into vectors, and these into tokens.

        Returns whether the last token of an image leaves.
        """
        part = self._part
        m.submodules.vectors = vectors = Gearbox(
            self.config.beat_bytes, (part.vector_bytes,), STEPS_BITS
        )
        brought = Signal()
        m.d.comb += [
            vectors.clear.eq(self.stop),
            # All images are alike, and only their beats come.
            vectors.request.valid.eq(1),
            vectors.request.payload.count.eq(self.steps),
            vectors.lines.valid.eq(self.i.valid),
            vectors.lines.payload.eq(self.i.payload.data),
            self.i.ready.eq(vectors.lines.ready),
            brought.eq(vectors.o.valid & vectors.o.ready & vectors.o.payload.last & ~self.stop),
        ]
        for element, (o, taking) in enumerate(zip(self.o, self._shared(m, vectors), strict=True)):
            token = vectors.o.payload.data.word_select(element, 8 * part.layout.bytes)
            m.d.comb += [
                o.valid.eq(taking.valid & ~self.stop),
                Cat(o.payload).eq(token),
                taking.ready.eq(o.ready),
            ]
        return brought

    def _shared(self, m: Module, vectors: Gearbox) -> list[Any]:
        """Forks the handshake of the vectors of tokens to the elements.

        Each element accepts its token of the current vector by itself. Copies of the vectors for
        all elements would grow with the square of their number.
        """
        if self._part.elements == 1:
            return [vectors.o]
        m.submodules.fork = fork = Fork(1, self._part.elements, eager=True)
        m.d.comb += [
            fork.i.valid.eq(vectors.o.valid),
            fork.i.payload.eq(vectors.o.payload.last),
            vectors.o.ready.eq(fork.i.ready),
            fork.clear.eq(self.stop),
        ]
        return list(fork.o)
