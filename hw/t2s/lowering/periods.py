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

from ...spec.t2s.design import Design
from ...spec.t2s.loops import Loop
from ...spec.t2s.periods import element_loops, period_loops, plain_name, walked_loops
from ...spec.t2s.program import Program
from .cuts import Iteration, Kind
from .queues import Queues
from .transfers import Unaligned, Work
from .work import Workers

__all__ = ["Period", "Unbounded", "job", "periods"]

Levels = tuple[int, ...]
"""Words in each queue."""

Period = tuple[Levels, tuple[Work, ...]]
"""Words in queues at its beginning, and what is done in it."""

_ONLY, _FIRST, _INNER, _LAST = (
    Iteration(None, *ends) for ends in ((True, True), (True, False), (False, False), (False, True))
)


class Unbounded(ValueError):
    """No depths are known that are enough for all jobs."""


def job(design: Design, queues: Queues, trips: Mapping[str, int]) -> Period:
    """A whole job, of these trip counts of registers, 1 of those that are not there."""
    works = Workers(design, queues, (), trips).works({})
    return tuple(queues.begins), tuple(one for one in works if one.segments)


def periods(design: Design, queues: Queues) -> list[Period]:
    """All that differ, of jobs of any trip counts. Raises Unbounded."""
    try:
        walk = _Walk(design, queues)
        walk.all()
    except Unaligned as error:
        name = design.program.name
        raise Unbounded(f"no depths of queues are known with which {name} ends: {error}") from error
    return list(walk.found)


class _Walk:
    """Through the loops that cut a run.

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
    # Where one of a single iteration stands does not matter.
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
    """Of a loop of a constant trip count."""
    extent = loop.extent or 1
    for n in range(extent):
        yield Iteration(n if told_apart else None, n == 0, n == extent - 1)
