"""Requests for an image that is one long run."""

from __future__ import annotations

from math import gcd
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import request_layout
from ...spec.jobs.t2s import steps_register
from ...spec.t2s.config import T2sConfig
from ...spec.t2s.parts import MemoryPart, Step
from ...spec.t2s.sparse_parts import EntriesPart
from ...spec.t2s.tokens import STEPS_BITS
from ..loader import run_count_bits
from ..run_walker import RunWalker, connect_walk, walk_members


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


__all__ = ["ImageRequests", "connect_image", "image_members"]


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
