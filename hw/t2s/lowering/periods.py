"""A design's run, cut into periods: depths that are enough for each are enough for all jobs.

What a copy of a function takes and puts, and in which order, depends on no word, and on trip counts
of registers only by how often it goes round. So its run is cut at the iterations of the loops that
registers count, and of constant ones around these.

* Periods have an order, in which each copy does what it does in them: that of their loops, which
  all functions must go round in the same order. An unrolled loop may stand outside of one in an
  element, and turns be counted inside of it.
* Each end of a queue has one owner, who waits for nothing but words and room. So whether all end
  does not depend on who goes first. If each period ends by itself, starting with the words that
  those before it have left in queues, then the run ends: they could be done one after the other.
* An iteration that is neither the first nor the last must leave as many words in each queue as it
  finds; so it may come any number of times. One that is both must leave what a first and a last
  one leave. In the end no word is left: the next job starts like the first. So a few periods stand
  for all trip counts.
* Words are carried from one period to another in queues only. Blocks of a feeder's buffer count as
  words of two queues, those that are free and those that are filled; results wait in a queue of
  their element's. A loader waits for room in front of it and for memory, the unloader for memory:
  a reader asks the bus for what it has room for, so none keeps words of another one back.

If all periods begin with empty queues, depths that are enough for a run are so for each of them:
what has to come before what in a period has to in the run. Depths that such periods need are the
least ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby, product

from ...spec.t2s.design import Copy, Design
from ...spec.t2s.loops import Loop
from ...spec.t2s.parts import Count, FeederPart, MoverPart, RoutePart
from ...spec.t2s.periods import element_loops, period_loops, plain_name, walked_loops
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import Receive
from .cuts import Cuts, Iteration, Kind
from .moving import buffer_loops
from .queues import Queues, named, turn_of
from .transfers import Segment, Unaligned, Visit, Work, count_of, done_by, through

_CHOSEN = -1
"""Stands for the queue that a route chooses."""

Ports = tuple[tuple[int, ...], tuple[int, ...]]
"""Queues that words are taken from, and queues that they are put into."""


class Workers:
    """The copies of functions of a design.

    Parameters
    ----------
    design: its parts
    queues: between them
    cut: loops in each iteration of which there is a period
    trips: trip counts of other loops that registers have, by name; 1 of those that are not there
    """

    def __init__(
        self, design: Design, queues: Queues, cut: tuple[str, ...], trips: Mapping[str, int]
    ) -> None:
        self._design, self._queues = design, queues
        self._cuts = Cuts(design.program, cut, trips)
        self._functions = {one.name: one for one in design.program.functions if not one.host}
        self._done = {name: done_by(one) for name, one in self._functions.items()}
        self._parts: dict[str, FeederPart | MoverPart] = {one.name: one for one in design.feeders}
        self._parts |= {one.name: one for one in design.movers}
        # The route of each queue that has a function at the other end.
        routes = {one.name: one for one in design.routes}
        self._routed: dict[int, tuple[RoutePart, Copy]] = {}
        for copy in design.copies:
            if (part := routes.get(copy.function)) is not None:
                (stem,) = queues.at(copy, "o" if part.joins else "i")
                self._routed[stem] = part, copy

    def works(self, kind: Kind) -> Iterator[Work]:
        """Yields the work of the functions in a period of a kind.

        Raises Unaligned if the work does not end with the period.
        """
        for copy in self._design.copies:
            function = self._functions.get(copy.function)
            if function is None or not self._cuts.takes_part(function, copy, kind):
                continue
            for work in self._of(function, copy, kind):
                yield from self._with_routes(work, kind)

    def _of(self, function: Function, copy: Copy, kind: Kind) -> Iterator[Work]:
        part = self._parts.get(function.name)
        if isinstance(part, FeederPart):
            yield from self._feeder(part, function, copy)
        elif isinstance(part, MoverPart):
            yield Work(copy.name, 1, self._mover(part, function, copy, kind))
        elif function.name == self._design.element.name:
            yield self._element(function, copy, kind)
        else:
            words = self._cuts.words(self._cuts.inner(self._done[function.name][0].loops))
            ports = self._queues.at(copy, "i"), self._queues.at(copy, "o")
            yield Work(copy.name, 1, ((words, *ports),))

    def _element(self, function: Function, copy: Copy, kind: Kind) -> Work:
        sums = self._design.element.sums
        always, starting = self._operands(copy, starts=False), self._operands(copy, starts=True)
        done = self._done[function.name]
        loops = next(one.loops for one in done if isinstance(one.what, Receive))
        summed = {one.loop.name for one in loops if one.loop.reduces}
        inner = self._cuts.inner(loops)
        products = self._cuts.words(one for one in inner if one.name in summed)
        words, block = self._cuts.words(inner), products * sums
        if words % block:
            raise Unaligned(f"{copy.name} ends within a block of sums")
        periods = [kind[name] for name in summed & kind.keys()]
        begins = starting if all(one.first for one in periods) else ((), ())
        ends = self._queues.at(copy, "o") if all(one.last for one in periods) else ()
        # Operations that begin sums, those of neither, those that complete sums.
        operations = [always] * products
        operations[0] = always[0] + begins[0], always[1] + begins[1]
        if self._design.element.overlaps:
            operations[-1] = operations[-1][0], operations[-1][1] + ends
        segments = [(sums * len(list(its)), *ports) for ports, its in groupby(operations)]
        if ends and not self._design.element.overlaps:
            # Complete sums leave when all of them are there.
            segments.append((sums, (), ends))
        return Work(copy.name, words // block, tuple(segments))

    def _operands(self, copy: Copy, *, starts: bool) -> Ports:
        """Queues from which an element takes what sums start from, or what is multiplied, and those
        into which it passes it on."""
        takes: tuple[int, ...] = ()
        puts: tuple[int, ...] = ()
        for operand in self._design.element.operands:
            if operand.starts == starts:
                takes += self._queues.at(copy, f"i_{operand.name}")
                for loop in operand.forwards:
                    puts += self._queues.at(copy, f"o_{operand.name}_{loop}")
        return takes, puts

    def _mover(
        self, part: MoverPart, function: Function, copy: Copy, kind: Kind
    ) -> tuple[Segment, ...]:
        at = self._queues.at
        i, behind, o, onward = (at(copy, port) for port in ("i", "i_behind", "o", "o_onward"))
        loops = self._done[function.name][0].loops
        inner = self._cuts.inner(loops)
        if part.packs:
            return ((self._cuts.words(inner), (*i, *behind), o),)
        own = (i, o)
        other = (behind if part.gathers else i, onward if part.scatters else o)
        turn = next((one for one in loops if one.first is not None), None)
        if turn is None or any(one.turn for one in inner):
            return tuple(self._turns(inner, copy, own, other))
        # The turn does not change in a period.
        now = kind[self._cuts.plain(turn)].value
        turns = turn_of(turn, named(function, copy.place))
        if now is None or now not in turns:
            return ()
        mine = turns[-1] if count_of(turn).own_last else turns[0]
        return ((self._cuts.words(inner), *(own if now == mine else other)),)

    def _turns(
        self, nest: tuple[Count, ...], copy: Copy, own: Ports, other: Ports
    ) -> Iterator[Segment]:
        """Words of a nest, in each iteration of what is around its turn."""
        place = next((n for n, one in enumerate(nest) if one.turn), None)
        if place is None:
            yield self._cuts.words(nest), *own
            return
        inside = self._cuts.words(nest[place + 1 :])
        turns = [(inside, *own), (copy.ahead * inside, *other)]
        if nest[place].own_last:
            turns.reverse()
        for _ in range(self._cuts.words(nest[:place])):
            yield from (one for one in turns if one[0])

    def _feeder(self, part: FeederPart, function: Function, copy: Copy) -> Iterator[Work]:
        at = self._queues.at
        i, o, onward, free, filled = (
            at(copy, port) for port in ("i", "o", "o_onward", "free", "filled")
        )
        around, *_ = buffer_loops(function)
        blocks = self._cuts.words(self._cuts.inner(around))
        fill = list(self._turns(part.fill, copy, (i, ()), (i, onward)))
        mine = [n for n, one in enumerate(fill) if one[1:] == (i, ())]
        # A block is filled with its last word, before others pass.
        fill.insert(mine[-1] + 1, (1, (), filled))
        fill.insert(mine[0], (1, free, ()))
        yield Work(copy.name, blocks, tuple(fill))
        words = self._cuts.words(part.read)
        yield Work(copy.name, blocks, ((1, filled, ()), (words, (), o), (1, (), free)))

    def _with_routes(self, work: Work, kind: Kind) -> Iterator[Work]:
        """Yields the work, and that of the routes of its words."""
        for stem in work.queues:
            if stem not in self._routed:
                continue
            part, copy = self._routed[stem]
            visits = self._visits(part, copy, kind)
            if self._queues.joins(stem):
                work = through(work, stem, visits)
                continue
            ports: Ports = ((_CHOSEN,), (stem,)) if part.joins else ((stem,), (_CHOSEN,))
            words = abs(work.words(stem))
            yield through(Work(copy.name, 1, ((words, *ports),)), _CHOSEN, visits)
        yield work

    def _visits(self, part: RoutePart, copy: Copy, kind: Kind) -> tuple[Visit, ...]:
        """Queues in the order in which a route chooses them in a period."""
        inner = [one for one in part.nest if one.name not in kind]
        chosen = [n for n, one in enumerate(inner) if one.name in part.routed]
        walked = inner[: max(chosen) + 1] if chosen else []
        words = self._cuts.words(inner[len(walked) :])
        found = []
        for at in product(*(range(self._cuts.words((one,))) for one in walked)):
            values = dict(zip((one.name for one in walked), at, strict=True))
            branch = 0
            for name, extent in zip(part.routed, part.extents, strict=True):
                value = kind[name].value if name in kind else values[name]
                assert value is not None
                branch = branch * extent + value
            (queue,) = self._queues.at(copy, "branches", branch)
            found.append((words, queue))
        return tuple(found)


Levels = tuple[int, ...]
"""Words in each queue."""

Period = tuple[Levels, tuple[Work, ...]]
"""Words in queues at the beginning of a period, and the work done in it."""

_ONLY, _FIRST, _INNER, _LAST = (
    Iteration(None, *ends) for ends in ((True, True), (True, False), (False, False), (False, True))
)


class Unbounded(ValueError):
    """Raised when no depths are known that suffice for all jobs."""


def job(design: Design, queues: Queues, trips: Mapping[str, int]) -> Period:
    """Returns the work of a whole job with these trip counts of registers; a missing count is 1."""
    works = Workers(design, queues, (), trips).works({})
    return tuple(queues.begins), tuple(one for one in works if one.segments)


def periods(design: Design, queues: Queues) -> list[Period]:
    """Returns all different periods of jobs of any trip counts. Raises Unbounded."""
    try:
        walk = _Walk(design, queues)
        walk.all()
    except Unaligned as error:
        name = design.program.name
        raise Unbounded(f"no depths of queues are known with which {name} ends: {error}") from error
    return list(walk.found)


class _Walk:
    """Walks the loops that cut a run.

    Members
    -------
    found: periods, each once
    """

    def __init__(self, design: Design, queues: Queues) -> None:
        self._queues = queues
        self._program = design.program
        cut = period_loops(design.program)
        self._workers = Workers(design, queues, cut, {})
        functions = [one for one in design.program.functions if not one.host]
        self._loops = [*_in_order(design.program, cut)]
        walked = [walked_loops(one) for one in functions]
        self._unrolled = {loop.name for one in functions for loop in one.instances}
        self._unrolled |= {name for one in design.routes for name in one.routed}
        every = {one.name for one in self._loops if all(one in its for its in walked)}
        summed = {one.name for one in self._loops if one.reduces}
        self._alike = every - summed - self._unrolled
        self.found: dict[Period, None] = {}

    def all(self) -> None:
        begins = tuple(self._queues.begins)
        self._unchanged(begins, self._within(0, {}, begins), self._program.name)
        for levels, _ in self.found:
            for name, words in zip(self._queues.names, levels, strict=True):
                if words < 0:
                    raise Unbounded(
                        f"{self._program.name} would stop: words of {name} are needed before they "
                        "come"
                    )

    def _within(self, number: int, kind: Kind, levels: Levels) -> Levels:
        """All iterations of a loop, in one of those around; returns words that are left then."""
        if number == len(self._loops):
            return self._period(kind, levels)
        loop = self._loops[number]

        def through(one: Iteration, before: Levels) -> Levels:
            return self._within(number + 1, {**kind, loop.name: one}, before)

        if loop.name in self._alike:
            return self._unchanged(levels, through(_ONLY, levels), loop.name)
        if loop.extent is not None:
            done: tuple[Iteration, Levels] | None = None
            for one in _iterations(loop, told_apart=loop.name in self._unrolled):
                if done != (one, levels):
                    done, levels = (one, levels), through(one, levels)
            return levels
        once = through(_ONLY, levels)
        begun = through(_FIRST, levels)
        self._unchanged(begun, through(_INNER, begun), loop.name)
        return self._unchanged(once, through(_LAST, begun), loop.name)

    def _unchanged(self, before: Levels, after: Levels, loop: str) -> Levels:
        """Refuse words that are more, or fewer, after an iteration."""
        for name, words, then in zip(self._queues.names, before, after, strict=True):
            if words != then:
                raise Unbounded(
                    f"{self._program.name} would stop: {name} would have to hold more words the "
                    f"further {loop} goes"
                )
        return after

    def _period(self, kind: Kind, levels: Levels) -> Levels:
        works = tuple(one for one in self._workers.works(kind) if one.segments)
        self.found.setdefault((levels, works))
        after = list(levels)
        for work in works:
            for queue in work.queues:
                after[queue] += work.words(queue)
        return tuple(after)


def _in_order(program: Program, cut: Collection[str]) -> Iterator[Loop]:
    """These loops as all functions go round them, else as elements do. Raises Unaligned if there is
    no such order."""
    left = {one.name: one for one in element_loops(program) if one.name in cut}
    # The place of a loop of a single iteration does not matter.
    many = [name for name, one in left.items() if one.extent != 1]
    walks = [
        [name for loop in walked_loops(one) if (name := plain_name(loop.name, left)) in many]
        for one in program.functions
        if not one.host
    ]
    while left:
        # Outside of a loop stand those that come before it in a walk.
        rests = [[name for name in one if name in left] for one in walks]
        inside = {name for one in rests for name in one[1:]}
        first = next((name for name in left if name not in inside), None)
        if first is None:
            names = ", ".join(left)
            raise Unaligned(f"functions go through {names} in different orders")
        yield left.pop(first)


def _iterations(loop: Loop, *, told_apart: bool) -> Iterator[Iteration]:
    """Yields the iterations of a loop of a constant trip count."""
    extent = loop.extent or 1
    for n in range(extent):
        yield Iteration(n if told_apart else None, n == 0, n == extent - 1)
