"""Brings the words of an image from memory."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout, request_layout
from ..spec.formats import FloatFormat
from ..spec.jobs.t2s import (
    base_register,
    entries_parts,
    job_spec,
    memory_parts,
    steps_register,
    stride_register,
    trips_register,
)
from ..spec.t2s.arithmetic import WordFunctions
from ..spec.t2s.config import T2sConfig
from ..spec.t2s.parts import ElementPart, MemoryPart, Step
from ..spec.t2s.sparse_parts import STEPS_BITS
from ..stream.gearbox import Gearbox
from ..stream.stream_registers import SkidBuffer


class WordFunction(wiring.Component):
    """Applies functions to the word at ``i``, the first one first. No latency.

    Parameters
    ----------
    functions: their names, and the format of the word; what they mean: see
        ``hw/spec/t2s/arithmetic.py``

    Members
    -------
    i, o: patterns of the format
    """

    def __init__(self, functions: WordFunctions) -> None:
        self._functions = functions
        bits = functions.fmt.bits
        super().__init__({"i": In(bits), "o": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word: Value = self.i
        for number, name in enumerate(self._functions.names):
            made = Signal(len(word), name=f"{name}_{number}")
            m.d.comb += made.eq(self._made(name, word))
            word = made
        if isinstance(fmt := self._functions.fmt, FloatFormat):
            # Behind infinity, or the largest number where there is none, all are NaN.
            nan = Signal()
            m.d.comb += nan.eq(self.i[:-1] > fmt.largest + fmt.has_infinity)
            word = Mux(nan, Const(fmt.nan, fmt.bits), word)
        m.d.comb += self.o.eq(word)
        return m

    def _made(self, name: str, word: Value) -> Value:
        """Applies a function to a number."""
        is_float = isinstance(self._functions.fmt, FloatFormat)
        opposite = Cat(word[:-1], ~word[-1]) if is_float else (-word)[: len(word)]
        if name == "negate":
            return opposite
        return Mux(word[-1], opposite if name == "absolute" else 0, word)


def through(m: Module, functions: WordFunctions | None, words: Value) -> Value:
    """Applies functions, if any, to the words of all lanes, each in its container."""
    if functions is None:
        return words
    fmt, found = functions.fmt, list[Value]()
    for lane in range(len(words) // fmt.container_bits):
        m.submodules[f"word_function_{lane}"] = unit = WordFunction(functions)
        container = words.word_select(lane, fmt.container_bits)
        below = fmt.container_bits - fmt.bits
        m.d.comb += unit.i.eq(container[below:])
        found += [Const(0, below), unit.o]
    return Cat(found)


def walk_members(part: MemoryPart, config: T2sConfig) -> dict[str, wiring.Member]:
    """Inputs that say where the runs of a job lie: ``base``, ``stride_<loop>``, both multiples of a
    beat, and ``trips_<name>``."""
    strides = {f"stride_{loop}": In(config.addr_bits) for loop in part.strides}
    trips = {
        f"trips_{step.count.name}": In(config.trip_bits)
        for step in part.steps
        if step.count.from_register
    }
    return {"base": In(config.addr_bits), **strides, **trips}


def connect_walk(m: Module, part: MemoryPart, component: Any, job: data.View[Any]) -> None:
    """Connect these inputs of a component with the job at hand, see ``job_layout``."""
    registers = {"base": base_register(part)}
    registers |= {f"stride_{loop}": stride_register(part, loop) for loop in part.strides}
    registers |= {
        f"trips_{step.count.name}": trips_register(step.count.name)
        for step in part.steps
        if step.count.from_register
    }
    m.d.comb += [
        getattr(component, name).eq(job[register.lower()]) for name, register in registers.items()
    ]


class RunWalker(wiring.Component):
    """Walks the loops around an image's runs.

    ``address = base + sum of stride * iteration``, over the loops in which the place moves. An
    address a cycle, without multipliers: each of these loops has a pointer. Entering its next
    iteration adds its stride to its pointer, and the pointers of the loops inside start there.
    Entering that of a loop in which nothing moves takes those inside back to where they began.
    Addresses wrap around.

    Parameters
    ----------
    part: the loops
    config: widths of addresses and trip counts

    Members
    -------
    start: pulse: begin at ``base``; needs ``stop`` low
    stop: end at once, forget the address that was offered
    base, stride_*, trips_*: see :func:`walk_members`; constant from ``start`` on
    running: addresses are left
    o: addresses
    """

    def __init__(self, part: MemoryPart, config: T2sConfig) -> None:
        self._config = config
        # A loop of one iteration does nothing.
        self._steps = [step for step in part.steps if step.count.extent != 1]
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **walk_members(part, config),
                "running": Out(1),
                "o": Out(stream.Signature(config.addr_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # `o.ready` arrives late, and all counters and pointers move with each address, which is
        # that of a beat.
        below = (self._config.beat_bytes - 1).bit_length()
        m.submodules.skid = skid = SkidBuffer(
            self._config.addr_bits - below, output_register=False, clearable=True
        )
        walks = Signal()
        moved = Signal()
        m.d.comb += [
            skid.clear.eq(self.stop),
            skid.i.valid.eq(walks),
            moved.eq(walks & skid.i.ready),
            self.running.eq(skid.o.valid),
            self.o.valid.eq(skid.o.valid),
            self.o.payload.eq(Cat(Const(0, below), skid.o.payload)),
            skid.o.ready.eq(self.o.ready),
        ]
        enters, ends = self._count(m, moved)
        self._point(m, below, skid.i.payload, moved, enters)
        with m.If((moved & ends) | self.stop):
            m.d.sync += walks.eq(0)
        with m.If(self.start):
            m.d.sync += walks.eq(1)
        return m

    def _count(self, m: Module, moved: Value) -> tuple[dict[str, Signal], Value]:
        """Counts iterations. Returns, by loop, whether the next move enters the next one of it, or
        of a loop around it; and whether all loops end with it.

        Whether an iteration is a loop's last comes from a register: adders wait for it."""
        enters: dict[str, Signal] = {}
        carry: Value = Const(1)
        for step in reversed(self._steps):
            name, trips = step.count.name, self._trips(step)
            # The first iteration is number 1.
            following = Signal(len(trips), init=2, name=f"following_{name}")
            last = Signal(name=f"last_{name}")
            enters[name] = entered = Signal(name=f"enters_{name}")
            m.d.comb += entered.eq(carry)
            with m.If(self.start | (moved & entered & last)):
                m.d.sync += [following.eq(2), last.eq(trips == 1)]
            with m.Elif(moved & entered):
                m.d.sync += [following.eq(following + 1), last.eq(following == trips)]
            carry = entered & last
        return enters, carry

    def _trips(self, step: Step) -> Value:
        if step.count.from_register:
            trips: Value = getattr(self, f"trips_{step.count.name}")
            return trips
        return Const(step.count.extent or 1)

    def _point(
        self, m: Module, below: int, beat: Value, moved: Value, enters: dict[str, Signal]
    ) -> None:
        """Sets the beat, whose address has ``below`` zeros below it, and moves the pointers: all of
        the loops that are entered to the same place."""
        bits = self._config.addr_bits - below
        base = self.base[below:]
        pointers: dict[str, Signal] = {}
        begin: Value = base
        # From the outermost loop on: the first that is entered says what is added to what.
        choices: list[tuple[Value, Value, Value]] = []
        for step in self._steps:
            name = step.count.name
            stride: Value = Const(0, bits)
            if step.moves:
                pointers[name] = begin = Signal(bits, name=f"at_{name}", reset_less=True)
                stride = getattr(self, f"stride_{name}")[below:]
            choices.append((enters[name], begin, stride))
        m.d.comb += beat.eq(begin)
        if not pointers:
            return
        _, origin, distance = choices.pop()
        for entered, its_origin, its_distance in reversed(choices):
            origin = Mux(entered, its_origin, origin)
            distance = Mux(entered, its_distance, distance)
        target = Signal(bits)
        # At the start all pointers are at the base.
        m.d.comb += target.eq(Mux(self.start, base, origin) + Mux(self.start, 0, distance))
        for name, pointer in pointers.items():
            with m.If(self.start | (moved & enters[name])):
                m.d.sync += pointer.eq(target)


def word_layout(word_bits: int, *, flagged: bool = False) -> data.StructLayout:
    """A word, all its lanes, lane 0 in the low bits. With flags, ``first``: sums begin with it, and
    ``last``: they are complete with it."""
    flags: dict[str, ShapeLike] = {"first": 1, "last": 1} if flagged else {}
    return data.StructLayout({"data": word_bits, **flags})


def in_containers(part: ElementPart, sums: Value) -> Value:
    """Sums that stand side by side in an element, each in its container."""
    fmt = part.arithmetic.result
    below = Const(0, fmt.container_bits - fmt.bits)
    words = (sums.word_select(n, fmt.bits) for n in range(part.vector))
    return Cat(Cat(below, word) for word in words)


def job_layout(config: T2sConfig) -> data.StructLayout:
    """A job: its registers by their members' names, as wide as their checks allow."""
    widths = {trips_register(index): config.trip_bits for index in config.plan.indices}
    widths |= {steps_register(part): STEPS_BITS for part in entries_parts(config)}
    known = {name.lower(): bits for name, bits in widths.items()}
    members = job_spec(config).members
    return data.StructLayout({name: known.get(name, config.addr_bits) for name in members})


def run_count_bits(config: T2sConfig) -> int:
    """Width of a request's number of beats: that of the longest run, or of a burst, in which
    tokens are requested."""
    runs = [part.run_beats(config.beat_bytes) for part in memory_parts(config)]
    bursts = [config.burst_beats] if config.plan.sparse else []
    return max(*runs, *bursts).bit_length()


class Loader(wiring.Component):
    """Requests the runs of an image, cuts their beats into words, and repeats the words.

    Words leave through the part's functions.

    Requests go ahead of the data, so that runs follow each other without a pause, those of one beat
    too. A word a cycle, if it is no wider than a beat; else a beat a cycle.

    Parameters
    ----------
    part: what is loaded
    config: widths of addresses and beats, bursts under way

    Members
    -------
    start: pulse: a job begins
    stop: level: drop everything
    base, stride_*, trips_*: where the runs lie, see :func:`walk_members`; constant in a job
    running: requests or words are left
    request, i: streams of a burst reader
    o: the words
    """

    def __init__(self, part: MemoryPart, config: T2sConfig) -> None:
        self._part, self._config = part, config
        request = request_layout(config.addr_bits, run_count_bits(config))
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **walk_members(part, config),
                "running": Out(1),
                "request": Out(stream.Signature(request)),
                "i": In(stream.Signature(data_layout(config.data_bits))),
                "o": Out(stream.Signature(word_layout(part.word_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part, config = self._part, self._config
        m.submodules.walker = walker = RunWalker(part, config)
        for name in ("start", "stop", *walk_members(part, config)):
            m.d.comb += getattr(walker, name).eq(getattr(self, name))
        # Runs that were requested and of which words are left. As many as a reader may have on the
        # bus, and more for those on the way to it and back.
        most = 2 * config.outstanding + 8
        under_way = Signal(range(most + 1))
        asked = Signal()
        brought = Signal()
        m.d.comb += [
            self.request.valid.eq(walker.o.valid & (under_way != most)),
            self.request.payload.address.eq(walker.o.payload),
            self.request.payload.beats.eq(part.run_beats(config.beat_bytes)),
            asked.eq(self.request.valid & self.request.ready),
            walker.o.ready.eq(asked),
            self.running.eq(walker.running | (under_way != 0)),
        ]
        m.d.comb += brought.eq(self._cut(m))
        with m.If(self.stop):
            m.d.sync += under_way.eq(0)
        with m.Else():
            m.d.sync += under_way.eq(under_way + asked - brought)
        return m

    def _cut(self, m: Module) -> Signal:
        """Cuts beats into words, each repeated as often as wanted.

        Returns whether the last word of a run leaves.
        """
        part = self._part
        m.submodules.words = words = Gearbox(
            self._config.beat_bytes, (part.word_bits // 8,), part.run_words.bit_length()
        )
        brought = Signal()
        m.d.comb += [
            words.clear.eq(self.stop),
            # All runs are alike, and only their beats come.
            words.request.valid.eq(1),
            words.request.payload.count.eq(part.run_words),
            words.lines.valid.eq(self.i.valid),
            words.lines.payload.eq(self.i.payload.data),
            self.i.ready.eq(words.lines.ready),
            self.o.valid.eq(words.o.valid & ~self.stop),
            self.o.payload.data.eq(through(m, part.functions, words.o.payload.data)),
            words.o.ready.eq(self.o.ready),
            brought.eq(self.o.valid & words.o.ready & words.o.payload.last),
        ]
        if part.repeats > 1:
            number = Signal(range(part.repeats))
            again = Signal()
            m.d.comb += [
                again.eq(number != part.repeats - 1),
                words.o.ready.eq(self.o.ready & ~again),
            ]
            with m.If(self.stop):
                m.d.sync += number.eq(0)
            with m.Elif(self.o.valid & self.o.ready):
                m.d.sync += number.eq(Mux(again, number + 1, 0))
        return brought
