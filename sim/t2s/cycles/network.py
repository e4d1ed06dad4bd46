"""A design as processes and queues: what the cycle model is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from ....hw.spec.t2s.design import Copy, Design, End
from ....hw.spec.t2s.parts import Count, FeederPart, MoverPart, RoutePart
from ....hw.spec.t2s.timing import FEW_SUMS, interlocked, timing_of
from ...timing.bursts.state import Managers
from ...timing.parts import record

# State of the cycle model, as arrays that compiled code works on.
#
# Words are counted, not looked at: what a function waits for does not depend on what they are.

MOVES, JOINS, ELEMENT = range(3)
"""Kinds of processes: a word from a queue to another one; one from each of some to each of others;
an element."""

ALWAYS, LAST, NEVER = range(3)
"""Times at which a process takes a word from a queue, or puts one into it: with every word that it
moves, with the last of a segment, or never."""


QUEUE = record(
    # Words that it holds at most, and now; whether there is room, too, if one is taken in the same
    # cycle; whether it holds none, and has a word only while one is put.
    *("depth", "level", "passes", "wire"),
    # In this cycle: whether a word is taken, and put.
    *("took", "put"),
)
PROCESS = record(
    "kind",
    # Moves: segments, and where it is in them. Others: queues from which it takes; an element's
    # number.
    *("first", "count", "at", "left"),
    # Others: queues to which it puts.
    *("puts", "put_count"),
)
SEGMENT = record("words", "take", "take_when", "put", "put_when")
ELEMENTS = record(
    # Operations of all its sums, the first of them that complete some, and where it is.
    *("period", "completes", "at"),
    # Cycles from an operation to its sum; sums; whether operations wait for those before; which of
    # the last ones completed a sum, and which there were; of these how many, of the others those
    # whose results have not left.
    *("latency", "sums", "waits", "completing", "begun", "under", "owed"),
    # Set if results leave while the next sums are computed; else set while complete ones leave.
    *("overlaps", "drains"),
    # The queue of results, and the one at its output; of its ports the last ones that are for
    # operations that begin a sum.
    *("results", "output", "start_takes", "start_puts"),
)
IMAGE = record(
    # The walk: loops, whether addresses are left, the beat at hand.
    *("loops", "running", "place"),
    # Beats and words of a run, bytes of a word; how often each is sent, and which time it is.
    *("beats", "run", "word", "repeats", "number"),
    # Runs that were requested and are not over, and how many may be.
    *("under", "most"),
    # The queue on its array's side.
    "queue",
    # A loader's gearbox: bytes, words of the run that are left, the word at its output.
    *("level", "left", "valid", "last"),
    # An unloader's packer, beside its bytes: words of the run that came, whether all did.
    *("words", "complete"),
)
MACHINE = record("busy", "first", "latest")


class Array(NamedTuple):
    """Everything.

    ``m`` [0]; ``queues``; ``processes``, so that what takes from a queue stands before what puts
    there; ``offers``: those that pass words on without a register, the other way; ``segments``;
    ``ports``: queues, by the number that processes have; ``elements``; ``images``: of the loaders,
    then of the unloader; ``trips``, ``strides``, ``numbers``, ``begins`` [image, loop]: of a walk,
    in beats, outermost loop first.
    """

    m: Any
    queues: Any
    processes: Any
    offers: Any
    segments: Any
    ports: Any
    elements: Any
    images: Any
    trips: Any
    strides: Any
    numbers: Any
    begins: Any
    b: Managers


Trips = Mapping[str, int]


def words_of(nest: Iterable[Count], trips: Trips) -> int:
    """Iterations of a nest without a turn."""
    return prod(trips[one.name] if one.extent is None else one.extent for one in nest)


def turns_of(nest: tuple[Count, ...], copy: Copy, trips: Trips) -> Iterator[tuple[int, bool, bool]]:
    """Words of a nest, by its turn: whether they are the copy's own, and the last of those."""
    place = next((n for n, one in enumerate(nest) if one.turn), None)
    if place is None:
        yield words_of(nest, trips), True, True
        return
    inside, rounds = words_of(nest[place + 1 :], trips), words_of(nest[:place], trips)
    for number in range(rounds):
        own = (inside, True, number == rounds - 1)
        others = (copy.ahead * inside, False, False)
        yield from (others, own) if nest[place].own_last else (own, others)


def visits_of(part: RoutePart, trips: Trips) -> Iterator[tuple[int, int]]:
    """Words that a route brings, one after the other, to or from a queue, and its number."""
    inner = max(n for n, one in enumerate(part.nest) if one.name in part.routed)
    walked = part.nest[: inner + 1]
    words = words_of(part.nest[inner + 1 :], trips)
    for number in range(words_of(walked, trips)):
        at: dict[str, int] = {}
        for one in reversed(walked):
            number, at[one.name] = divmod(number, words_of([one], trips))
        branch = 0
        for name, extent in zip(part.routed, part.extents, strict=True):
            branch = branch * extent + at[name]
        yield words, branch


def operations_of_sums(design: Design, trips: Trips) -> int:
    """Operations in which an element completes all its sums once."""
    nests = [(one.nest, one.flags) for one in design.movers if one.flagged]
    nests += [((*one.around, *one.read), one.flags) for one in design.feeders if one.flagged]
    nest, flags = nests[0]
    return words_of((one for one in nest if one.name in flags), trips) * design.element.sums


_FEW = 16
"""Queues of so many words are read without a clock."""

_ENDLESS = 1 << 60
"""More words than there are."""

Segment = tuple[int, int, int, int, int]
"""Number of words from one queue to another, with the times at which they are taken and put."""


@dataclass(frozen=True)
class Queue:
    """Buffers words between two processes.

    Parameters
    ----------
    depth: words
    passes: whether there is room for one, too, if one is taken in the same cycle: a register, or
        nothing at all
    """

    depth: int
    passes: bool = False


@dataclass(frozen=True)
class Process:
    """See ``state.PROCESS``.

    Parameters
    ----------
    kind: what it is
    takes, puts: queues
    segments: of one that moves words
    """

    kind: int
    takes: tuple[int, ...]
    puts: tuple[int, ...]
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Elements:
    """State of each element; see ``state.ELEMENTS``."""

    results: int
    output: int
    start_takes: int
    start_puts: int


class Network:
    """The processes and queues of a design, for trip counts of registers.

    Parameters
    ----------
    design: its parts
    trips: trip counts of indices' outermost loops

    Members
    -------
    queues, processes, elements: in the order of copies
    at: by port of a copy, the queue that it takes from or puts to
    wires: queues that hold nothing: what is put there is taken in the same cycle
    """

    def __init__(self, design: Design, trips: Mapping[str, int]) -> None:
        self._design, self._trips = design, trips
        self.queues: list[Queue] = []
        self.processes: list[Process] = []
        self.elements: list[Elements] = []
        self.at: dict[End, int] = {}
        self.wires: set[int] = set()
        self._outputs: dict[int, int] = {}
        self._feeders = {one.name: one for one in design.feeders}
        for link in design.links:
            self._link(link.source, link.sink, link.depth)
        movers = {one.name: one for one in design.movers}
        routes = {one.name: one for one in design.routes}
        for copy in design.copies:
            if copy.function in self._feeders:
                self._feeder(self._feeders[copy.function], copy)
            elif copy.function == design.element.name:
                self._element(copy)
            elif copy.function in movers:
                self._mover(movers[copy.function], copy)
            elif copy.function in routes:
                self._route(routes[copy.function], copy)

    @property
    def period(self) -> int:
        """Operations of an element for all its sums."""
        return operations_of_sums(self._design, self._trips)

    @property
    def latency(self) -> int:
        """Cycles from an operation to its sum."""
        found = timing_of(self._design.element)
        return found.lead + found.latency

    @property
    def waits(self) -> bool:
        """Tells whether operations wait for earlier ones."""
        element = self._design.element
        return interlocked(element.sums, timing_of(element).latency)

    def _queue(self, depth: int, *, passes: bool = False) -> int:
        self.queues.append(Queue(depth, passes))
        return len(self.queues) - 1

    def _pass(self, source: int, sink: int) -> None:
        """Words go on as they come."""
        segment = (_ENDLESS, source, ALWAYS, sink, ALWAYS)
        self.processes.append(Process(MOVES, (source,), (sink,), (segment,)))

    def _memory(self, depth: int) -> tuple[int, int]:
        """A queue in a memory, and the register at its output."""
        ends = self._queue(depth), self._queue(1, passes=True)
        self._pass(*ends)
        return ends

    def _link(self, source: End, sink: End, depth: int) -> None:
        """Adds the queue of a link, after the source's own queues."""
        own = self._own(source)
        if own is not None:
            self.at[source], out = own
            self._outputs[self.at[source]] = out
            if not depth:
                self.at[sink] = out
                return
        if depth > _FEW:
            ends = self._memory(depth - 1)
        else:
            ends = (self._queue(max(1, depth), passes=depth < 2),) * 2
        if not depth:
            self.wires.add(ends[0])
        if own is None:
            self.at[source] = ends[0]
        else:
            self._pass(own[1], ends[0])
        self.at[sink] = ends[1]

    def _own(self, source: End) -> tuple[int, int] | None:
        """Queues that belong to what sends: from where it puts words to where they leave."""
        design = self._design
        if source.function in [one.name for one in design.loaders]:
            return (self._queue(1, passes=True),) * 2
        element = source.function == design.element.name and source.port == "o"
        if element and design.element.overlaps:
            sums = design.element.sums
            return self._memory(sums) if sums > FEW_SUMS else (self._queue(sums),) * 2
        feeder = self._feeders.get(source.function)
        if feeder and source.port == "o" and prod(feeder.extents) > 1:
            return (self._queue(1, passes=True),) * 2
        return None

    def _of(self, copy: Copy, port: str, branch: int | None = None) -> int:
        """The queue at a port; -1 if there is none."""
        return self.at.get(End(copy.function, copy.place, port, branch), -1)

    def _move(self, segments: Iterable[Segment]) -> None:
        found = tuple(one for one in segments if one[0])
        takes = tuple(dict.fromkeys(one[1] for one in found))
        puts = tuple(dict.fromkeys(one[3] for one in found))
        assert min(*takes, *puts) >= 0
        self.processes.append(Process(MOVES, takes, puts, found))

    def _element(self, copy: Copy) -> None:
        takes, puts = self._operands(copy, starts=False)
        start_takes, start_puts = self._operands(copy, starts=True)
        results = self._of(copy, "o")
        self.processes.append(Process(ELEMENT, takes + start_takes, puts + start_puts))
        self.elements.append(
            Elements(
                results, self._outputs.get(results, results), len(start_takes), len(start_puts)
            )
        )

    def _operands(self, copy: Copy, *, starts: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the queues of the operands that start sums, or of those that are multiplied: the
        ones that an element reads, and the ones to which it forwards."""
        takes, puts = [], []
        for operand in self._design.element.operands:
            if operand.starts == starts:
                takes.append(self._of(copy, f"i_{operand.name}"))
                puts += [self._of(copy, f"o_{operand.name}_{loop}") for loop in operand.forwards]
        # At the end of a row words go nowhere.
        return tuple(takes), tuple(one for one in puts if one >= 0)

    def _mover(self, part: MoverPart, copy: Copy) -> None:
        i, behind, o, onward = (self._of(copy, port) for port in ("i", "i_behind", "o", "o_onward"))
        if part.packs and copy.ahead:
            self.processes.append(Process(JOINS, (i, behind), (o,)))
            return
        other = (behind if part.gathers else i, onward if part.scatters else o)
        self._move(
            (words, *((i, ALWAYS, o, ALWAYS) if own else (other[0], ALWAYS, other[1], ALWAYS)))
            for words, own, _ in turns_of(part.nest, copy, self._trips)
        )

    def _feeder(self, part: FeederPart, copy: Copy) -> None:
        i, o, onward = (self._of(copy, port) for port in ("i", "o", "o_onward"))
        blocks = self._queue(1 + part.double)
        # The last word makes a block of those that were taken; all need room for it.
        self._move(
            (words, i, ALWAYS, *((blocks, LAST if last else NEVER) if own else (onward, ALWAYS)))
            for words, own, last in turns_of(part.fill, copy, self._trips)
        )
        self._move([(words_of(part.read, self._trips), blocks, LAST, o, ALWAYS)])

    def _route(self, part: RoutePart, copy: Copy) -> None:
        stem = self._of(copy, "o" if part.joins else "i")
        segments: list[Segment] = []
        for words, branch in visits_of(part, self._trips):
            queue = self._of(copy, "branches", branch)
            source, sink = (queue, stem) if part.joins else (stem, queue)
            segments.append((words, source, ALWAYS, sink, ALWAYS))
        self._move(segments)
