"""Words through a network of functions, counted, not looked at: who waits for whom.

What functions wait for does not depend on what words are. So each is a sequence of segments: so
many words, each taken from some queues and put into others, all at once.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ...spec.t2s.network import Copy, End, Link
from ...spec.t2s.parts import Count, Design, FeederPart, MoverPart, RoutePart

__all__ = ["Network", "Stopped"]

_ALL = 1 << 60

Segment = tuple[int, tuple[int, ...], tuple[int, ...]]
"""So many words; queues from which each is taken, and those into which it is put."""


class Stopped(RuntimeError):
    """All wait for each other.

    Members
    -------
    full: channels that had no room for what somebody would put there
    """

    def __init__(self, message: str, full: frozenset[str]) -> None:
        super().__init__(message)
        self.full = full


@dataclass(slots=True)
class _Process:
    name: str
    segments: Iterator[Segment]
    left: int = 0
    takes: tuple[int, ...] = ()
    puts: tuple[int, ...] = ()


class Network:
    """The functions of a design at work on a small job.

    Parameters
    ----------
    design: its parts
    room: how many words the queue of a link holds, given how many sums an element has
    trips: trip counts of loops that registers have, by name; 1 of those that are not there
    longest: no loop of the sums that an element keeps, and none that is summed over, goes round
        more often; None: all have the trip counts that they have
    """

    def __init__(
        self,
        design: Design,
        room: Callable[[Link, int], int],
        trips: Mapping[str, int],
        longest: int | None = None,
    ) -> None:
        self._design, self._registers, self._longest = design, trips, longest
        (sums,) = design.program.function(design.element.name).buffers
        self._kept = {one.name for one in sums.dimensions}
        self._sums = prod(self._constant(one.name, one.extent) for one in sums.dimensions)
        self._names: list[str] = []
        self._room: list[int] = []
        self._level: list[int] = []
        self._at: dict[End, int] = {}
        self._processes: list[_Process] = []
        memory = {one.name for one in (*design.loaders, design.unloader)}
        for link in design.links:
            loads, stores = link.source.function in memory, link.sink.function in memory
            queue = self._queue(
                link.channel,
                _ALL if loads or stores else room(link, self._sums),
                _ALL if loads else 0,
            )
            self._at[link.source] = self._at[link.sink] = queue
            if stores:
                self._results = queue
        runs = prod(self._trips(one.count) for one in design.unloader.steps)
        run = (self._constant(one.name, one.extent) for one in design.unloader.run)
        self._wanted = prod(run) * runs
        parts: dict[str, MoverPart | RoutePart] = {one.name: one for one in design.movers}
        parts |= {one.name: one for one in design.routes}
        feeders = {one.name: one for one in design.feeders}
        for copy in design.copies:
            if copy.function in feeders:
                self._feeder(feeders[copy.function], copy)
            elif copy.function == design.element.name:
                self._element(copy)
            elif isinstance(part := parts.get(copy.function), MoverPart):
                self._mover(part, copy)
            elif isinstance(part, RoutePart):
                self._route(part, copy)

    def run(self) -> None:
        """Until all results have come. Raises Stopped.

        Who goes first makes no difference. Whoever cannot go on is asked again when the queue for
        which it waits has changed, not before.
        """
        level, results, wanted = self._level, self._results, self._wanted
        self._room[results] = wanted
        waiting: dict[int, list[_Process]] = {}
        ready = deque(self._processes)
        while ready and level[results] < wanted:
            process = ready.popleft()
            needed = self._step(process, waiting, ready)
            waiting.setdefault(needed, []).append(process)
        if level[results] < wanted:
            raise self._stopped()

    def _step(
        self, process: _Process, waiting: dict[int, list[_Process]], ready: deque[_Process]
    ) -> int:
        """Move what can be moved; returns the queue that has to change before more can be.

        Those who wait for a queue that changes are ready.
        """
        level, room = self._level, self._room
        needed = -1
        while needed < 0:
            while not process.left:
                process.left, process.takes, process.puts = next(process.segments)
            words, takes, puts = process.left, process.takes, process.puts
            for queue in takes:
                if level[queue] < words:
                    words, needed = level[queue], queue
            for queue in puts:
                if room[queue] - level[queue] < words:
                    words, needed = room[queue] - level[queue], queue
            if not words:
                break
            process.left -= words
            for queue in takes:
                level[queue] -= words
                if queue in waiting:
                    ready.extend(waiting.pop(queue))
            for queue in puts:
                level[queue] += words
                if queue in waiting:
                    ready.extend(waiting.pop(queue))
        return needed

    def _stopped(self) -> Stopped:
        full, waiting = set(), []
        for one in self._processes:
            stuck = {self._names[n] for n in one.puts if self._level[n] >= self._room[n]}
            empty = {self._names[n] for n in one.takes if not self._level[n]}
            reasons = [*(f"{n} is full" for n in stuck), *(f"{n} is empty" for n in empty)]
            waiting.append(f"{one.name} waits, {', '.join(sorted(reasons))}")
            full |= stuck
        told = "; ".join(waiting[:8]) + (f"; and {len(waiting) - 8} more" if waiting[8:] else "")
        return Stopped(told, frozenset(full))

    def _queue(self, name: str, room: int, level: int = 0) -> int:
        self._names.append(name)
        self._room.append(room)
        self._level.append(level)
        return len(self._names) - 1

    def _of(self, copy: Copy, port: str, branch: int | None = None) -> tuple[int, ...]:
        """The queue at a port, if there is one."""
        end = End(copy.function, copy.place, port, branch)
        return (self._at[end],) if end in self._at else ()

    def _add(self, name: str, segments: Iterable[Segment]) -> None:
        self._processes.append(_Process(name, itertools.cycle(segments)))

    def _trips(self, one: Count) -> int:
        """Iterations of a loop here."""
        if one.extent is None:
            return self._registers.get(one.name, 1)
        return self._constant(one.name, one.extent)

    def _constant(self, name: str, extent: int | None) -> int:
        """Iterations of a loop of a constant trip count here."""
        trips = extent or 1
        cut = self._longest is not None and (name in self._summed or name in self._kept)
        return min(trips, self._longest or trips) if cut else trips

    @property
    def _summed(self) -> tuple[str, ...]:
        """Loops that are summed over: those that flags are about."""
        flags = [one.flags for one in self._design.movers if one.flagged]
        flags += [one.flags for one in self._design.feeders if one.flagged]
        return flags[0]

    def _words(self, nest: Iterable[Count]) -> int:
        return prod(self._trips(one) for one in nest)

    def _element(self, copy: Copy) -> None:
        always, starting = self._operands(copy, starts=False), self._operands(copy, starts=True)
        takes, puts = (a + b for a, b in zip(always, starting, strict=True))
        results = self._of(copy, "o")
        # Operations that begin sums, those of neither, those that complete sums.
        segments = [
            (self._sums, takes, puts),
            ((self._products() - 2) * self._sums, *always),
            (self._sums, always[0], (*always[1], *results)),
        ]
        if self._products() == 1:
            segments = [(self._sums, takes, (*puts, *results))]
        if not self._design.element.overlaps:
            # Complete sums leave when all of them are there.
            segments = [
                *((words, given, tuple(one for one in sent if one not in results))
                  for words, given, sent in segments),
                (self._sums, (), results),
            ]  # fmt: skip
        self._add(copy.name, segments)

    def _operands(self, copy: Copy, *, starts: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Queues from which an element takes what sums start from, or what is multiplied, and those
        into which it passes it on."""
        takes: tuple[int, ...] = ()
        puts: tuple[int, ...] = ()
        for operand in self._design.element.operands:
            if operand.starts == starts:
                takes += self._of(copy, f"i_{operand.name}")
                for loop in operand.forwards:
                    puts += self._of(copy, f"o_{operand.name}_{loop}")
        return takes, puts

    def _products(self) -> int:
        """How many products a sum is of."""
        nests = [one.nest for one in self._design.movers if one.flagged]
        nests += [(*one.around, *one.read) for one in self._design.feeders if one.flagged]
        return self._words(loop for loop in nests[0] if loop.name in self._summed)

    def _mover(self, part: MoverPart, copy: Copy) -> None:
        i, behind, o, onward = (self._of(copy, port) for port in ("i", "i_behind", "o", "o_onward"))
        if part.packs:
            self._add(copy.name, [(1, (*i, *behind), o)])
            return
        own = (i, o)
        other = (behind if part.gathers else i, onward if part.scatters else o)
        segments = [(words, *ports) for words, ports in self._turns(part.nest, copy, own, other)]
        self._add(copy.name, segments)

    def _turns(
        self,
        nest: tuple[Count, ...],
        copy: Copy,
        own: tuple[tuple[int, ...], tuple[int, ...]],
        other: tuple[tuple[int, ...], tuple[int, ...]],
    ) -> Iterator[tuple[int, tuple[tuple[int, ...], tuple[int, ...]]]]:
        """Words of a nest, in each iteration of what is around its turn."""
        place = next((n for n, one in enumerate(nest) if one.turn), None)
        if place is None:
            yield max(1, self._words(nest)), own
            return
        inside = self._words(nest[place + 1 :])
        others = (copy.ahead * inside, other)
        for _ in range(self._words(nest[:place])):
            if nest[place].own_last:
                yield others
                yield inside, own
            else:
                yield inside, own
                yield others

    def _feeder(self, part: FeederPart, copy: Copy) -> None:
        i, o, onward = (self._of(copy, port) for port in ("i", "o", "o_onward"))
        blocks = 2 if part.double else 1
        free = self._queue(part.name, blocks, blocks)
        filled = self._queue(part.name, blocks)
        own = (i, ())
        fill: list[Segment] = []
        for words, ports in self._turns(part.fill, copy, own, (i, onward)):
            if ports == own and not any(one == (1, (free,), ()) for one in fill):
                fill.append((1, (free,), ()))
            fill.append((words, *ports))
        fill.append((1, (), (filled,)))
        read = [(1, (filled,), ()), (self._words(part.read), (), o), (1, (), (free,))]
        self._add(copy.name, fill)
        self._add(copy.name, read)

    def _route(self, part: RoutePart, copy: Copy) -> None:
        stem = self._of(copy, "o" if part.joins else "i")
        inner = max(n for n, one in enumerate(part.nest) if one.name in part.routed)
        segments = []
        walked = part.nest[: inner + 1]
        for at in itertools.product(*(range(self._trips(one)) for one in walked)):
            by_name = dict(zip((one.name for one in walked), at, strict=True))
            branch = 0
            for name, extent in zip(part.routed, part.extents, strict=True):
                branch = branch * extent + by_name[name]
            queue = self._of(copy, "branches", branch)
            ports = (queue, stem) if part.joins else (stem, queue)
            segments.append((self._words(part.nest[inner + 1 :]), *ports))
        self._add(copy.name, segments)
